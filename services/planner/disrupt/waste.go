package disrupt

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/consolidate"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
)

// mostFreed is of how many nodes that somebody's rule keeps it is tried out what freeing them would save.
const mostFreed = 32

// waste is what is told of each host's waste, by index in View.Hosts: about what freeing it would save. That is what it
// is appraised at, but no more than its price; what is on its way there has its worth as well. The search goes by the
// appraisal.
func waste(dr *draft.Draft, a *consolidate.Appraisal) []int64 {
	out := slices.Clone(a.Waste)
	worth := func(pod int) int64 { return int64(math.Round(a.Worth(dr.View.Pods[pod].Class))) }
	for _, s := range dr.Assignments {
		if dr.View.Pods[s.Pod].ID.Virtual() || s.Claim != nil {
			continue
		}
		if out[s.Host] = max(0, out[s.Host]-worth(s.Pod)); worth(s.Pod) == 0 {
			out[s.Host] = 0 // what it is worth may not be known
		}
	}
	for i, h := range dr.View.Hosts {
		if h.Claim != nil {
			out[i] = min(out[i], dr.View.Price(h.Claim))
		}
	}
	addFreed(dr, out, worth)
	return out
}

// addFreed notes the price as the waste of nodes that somebody's rule keeps and whose pods have room on others, the dearest
// first. Of two that could only take each other's pods it is the first; what takes pods wastes less for it.
func addFreed(dr *draft.Draft, waste []int64, worth func(pod int) int64) {
	v := dr.View
	price := func(h int) int64 { return v.Price(v.Hosts[h].Claim) }
	var kept []int
	for i, h := range v.Hosts {
		if h.Node != nil && h.Claim != nil && !v.Removed(i) && waste[i] < price(i) && ofUsers(dr.Verdicts[i].Code) {
			kept = append(kept, i)
		}
	}
	slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(price(b), price(a)) })
	before := dr.Scheduler.Mark()
	for _, h := range kept[:min(len(kept), mostFreed)] {
		bare := func(p int) bool { return v.Pods[p].Class.OwnerKind == "" }
		if v.Nominated(h) > 0 || slices.ContainsFunc(dr.Movable(h), bare) { // pods of others go there, or some go nowhere
			continue
		}
		mark := dr.Scheduler.Mark()
		d, left, waits := dr.Move([]int{h}, func(other int) bool { return v.Open(other) && dr.Reliable(other) })
		if len(left) > 0 || !waits.OK() {
			dr.Scheduler.Revert(mark)
			continue
		}
		v.Remove(h)
		waste[h] = price(h)
		for _, s := range d.Destinations {
			waste[s.Host] = max(0, waste[s.Host]-worth(s.Pod))
		}
	}
	dr.Scheduler.Revert(before)
}

// ofUsers says that what keeps a node is a rule that somebody has made and can change.
func ofUsers(c model.Code) bool {
	switch c {
	case model.CodeBudget, model.CodePDB, model.CodePodDoNotDisrupt, model.CodeNodeDoNotDisrupt,
		model.CodeConsolidationPolicy, model.CodeConsolidateAfter:
		return true
	default:
		return false
	}
}
