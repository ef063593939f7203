package optimise

import (
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/pricing"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// SolveWithoutExact leaves out the exact method, so that the others can be compared with the optimum.
func SolveWithoutExact(p *problem.Problem) Solution {
	c := compact.Compile(p)
	s := &solver{c: c, inexact: true}
	s.run()
	return s.solution()
}

// Led is what the programme's columns cost together before any is generated, with the fillings of the best plan alone,
// and with those of corrected packings too.
func Led(p *problem.Problem) (alone, led float64) {
	value := func(lead bool) float64 {
		s := &solver{c: compact.Compile(p)}
		s.best, s.base = compact.NewPlan(s.c), compact.NewPlan(s.c)
		s.greedy = newGreedy(s.c, &s.slab)
		s.initial = s.c.InitialWorth()
		s.greedy.run(s.best, s.initial)
		fillings := s.best.Fillings
		if lead {
			fillings = append(s.correct(s.initial, 1<<40), fillings...)
		}
		x := pricing.NewColumns(s.c, &s.slab)
		x.Program.WorkLimit, x.Program.Stop = 1<<40, func() bool { return false }
		x.Begin(s.base, fillings)
		return x.Program.Value()
	}
	return value(false), value(true)
}
