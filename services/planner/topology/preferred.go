package topology

import "github.com/kerf-dev/kerf/services/planner/view"

// softSpread is what soft spread weighs at most, which it comes near to where the skew is far beyond maxSkew.
const softSpread = 100

// PreferencePenalty is the weight of a class's soft rules that a site would not meet, had one more pod gone there; 0
// means that all are met, or that the policy ignores preferences.
//
// A preferred term weighs what the pod says. Affinity is met as well where the pods that it asks for run nowhere at all:
// then no place is better than another. Soft spread weighs 100 e/(e+maxSkew), where e is how far the skew goes beyond
// maxSkew, and 100 on a node without the label. What is not decided yet is not met.
func (t *Tally) PreferencePenalty(c *view.Class, s *Site) int32 {
	x := &t.nodes.r.Classes[c.Index]
	var sum int32
	for i := range x.SoftSpread {
		sum += t.domains.skewPenalty(&x.SoftSpread[i], s)
	}
	for _, p := range x.Preferred {
		if !t.domains.preferenceHolds(p, s) {
			sum += p.Weight
		}
	}
	return sum
}
