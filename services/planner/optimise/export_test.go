package optimise

// SolveWithoutExact leaves out the exact method, so that the others can be compared with the optimum.
func SolveWithoutExact(p *Problem) Solution {
	c := compile(p)
	s := &solver{c: c, inexact: true}
	s.run()
	return s.solution()
}
