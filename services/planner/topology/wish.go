package topology

import "github.com/kerf-dev/kerf/services/planner/view"

// softSpread is what soft spread weighs at most, which it comes near to where the skew is far beyond maxSkew.
const softSpread = 100

// PreferencePenalty is the weight of a class's soft rules that a site would not meet, had one more pod gone there; 0 means that all
// are met, or that the policy ignores wishes.
//
// A preferred term weighs what the pod says. Affinity is met as well where the pods that it asks for run nowhere at all:
// then no place is better than another. Soft spread weighs 100 e/(e+maxSkew), where e is how far the skew goes beyond
// maxSkew, and 100 on a node without the label. What is not decided yet is not met.
func (t *Tally) PreferencePenalty(c *view.Class, s *Site) int32 {
	x := &t.nodes.r.classes[c.Index]
	var sum int32
	for i := range x.softSpread {
		sum += t.uneven(&x.softSpread[i], s)
	}
	for _, p := range x.preferred {
		if !t.prefers(p, s) {
			sum += p.weight
		}
	}
	return sum
}

func (t *Tally) uneven(rule *spreadRule, s *Site) int32 {
	d := t.nodes.at(s, t.nodes.r.counters[rule.counter].key)
	switch d {
	case unasked:
		return 0
	case absent, open:
		return softSpread
	}
	excess := t.most(rule.counter, s) + rule.self - t.leastSeen(rule, s, false) - rule.maxSkew
	if excess <= 0 {
		return 0
	}
	return softSpread * excess / (excess + rule.maxSkew)
}

func (t *Tally) prefers(p preference, s *Site) bool {
	ct := &t.counts[p.counter]
	if ct.total == 0 && !p.anti {
		return true
	}
	d := t.nodes.at(s, t.nodes.r.counters[p.counter].key)
	switch {
	case d == unasked:
		return true
	case d == open:
		return false
	case d == absent:
		return p.anti
	case p.anti:
		return t.most(p.counter, s) == 0
	}
	return ct.domains[d].lo > 0
}
