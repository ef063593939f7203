package lp

import (
	"math"
	"math/rand/v2"
	"testing"
)

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

// TestPivotsThatArePutOffAreThoseThatAreDone compares what a programme knows while pivots are put off with what it
// knows once they are done, and with what follows from its basis alone.
func TestPivotsThatArePutOffAreThoseThatAreDone(t *testing.T) {
	late := 0
	p := Program{WorkLimit: math.MaxInt64, Stop: func() bool { return false }}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := 1 + r.IntN(30)
		p.Reset(m)
		for i := range m {
			p.RHS[i] = 1 + 20*r.Float64()
			p.Entry(int32(i), 1+float64(r.IntN(3)))
			p.Add(50 + 50*r.Float64())
		}
		p.StartDiagonal(m)
		for range 8 {
			for range 1 + r.IntN(m) {
				for i := range m {
					if r.IntN(4) == 0 {
						p.Entry(int32(i), 1+float64(r.IntN(3)))
					}
				}
				p.Add(50 + 100*r.Float64())
			}
			p.Solve(1 + r.IntN(20))
			late += len(p.late)
			x, duals := append([]float64(nil), p.X...), append([]float64(nil), p.Duals...)
			same := func(after string) {
				t.Helper()
				p.refresh()
				for i := range m {
					if math.Abs(p.X[i]-x[i]) > 1e-6 || math.Abs(p.Duals[i]-duals[i]) > 1e-6 {
						t.Fatalf("seed %d, row %d: %g of its column and a dual of %g; %s %g and %g", seed, i, x[i], duals[i], after, p.X[i], p.Duals[i])
					}
				}
			}
			p.settle()
			same("once pivots are done")
			p.refactor()
			same("computed anew")
			p.Solve(r.IntN(5)) // what is put off now is forgotten with the programme
		}
	}
	if late < 1000 {
		t.Errorf("%d pivots were put off", late)
	}
}
