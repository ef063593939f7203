package optimise_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

func TestWorthAddsUpToTheBoundAndNoBinHoldsMoreThanItCosts(t *testing.T) {
	takes := bits.New(2)
	takes.Add(0)
	takes.Add(1)
	p := &problem.Problem{
		Items: []problem.Item{{Count: 400, Request: []int64{2, 1}}, {Count: 300, Request: []int64{1, 3}}},
		Bins: []problem.Bin{
			{Price: 100, Free: []int64{8, 8}, Takes: takes, Most: -1},
			{Price: 70, Free: []int64{8, 4}, Takes: takes, Most: -1},
		},
		Worth: true,
	}
	s := optimise.Solve(p)
	sum := 0.0
	for i, it := range p.Items {
		sum += s.Worth[i] * float64(it.Count)
	}
	if bound := float64(s.Bound); sum < bound*0.99 || sum > bound*1.01 {
		t.Errorf("pods are worth %.1f in sum, and the bound is %.1f", sum, bound)
	}
	for _, b := range p.Bins {
		for n := range b.Free[0] + 1 {
			for m := range b.Free[1] + 1 {
				if 2*n+m > b.Free[0] || n+3*m > b.Free[1] {
					continue
				}
				if v := float64(n)*s.Worth[0] + float64(m)*s.Worth[1]; v > float64(b.Price)*1.001 {
					t.Errorf("%d and %d pods are worth %.2f, and fit a bin of %d", n, m, v, b.Price)
				}
			}
		}
	}
}
