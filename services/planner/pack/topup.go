package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/view"
)

// TopUp seats pods in what claims of this plan have left, at no price: each claim stays what it was packed for. Pods that
// mind others, and what finds no room, are left.
func (d *Scheduler) TopUp(bought []*NewClaim, items []Item) (seats []Assignment, left []Item) {
	s := d.newSeating(items, nil, true)
	for _, it := range items {
		rest := it.Pods
		for i := 0; i < len(bought) && len(rest) > 0 && !s.minds(it.Class); i++ {
			for len(rest) > 0 && s.holdsMore(bought[i], it.Class) {
				s.grow(bought[i], bought[i].base, it.Class, rest[0])
				rest = rest[1:]
			}
		}
		s.keepOpen(it.Class, rest)
	}
	d.rankAll(bought)
	return s.seats, s.left()
}

// holdsMore says whether a claim, as it was packed for, holds one more pod that minds nobody. One of a pool with minValues
// is left as flexible as it is.
func (s *seating) holdsMore(b *NewClaim, c *view.Class) bool {
	items := append(slices.Clone(b.Items), Item{Class: c, Pods: []int{0}})
	return !minValues(b.base.Pool) && b.base.holds(s.m.burdenOf(items)) && s.fitting(b, c)(b.base) &&
		!s.m.portsClash(items) && capsAllow(items, s.v.Policy.MaxPodsOfWorkloadPerNode)
}

// HasPodRules says whether it matters to pods of a class, or to others, which pods they run with.
func (d *Scheduler) HasPodRules(c *view.Class) bool { return d.rules.Constrained(c) }
