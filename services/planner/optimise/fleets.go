package optimise

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/fleet"
)

const (
	// fleetPods is up to how many pods whole numbers of nodes are looked for first, and what is on them then: with
	// more, parts of nodes mostly cost much the same, and it is done where the plan is far from its bound. Of few pods
	// of up to countRows rows settling by numbers of nodes does that.
	fleetPods = 2048
	// fleetShare is how much work the bound takes, 1 of so many budgets; each fleet takes as much, and as much to fill
	// it, and all fleets about five times that.
	fleetShare = 16
)

// roomier are how much more than all pods ask for fleets have: the more, the sooner the pods are on them.
func roomier() []float64 { return []float64{1.01, 1.007, 1.005, 1.003, 1.002, 1.001, 1} }

// manyPods says that fleets are looked for only where the plan is far from its bound.
func manyPods(s *solver) bool { return max(s.pods, s.c.Pods()) > fleetPods }

// countFirst counts fleets before anything dives: of few pods, and where a bound alone is far from the plan it is for.
func countFirst(s *solver, budget int64) *fleet.Search {
	first := s.c.NumRows > countRows
	if manyPods(s) {
		first = s.c.Source.BoundOnly && s.wide()
	}
	if !first {
		return nil
	}
	return s.countFleets(budget)
}

// countFleets bounds the cost by that of whole nodes which have what all pods ask for in sum; nil where the plan is as
// good as asked for, or that makes no sense.
func (s *solver) countFleets(budget int64) *fleet.Search {
	p := s.c.Source
	asked := !p.Tried && !p.Worth && (p.BoundOnly || !s.simpler)
	if !asked || s.best.Pods > 0 || !fleet.Suits(s.c) || s.enough() {
		return nil
	}
	f := fleet.New(s.c, s.atBest)
	if _, bound := f.Least(1, s.aim(), budget/fleetShare); bound > s.bound {
		s.bound, s.kind = min(bound, s.aim()), KindLP
	}
	if s.bound >= s.best.Cost {
		s.kind = KindExact
	}
	s.work.Fleets = f.Work
	return f
}

// packFleets puts the pods on fleets that cost less than the best plan, the roomiest first. It takes so little work
// that it does not end where the plan is as good as asked for.
func (s *solver) packFleets(f *fleet.Search, y []float64, budget int64) {
	if f == nil {
		return
	}
	var last []int32
	limit := f.Work + 5*budget/fleetShare
	for _, times := range roomier() {
		if s.stopped() || f.Work > limit || s.bound >= s.best.Cost {
			break
		}
		some, _ := f.Least(times, s.best.Cost, budget/fleetShare)
		if some == nil || slices.Equal(some, last) {
			continue
		}
		last = some
		pl := compact.NewPlan(s.c)
		for _, q := range f.Fill(some, s.best, budget/fleetShare) {
			pl.Take(q)
		}
		s.finish(pl, y)
		s.offer(pl)
	}
	if s.bound >= s.best.Cost {
		s.kind = KindExact
	}
	s.work.Fleets = f.Work
}
