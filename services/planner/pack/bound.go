package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Proof is what the new nodes for some pods must cost at least, whatever plan is made for them: prices as they are weighed,
// the policy's overhead for each node included. The zero Proof proves nothing.
type Proof struct {
	Price int64
	Kind  model.BoundKind
	// pods is how many it speaks of.
	pods int
}

// Bound proves what claims for some pods must cost at least. Where the search that bought them has proven it on the way,
// that is the answer. Else it is proven for a problem with fewer rules, which costs no more: any cell, any pool weight, no
// limits, no minValues, no spread, and wishes for nothing.
func (d *Desk) Bound(pods []int) Proof {
	if d.proof.pods == len(pods) && d.proof.Price > 0 {
		return d.proof
	}
	items := Items(d.v.World, pods)
	classes := make([]*view.Class, len(items))
	for i, it := range items {
		classes[i] = it.Class
	}
	var rules []NodeRule
	for _, r := range d.rules.NodeRules(classes) {
		if !r.Skew {
			rules = append(rules, NodeRule{Trigger: r.Trigger, Counted: r.Counted, Most: r.Most})
		}
	}
	rules = append(rules, workloadCaps(items, d.v.Policy.MaxPodsOfWorkloadPerNode)...)
	p := newProblem(d.m, newLoad(items, rules), nil)
	all := slices.Concat(d.m.tiers...)
	slices.SortStableFunc(all, compareOptions)
	p.options = undominated(all, nil)
	for i, o := range p.options {
		p.add(i, holding{o.Free, p.takenBy(o, false)}, 0)
	}
	p.addRules()
	p.addPorts()
	p.BoundOnly = true
	return proofOf(optimise.Solve(&p.Problem), len(pods))
}

func proofOf(s optimise.Solution, pods int) Proof {
	kinds := map[optimise.Kind]model.BoundKind{
		optimise.KindResource: model.BoundResource, optimise.KindLP: model.BoundLP,
		optimise.KindFarley: model.BoundFarley, optimise.KindExact: model.BoundExact,
	}
	return Proof{Price: s.Bound, Kind: kinds[s.BoundKind], pods: pods}
}
