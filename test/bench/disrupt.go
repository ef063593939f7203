package bench

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

// Given is what disruption came to, plan by plan. It is part of a Result of mode disrupt only.
type Given struct {
	CostBefore  float64 `json:"costBefore"`
	CostAfter   float64 `json:"costAfter"`
	NodesBefore int     `json:"nodesBefore"`
	NodesAfter  int     `json:"nodesAfter"`
	// Pods are those that run on the nodes.
	Pods int `json:"pods"`
	// Passes are plans; Actions are the disruptions in them.
	Passes   int `json:"passes"`
	Actions  int `json:"actions"`
	PodMoves int `json:"podMoves"`
	// MostMoves is how often the pod was moved that was moved most often.
	MostMoves int `json:"mostMoves"`
	// Finished says that the last plan removed nothing any more, and left nothing out.
	Finished bool `json:"finished"`
	// A pass counts for the methods of its disruptions, its CPU time for the first of them; "none" is a pass without any.
	MethodCPUMs   map[string]float64 `json:"methodCpuMs"`
	MethodPasses  map[string]int     `json:"methodPasses"`
	MethodActions map[string]int     `json:"methodActions"`
	Steps         []Step             `json:"steps"`
	// Rounds are the plans.
	Rounds []Round `json:"rounds"`
}

// Step is one disruption. The CPU and wall time of a plan are those of its first step.
type Step struct {
	Method string `json:"method"`
	// Decision is delete, or replace where new nodes come first.
	Decision   string  `json:"decision"`
	Removed    int     `json:"removed"`
	Added      int     `json:"added"`
	CPUMs      float64 `json:"cpuMs"`
	WallMs     float64 `json:"wallMs"`
	NodesAfter int     `json:"nodesAfter"`
	CostAfter  float64 `json:"costAfter"`
	// AtCPUMs is the CPU time of all plans so far.
	AtCPUMs float64 `json:"atCpuMs"`
}

// Round is one plan and what was done of it: all.
type Round struct {
	// Summed says that the plan has a summary, whose Candidates, Judged and Tried these are.
	Summed     bool `json:"summed"`
	Candidates int  `json:"candidates"`
	Judged     int  `json:"judged"`
	Tried      int  `json:"tried"`
	// Floor is what the plan says that all pods must cost at least; 0 where it says nothing.
	Floor   float64 `json:"floor,omitempty"`
	Actions int     `json:"actions"`
	Removed int     `json:"removed"`
	Added   int     `json:"added"`
	Moves   int     `json:"moves"`
	// Due are the nodes that are empty or drifted and stay.
	Due        int     `json:"due"`
	NodesAfter int     `json:"nodesAfter"`
	CostAfter  float64 `json:"costAfter"`
	CPUMs      float64 `json:"cpuMs"`
	// AtCPUMs and AtMoves are of this round and all before it.
	AtCPUMs float64 `json:"atCpuMs"`
	AtMoves int     `json:"atMoves"`
	// ResumeAfter is where the search goes on in the next round; "" where it was complete.
	ResumeAfter string `json:"resumeAfter,omitempty"`
}

// mostPasses ends a run that does not end by itself.
const mostPasses = 2000

// RunDisrupt plans for what may be removed and does at once what each plan says, until nothing more comes: nodes go,
// their replacements come up as their first offering, pods land where the plan sends them, and the next plan knows what
// was moved when. Each plan is checked. Where nodes have drifted only those and empty ones go, as in the published run.
func RunDisrupt(c *workload.Catalog, w *workload.Workload) (Result, error) {
	return runDisrupt(c, w, Job{})
}

// runDisrupt takes from a job when to stop and what an eviction weighs.
func runDisrupt(c *workload.Catalog, w *workload.Workload, j Job) (Result, error) {
	x, err := workload.New(c, w)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Workload: w.Name, Mode: Disrupt, Threads: runtime.GOMAXPROCS(0), PendingPods: count(w.Pending), ExistingNodes: len(w.Nodes),
		InstanceTypes: len(c.Types), Types: map[string]int{}, Claims: []Claim{},
	}
	g := &Given{MethodCPUMs: map[string]float64{}, MethodPasses: map[string]int{}, MethodActions: map[string]int{}, Steps: []Step{}}
	r.Given = g
	s := newStage(x)
	if w.Kept > 0 {
		if s, err = scaledDown(x); err != nil {
			return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		r.ExistingNodes = len(s.nodes)
	}
	x.Input.Policy.EvictionPrice = j.EvictionPrice
	g.NodesBefore, g.CostBefore = s.bill()
	for _, pods := range s.pods {
		g.Pods += len(pods)
	}
	if r.Setup, err = measure(s.begin); err != nil {
		return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	rounds := cmp.Or(j.Rounds, mostPasses)
	for !g.Finished && g.Passes < rounds {
		if err := s.round(&r); err != nil {
			return Result{}, fmt.Errorf("workload %s: round %d: %w", w.Name, g.Passes, err)
		}
	}
	g.NodesAfter, g.CostAfter = s.bill()
	g.MostMoves = s.mostMoves()
	r.HourlyCost = g.CostAfter
	for _, cl := range s.claims {
		r.Types[string(cl.InstanceType)+"/"+cl.CapacityType.String()]++
	}
	return r, boundOfFresh(x, &r)
}

// round makes one plan and does what it says.
func (s *stage) round(r *Result) error {
	g := r.Given
	g.Passes++
	var p model.Plan
	phase, err := measure(func() error {
		var err error
		p, err = s.decide()
		return err
	})
	if err != nil {
		return err
	}
	if err := s.check(p); err != nil {
		return err
	}
	s.heard()
	r.Solve.add(phase)
	g.count(&p, phase)
	round := Round{Actions: len(p.Disruptions), CPUMs: phase.CPUMs, AtCPUMs: r.Solve.CPUMs}
	if sum := p.Summary; sum != nil {
		round.Summed, round.Candidates, round.Judged, round.Tried = true, sum.Candidates, sum.Judged, sum.Tried
		round.Floor, round.ResumeAfter = dollars(sum.Floor), string(sum.ResumeAfter)
	}
	for i := range p.Disruptions {
		d := &p.Disruptions[i]
		if err := s.apply(&p, d); err != nil {
			return err
		}
		round.Removed, round.Added = round.Removed+len(d.Candidates), round.Added+len(d.Replacements)
		round.Moves += len(d.Destinations)
		step := Step{Method: d.Reason.String(), Decision: "delete", Removed: len(d.Candidates), Added: len(d.Replacements), AtCPUMs: r.Solve.CPUMs}
		if step.Added > 0 {
			step.Decision = "replace"
		}
		if i == 0 {
			step.CPUMs, step.WallMs = phase.CPUMs, phase.WallMs
		}
		step.NodesAfter, step.CostAfter = s.bill()
		g.Steps = append(g.Steps, step)
	}
	s.mark(&p)
	g.Actions, g.PodMoves = g.Actions+round.Actions, g.PodMoves+round.Moves
	g.Finished = round.Actions == 0 && round.ResumeAfter == "" && !s.now.Before(s.settled)
	round.AtMoves, round.Due = g.PodMoves, s.due()
	round.NodesAfter, round.CostAfter = s.bill()
	g.Rounds = append(g.Rounds, round)
	s.advance(model.ClaimID(round.ResumeAfter))
	return nil
}

// count counts a pass for its methods.
func (g *Given) count(p *model.Plan, phase Phase) {
	first := "none"
	var methods []string
	for i := range p.Disruptions {
		methods = append(methods, p.Disruptions[i].Reason.String())
		g.MethodActions[p.Disruptions[i].Reason.String()]++
	}
	if len(methods) > 0 {
		first = methods[0]
	}
	g.MethodCPUMs[first] += phase.CPUMs
	slices.Sort(methods)
	for _, m := range slices.Compact(methods) {
		g.MethodPasses[m]++
	}
}

// add sums up phases one after the other.
func (p *Phase) add(q Phase) {
	if p.Mallocs == 0 {
		p.BaseHeapMiB = q.BaseHeapMiB
	}
	p.WallMs, p.CPUMs, p.AllocMiB, p.Mallocs = p.WallMs+q.WallMs, p.CPUMs+q.CPUMs, p.AllocMiB+q.AllocMiB, p.Mallocs+q.Mallocs
	p.PeakHeapMiB = max(p.PeakHeapMiB, q.PeakHeapMiB)
}

// boundOfFresh is what all the pods would cost at least, if none of them ran anywhere yet. It is no part of the figures.
func boundOfFresh(x *workload.World, r *Result) error {
	in := x.Input
	in.Policy, in.Kinds = bare(), []model.DecisionKind{model.KindProvision}
	in.Snapshot.Nodes, in.Snapshot.Claims = nil, nil
	in.Snapshot.Pods = slices.Clone(in.Snapshot.Pods)
	for i := range in.Snapshot.Pods {
		in.Snapshot.Pods[i].Node, in.Snapshot.Pods[i].Phase = "", model.PodUnschedulable
	}
	p, err := plan.Decide(in)
	if err != nil {
		return fmt.Errorf("the bound of the same pods packed anew: %w", err)
	}
	if p.LowerBound != nil && p.LowerBound.Price > 0 && len(p.Pending) == 0 {
		r.LowerBound = dollars(p.LowerBound.Price)
		r.Gap = r.HourlyCost/r.LowerBound - 1
	}
	return nil
}

func count(counts []workload.Count) int {
	n := 0
	for _, c := range counts {
		n += c.Pods
	}
	return n
}

// timeless is the same without what it took.
func (g *Given) timeless() *Given {
	if g == nil {
		return nil
	}
	out := *g
	out.MethodCPUMs = nil
	out.Steps, out.Rounds = slices.Clone(g.Steps), slices.Clone(g.Rounds)
	for i := range out.Steps {
		out.Steps[i].CPUMs, out.Steps[i].WallMs, out.Steps[i].AtCPUMs = 0, 0, 0
	}
	for i := range out.Rounds {
		out.Rounds[i].CPUMs, out.Rounds[i].AtCPUMs = 0, 0
	}
	return &out
}

// reaches is the first round after which the nodes cost no more than that; nil where none is.
func (g *Given) reaches(cost float64) *Round {
	at := slices.IndexFunc(g.Rounds, func(r Round) bool { return r.CostAfter <= cost })
	if at < 0 {
		return nil
	}
	return &g.Rounds[at]
}

// cleared is the first round after which no node that is empty or drifted is left; nil where some always are.
func (g *Given) cleared() *Round {
	at := slices.IndexFunc(g.Rounds, func(r Round) bool { return r.Due == 0 })
	if at < 0 {
		return nil
	}
	return &g.Rounds[at]
}

// costliest is the round that took the most CPU time; nil where there is none.
func (g *Given) costliest() *Round {
	var out *Round
	for i := range g.Rounds {
		if out == nil || g.Rounds[i].CPUMs > out.CPUMs {
			out = &g.Rounds[i]
		}
	}
	return out
}

// errNoDestination is a plan that forgets pods.
var errNoDestination = errors.New("has no destination")
