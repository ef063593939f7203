package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/bench/workload"
)

// Result is what one workload gave. Its fields in JSON are those that every planner under test prints, and after them
// what only Kerf has to say. Money is dollars an hour.
type Result struct {
	Workload string `json:"workload"`
	// Mode is schedule or disrupt.
	Mode          string `json:"mode"`
	Threads       int    `json:"threads"`
	PendingPods   int    `json:"pendingPods"`
	ExistingNodes int    `json:"existingNodes"`
	// Setup is a session that reads the snapshot and indexes it and the market; Solve is its decision. With nodes,
	// Setup is such a session without the pending pods, and a first decision of it; Solve is a delta that brings them,
	// and a decision.
	Setup Phase `json:"setup"`
	Solve Phase `json:"solve"`
	// Cold is one decision from nothing, after the other two in the same process; nil in mode disrupt.
	Cold *Phase `json:"cold,omitempty"`

	NewNodes        int     `json:"newNodes"`
	PodsOnExisting  int     `json:"podsOnExisting"`
	UnscheduledPods int     `json:"unscheduledPods"`
	HourlyCost      float64 `json:"hourlyCost"`
	// CPUUtil and MemUtil are what the pods of the new nodes ask for, of what pods can use there.
	CPUUtil float64        `json:"cpuUtil"`
	MemUtil float64        `json:"memUtil"`
	Types   map[string]int `json:"types"`
	Claims  []Claim        `json:"claims"`

	// Given is nil unless the mode is disrupt. Its fields are part of the object.
	*Given

	// Work is how far the plan was to go, as Job.Work says.
	Work int64 `json:"work,omitempty"`
	// LowerBound is what no plan for the pods can undercut; 0 when none is known. Gap is the cost over it, less one.
	LowerBound float64 `json:"lowerBound"`
	Gap        float64 `json:"gap"`
	// Proof is what a longer search proved; nil where none was needed.
	Proof *Proof `json:"proof,omitempty"`
	// Unscheduled are the reasons for UnscheduledPods, with how many pods have them.
	Unscheduled map[string]int `json:"unscheduled,omitempty"`
	// Default is what the plan is under the default policy, which also weighs the number of nodes.
	Default *Brief `json:"default,omitempty"`
	// DefaultSolve is what that plan's decision takes, as Solve; nil in mode disrupt.
	DefaultSolve *Phase `json:"defaultSolve,omitempty"`
	// InstanceTypes is how many types the catalogue has.
	InstanceTypes int `json:"instanceTypes"`
	// CatalogSHA256 and WorkloadSHA256 are of the files that were read; "" for built-in ones.
	CatalogSHA256  string `json:"catalogSHA256,omitempty"`
	WorkloadSHA256 string `json:"workloadSHA256,omitempty"`
}

// Claim is one new node.
type Claim struct {
	Pool string `json:"pool"`
	Pods int    `json:"pods"`
	// Shapes are its pods, as [shape,count].
	Shapes []workload.Count `json:"shapes"`
	// Options is how many offerings the claim lists; CheapestOptions are the first few, as type/zone/capacity type.
	Options         int      `json:"options"`
	CheapestOptions []string `json:"cheapestOptions"`
	Type            string   `json:"type"`
	Zone            string   `json:"zone"`
	CapacityType    string   `json:"ct"`
	Price           float64  `json:"price"`
}

// Brief is a plan in three figures.
type Brief struct {
	NewNodes        int     `json:"newNodes"`
	HourlyCost      float64 `json:"hourlyCost"`
	UnscheduledPods int     `json:"unscheduledPods"`
}

// mostCheapest is how many offerings of a claim are written out.
const mostCheapest = 5

// TotalCPUMs is what one decision from nothing takes: set-up and decision or, with nodes, where the set-up has a decision
// in it, the one that was made from nothing.
func (r *Result) TotalCPUMs() float64 {
	if r.ExistingNodes > 0 && r.Cold != nil {
		return r.Cold.CPUMs
	}
	return r.Setup.CPUMs + r.Solve.CPUMs
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

func brief(p *model.Plan) *Brief {
	b := &Brief{NewNodes: len(p.NodeClaims), UnscheduledPods: len(p.Pending)}
	var cost int64
	for _, c := range p.NodeClaims {
		cost += c.Price
	}
	b.HourlyCost = dollars(cost)
	return b
}

// describe fills in what the plan says.
func (r *Result) describe(x *workload.World, p *model.Plan) {
	b := brief(p)
	r.NewNodes, r.HourlyCost, r.UnscheduledPods = b.NewNodes, b.HourlyCost, b.UnscheduledPods
	r.Types, r.Claims = map[string]int{}, []Claim{}
	for _, pl := range p.Placements {
		if pl.Node != "" {
			r.PodsOnExisting++
		}
	}
	var used, free [2]int64
	for i := range p.NodeClaims {
		c := &p.NodeClaims[i]
		out := newClaim(x, c)
		r.Claims = append(r.Claims, out)
		r.Types[out.Type+"/"+out.CapacityType]++
		t := x.Types[out.Type]
		used[0], used[1] = used[0]+c.Requests.Value(model.CPU), used[1]+c.Requests.Value(model.Memory)
		free[0], free[1] = free[0]+t.FreeCPU, free[1]+t.FreeMemory*workload.MiB
	}
	r.CPUUtil, r.MemUtil = share(used[0], free[0]), share(used[1], free[1])
	if l := p.LowerBound; l != nil {
		r.LowerBound, r.Gap = dollars(l.Price), l.Gap
	}
	for _, pending := range p.Pending {
		if r.Unscheduled == nil {
			r.Unscheduled = map[string]int{}
		}
		r.Unscheduled[pending.Reason.Message]++
	}
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func newClaim(x *workload.World, c *model.NodeClaim) Claim {
	best := c.Offerings[0]
	out := Claim{
		Pool: string(c.NodePool), Pods: len(c.Pods), Options: len(c.Offerings), Shapes: shapesOf(x, c.Pods),
		Type: string(best.InstanceType), Zone: best.Zone, CapacityType: best.CapacityType.String(), Price: dollars(c.Price),
	}
	for _, o := range c.Offerings[:min(len(c.Offerings), mostCheapest)] {
		out.CheapestOptions = append(out.CheapestOptions, fmt.Sprintf("%s/%s/%s", o.InstanceType, o.Zone, o.CapacityType))
	}
	return out
}

// shapesOf sums up pods by shape, in the order of the shapes.
func shapesOf(x *workload.World, pods []model.PodID) []workload.Count {
	n := make(map[int]int)
	for _, p := range pods {
		n[x.Shapes[p]]++
	}
	out := make([]workload.Count, 0, len(n))
	for shape, k := range n {
		out = append(out, workload.Count{Shape: shape, Pods: k})
	}
	slices.SortFunc(out, func(a, b workload.Count) int { return a.Shape - b.Shape })
	return out
}

// Commonest is the reasons for pods that stay pending, the most frequent first.
func (r *Result) Commonest() string {
	reasons := make([]string, 0, len(r.Unscheduled))
	for text := range r.Unscheduled {
		reasons = append(reasons, text)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if d := r.Unscheduled[b] - r.Unscheduled[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(reasons) == 0 {
		return ""
	}
	return reasons[0]
}
