package lp

import "testing"

// TestAProgramGrowsAgainAfterItsInverseWasComputedAnew for fewer rows: the inverse has room for no more of them then.
func TestAProgramGrowsAgainAfterItsInverseWasComputedAnew(t *testing.T) {
	var p Program
	for _, m := range []int{5, 3, 5} {
		p.Reset(m)
		for i := range m {
			p.RHS[i] = 1
			p.Entry(int32(i), 1)
			p.Add(float64(1 + i))
		}
		p.StartDiagonal(m)
		p.refactor()
		if got := len(p.binv); got != m*m {
			t.Errorf("the inverse of %d rows has %d entries", m, got)
		}
		for i, x := range p.X {
			if x != 1 {
				t.Errorf("of %d rows, column %d is used %v times, not once", m, i, x)
			}
		}
	}
}
