package bench

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// Given is what giving nodes back came to, plan by plan. It is part of a Result of mode disrupt only.
type Given struct {
	CostBefore  float64 `json:"costBefore"`
	CostAfter   float64 `json:"costAfter"`
	NodesBefore int     `json:"nodesBefore"`
	NodesAfter  int     `json:"nodesAfter"`
	// Passes are plans; Actions are the disruptions in them.
	Passes   int `json:"passes"`
	Actions  int `json:"actions"`
	PodMoves int `json:"podMoves"`
	// Finished says that the last plan gave nothing back any more.
	Finished bool `json:"finished"`
	// A pass counts for the methods of its disruptions, its CPU time for the first of them; "none" is a pass without any.
	MethodCPUMs   map[string]float64 `json:"methodCpuMs"`
	MethodPasses  map[string]int     `json:"methodPasses"`
	MethodActions map[string]int     `json:"methodActions"`
	Steps         []Step             `json:"steps"`
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

// mostPasses ends a run that does not end by itself.
const mostPasses = 2000

// RunDisrupt plans for what may be given back and does at once what each plan says, until nothing more comes: nodes go,
// their replacements come up as their first offering, pods land where the plan sends them. Each plan is checked.
func RunDisrupt(c *Catalog, w *Workload) (Result, error) {
	x, err := newWorld(c, w)
	if err != nil {
		return Result{}, err
	}
	x.input.Policy, x.input.Kinds = bare(), []model.DecisionKind{model.KindDisrupt}
	r := Result{
		Workload: w.Name, Mode: Disrupt, Threads: runtime.GOMAXPROCS(0), PendingPods: count(w.Pending), ExistingNodes: len(w.Nodes),
		InstanceTypes: len(c.Types), Types: map[string]int{}, Claims: []Claim{},
	}
	if r.Setup, err = measure(func() error { return index(x.input) }); err != nil {
		return Result{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	g := &Given{MethodCPUMs: map[string]float64{}, MethodPasses: map[string]int{}, MethodActions: map[string]int{}, Steps: []Step{}}
	r.Given = g
	g.NodesBefore, g.CostBefore = x.bill()
	for !g.Finished && g.Passes < mostPasses {
		if err := x.pass(&r); err != nil {
			return Result{}, fmt.Errorf("workload %s: pass %d: %w", w.Name, g.Passes+1, err)
		}
	}
	g.NodesAfter, g.CostAfter = x.bill()
	r.HourlyCost = g.CostAfter
	for i := range x.input.Snapshot.Claims {
		cl := &x.input.Snapshot.Claims[i]
		r.Types[string(cl.InstanceType)+"/"+cl.CapacityType.String()]++
	}
	return r, x.boundOfFresh(&r)
}

// bill is how many nodes there are, and what they cost.
func (x *world) bill() (nodes int, cost float64) {
	var sum int64
	for i := range x.input.Snapshot.Claims {
		sum += x.input.Snapshot.Claims[i].Price
	}
	return len(x.input.Snapshot.Nodes), dollars(sum)
}

// pass makes one plan and does what it says.
func (x *world) pass(r *Result) error {
	g := r.Given
	var p model.Plan
	phase, err := measure(func() error {
		var err error
		p, err = plan.Decide(x.input)
		return err
	})
	if err != nil {
		return err
	}
	if err := check(x.input, p); err != nil {
		return err
	}
	r.Solve.add(phase)
	g.Passes++
	g.Finished = len(p.Disruptions) == 0
	method := "none"
	var methods []string
	for i := range p.Disruptions {
		methods = append(methods, p.Disruptions[i].Reason.String())
	}
	if len(methods) > 0 {
		method = methods[0]
	}
	g.MethodCPUMs[method] += phase.CPUMs
	slices.Sort(methods)
	for _, m := range slices.Compact(methods) {
		g.MethodPasses[m]++
	}
	for i := range p.Disruptions {
		d := &p.Disruptions[i]
		if err := x.apply(&p, d); err != nil {
			return err
		}
		g.Actions++
		g.PodMoves += len(d.Destinations)
		g.MethodActions[d.Reason.String()]++
		s := Step{Method: d.Reason.String(), Decision: "delete", Removed: len(d.Candidates), Added: len(d.Replacements), AtCPUMs: r.Solve.CPUMs}
		if s.Added > 0 {
			s.Decision = "replace"
		}
		if i == 0 {
			s.CPUMs, s.WallMs = phase.CPUMs, phase.WallMs
		}
		s.NodesAfter, s.CostAfter = x.bill()
		g.Steps = append(g.Steps, s)
	}
	return nil
}

// add sums up phases one after the other.
func (p *Phase) add(q Phase) {
	if p.Mallocs == 0 {
		p.BaseHeapMiB = q.BaseHeapMiB
	}
	p.WallMs, p.CPUMs, p.AllocMiB, p.Mallocs = p.WallMs+q.WallMs, p.CPUMs+q.CPUMs, p.AllocMiB+q.AllocMiB, p.Mallocs+q.Mallocs
	p.PeakHeapMiB = max(p.PeakHeapMiB, q.PeakHeapMiB)
}

// apply does what a disruption says.
func (x *world) apply(p *model.Plan, d *model.Disruption) error {
	s := &x.input.Snapshot
	for _, id := range d.Replacements {
		i := slices.IndexFunc(p.NodeClaims, func(c model.NodeClaim) bool { return c.ID == id })
		if i < 0 {
			return fmt.Errorf("disruption %s: its replacement %s is no claim of the plan", d.ID, id)
		}
		o := p.NodeClaims[i].Offerings[0]
		node, claim := joined(string(id), p.NodeClaims[i].NodePool, x.types[string(o.InstanceType)], o)
		s.Nodes, s.Claims = append(s.Nodes, node), append(s.Claims, claim)
	}
	to := make(map[model.PodID]model.NodeName, len(d.Destinations))
	for _, pl := range d.Destinations {
		to[pl.Pod] = pl.Node
		if pl.Node == "" {
			to[pl.Pod] = model.NodeName(pl.Claim) // a claim of ours and its node have one name
		}
	}
	for i := range s.Pods {
		if node, moves := to[s.Pods[i].ID]; moves {
			s.Pods[i].Node = node
		}
	}
	gone := make(map[model.ClaimID]bool, len(d.Candidates))
	for _, id := range d.Candidates {
		gone[id] = true
	}
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n model.Node) bool { return gone[n.Claim] })
	s.Claims = slices.DeleteFunc(s.Claims, func(c model.Claim) bool { return gone[c.ID] })
	sortBy(s.Nodes, func(n model.Node) string { return string(n.Name) })
	sortBy(s.Claims, func(c model.Claim) string { return string(c.ID) })
	for i := range s.Pods {
		if gone[model.ClaimID(s.Pods[i].Node)] {
			return fmt.Errorf("disruption %s: pod %s has no destination", d.ID, s.Pods[i].ID)
		}
	}
	return nil
}

// boundOfFresh is what all the pods would cost at least, if none of them ran anywhere yet. It is no part of the figures.
func (x *world) boundOfFresh(r *Result) error {
	in := x.input
	in.Kinds = []model.DecisionKind{model.KindProvision}
	in.Snapshot.Nodes, in.Snapshot.Claims = nil, nil
	in.Snapshot.Pods = slices.Clone(in.Snapshot.Pods)
	for i := range in.Snapshot.Pods {
		in.Snapshot.Pods[i].Node, in.Snapshot.Pods[i].Phase = "", model.PodUnschedulable
	}
	p, err := plan.Decide(in)
	if err != nil {
		return err
	}
	if p.LowerBound != nil && p.LowerBound.Price > 0 && len(p.Pending) == 0 {
		r.LowerBound = dollars(p.LowerBound.Price)
		r.Gap = r.HourlyCost/r.LowerBound - 1
	}
	return nil
}

func count(counts []Count) int {
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
	out.Steps = slices.Clone(g.Steps)
	for i := range out.Steps {
		out.Steps[i].CPUMs, out.Steps[i].WallMs, out.Steps[i].AtCPUMs = 0, 0, 0
	}
	return &out
}
