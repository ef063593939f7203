package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// TopUp puts pods into what claims of this plan have free, at no price: each claim stays what it was packed for. What does
// not fit is left, and what pod rules forbid on any of what a claim may become.
func (s *Scheduler) TopUp(claims []*purchase.NewClaim, items []market.Item) (assignments []Assignment, left []market.Item) {
	a := s.newAttempt(items, nil, true)
	for _, it := range items {
		rest := it.Pods
		for i := 0; i < len(claims) && len(rest) > 0; i++ {
			for len(rest) > 0 && a.hasSpare(claims[i], it.Class) {
				g := &grower{a, &round{}, it.Class, rest[0]}
				g.add(&growth{claim: claims[i], into: claims[i].Base})
				rest = rest[1:]
			}
		}
		a.leaveUnplaced(it.Class, rest)
	}
	s.rankAll(claims)
	return a.assignments, a.left()
}

// hasSpare says whether a claim, as it was packed for, holds one more pod.
func (a *attempt) hasSpare(b *purchase.NewClaim, c *view.Class) bool {
	return a.s.buyer.HasRoom(b, c, []int{0}) && a.s.devicesFit(b, c)(b.Base) && (!a.hasPodRules(c) || a.s.tally.Allows(c, a.site(b)))
}

// FirstRefused is the first of the pods that were placed, one after the other, that could not be placed there any more
// after what changed since; -1 where all could. The pods of DaemonSets on new nodes are there before the first of them.
// Counted says that the pods count where they are.
func (s *Scheduler) FirstRefused(placed []Assignment, counted bool) int {
	defer s.tally.Revert(s.tally.Mark())
	for _, a := range placed {
		if counted {
			s.Count(a, -1)
		}
	}
	return slices.IndexFunc(placed, func(a Assignment) bool {
		site := s.siteOf(a)
		refused := site != nil && !s.tally.AllowsEither(s.v.Pods[a.Pod].Class, site, podrules.AnyKey)
		if !refused {
			s.Count(a, 1)
		}
		return refused
	})
}
