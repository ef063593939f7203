package optimise

import (
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// SolveWithoutExact leaves out the exact method, so that the others can be compared with the optimum.
func SolveWithoutExact(p *problem.Problem) Solution {
	c := compact.Compile(p)
	s := &solver{c: c, inexact: true}
	s.run()
	return s.solution()
}
