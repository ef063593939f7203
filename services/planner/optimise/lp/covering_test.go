package lp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/lp"
)

// drawn is a covering programme with its columns dense, by column.
type drawn struct {
	rhs, cost []float64
	columns   [][]float64
}

func draw(r *rand.Rand) drawn {
	d := drawn{rhs: make([]float64, 1+r.IntN(5))}
	for i := range d.rhs {
		d.rhs[i] = float64(1 + r.IntN(20))
	}
	for j := range len(d.rhs) + r.IntN(12) {
		column := make([]float64, len(d.rhs))
		column[j%len(column)] = 1 // so that there is a solution
		for i := range column {
			if r.IntN(2) == 0 {
				column[i] = float64(r.IntN(6))
			}
		}
		column[j%len(column)] = max(1, column[j%len(column)])
		d.cost, d.columns = append(d.cost, float64(1+r.IntN(30))), append(d.columns, column)
	}
	return d
}

func (d *drawn) covering() *lp.Covering {
	s := lp.NewCovering(d.rhs)
	for j, column := range d.columns {
		var rows, counts []int32
		for i, q := range column {
			if q > 0 {
				rows, counts = append(rows, int32(i)), append(counts, int32(q))
			}
		}
		s.Add(d.cost[j], rows, counts)
	}
	return s
}

// solution is what a basis has of each column, and what that costs.
func (d *drawn) solution(s *lp.Covering) (x []float64, cost float64) {
	x = make([]float64, len(d.cost))
	for k, j := range s.Basis {
		if j >= 0 {
			x[j] = s.X[k]
			cost += s.X[k] * d.cost[j]
		}
	}
	return x, cost
}

// TestSolutionsCostWhatTheirBoundsSay solves programmes, adds rows and takes them away again: a solution keeps all rows
// and costs no more than its bound, so that it is the cheapest.
func TestSolutionsCostWhatTheirBoundsSay(t *testing.T) {
	never := func() bool { return false }
	none := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := draw(r)
		s := d.covering()
		var saved lp.CoveringState
		for step := range 4 {
			bound, solved := s.Solve(math.MaxInt32, never)
			if !solved {
				if step == 0 || bound < math.MaxInt32 {
					t.Fatalf("seed %d, step %d: no solution, and the bound is %g", seed, step, bound)
				}
				none++
				s.Return(&saved)
				continue
			}
			x, cost := d.solution(s)
			if math.Abs(cost-bound) > 1e-6*(1+cost) {
				t.Fatalf("seed %d, step %d: a solution costs %g, and its bound is %g", seed, step, cost, bound)
			}
			for i, q := range d.rhs {
				for j, column := range d.columns {
					q -= column[i] * x[j]
				}
				if q > 1e-6 {
					t.Fatalf("seed %d, step %d: row %d lacks %g", seed, step, i, q)
				}
			}
			s.Save(&saved)
			entries, sum, sign := make([]float64, len(x)), 0.0, float64(1-2*r.IntN(2))
			for j := range x {
				if r.IntN(2) == 0 {
					entries[j] = sign
					sum += x[j]
				}
			}
			s.AddRow(entries, math.Floor(sign*sum)+1)
		}
	}
	if none < 10 || none > 900 {
		t.Errorf("%d programmes have no solution: too few or too many to tell", none)
	}
}
