package pricing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// TestDualsMoveToWhereTheBoundRises compares where the smoothing goes after a round with what the bound is a little
// nearer to the programme's duals, and a little nearer to those of the best bound, by all fillings that there are. It
// may be wrong where a filling is said to be possible that is not.
func TestDualsMoveToWhereTheBoundRises(t *testing.T) {
	out, back, wrong := 0, 0, 0
	for seed := range uint64(1000) {
		p := problemtest.Unequal(rand.New(rand.NewPCG(seed, 6)))
		p.Rules = nil
		c := compact.Compile(p)
		x := NewColumns(c, &compact.Slab{})
		g := Effort{Limit: math.MaxInt64, Depth: 1, Stop: func() bool { return false }}
		x.Program.WorkLimit, x.Program.Stop = g.Limit, g.Stop
		copy(x.BestDuals, c.InitialWorth())
		x.Begin(compact.NewPlan(c), nil)
		x.depth, x.alpha, x.nextAlpha = 1, 0.5, 0.5
		at := func(alpha float64) float64 {
			y := make([]float64, c.NumRows)
			for i := range y {
				y[i] = alpha*x.BestDuals[i] + (1-alpha)*x.Duals[i]
			}
			steepest := 1.0
			for b := range c.Bins {
				steepest = max(steepest, slope(mostWorth(c, b, y), c.Bins[b].Price))
			}
			return x.worth(y, nil) / steepest
		}
		there, here := at(0.5-1e-5), at(0.5)
		for _, i := range x.Rows {
			x.trialDuals[i] = 0.5*x.BestDuals[i] + 0.5*x.Duals[i]
		}
		x.price(g)
		x.adapt()
		switch {
		case x.nextAlpha == x.alpha || math.Abs(there-here) < 1e-9*here:
		case x.nextAlpha < x.alpha != (there > here):
			wrong++
		case there > here:
			out++
		default:
			back++
		}
	}
	if out < 50 || back < 50 || 100*wrong > out+back {
		t.Errorf("the smoothing went out %d times, back %d times, and where the bound falls %d times", out, back, wrong)
	}
}

// TestAProgrammeGoesOnFromItsRoot takes a programme to what is left of a plan, and back: it is what it was, and finds
// what it found.
func TestAProgrammeGoesOnFromItsRoot(t *testing.T) {
	moved, limited := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 8))
		p := problemtest.Unequal(r)
		limit := problem.Limit{Most: 1 + r.Int64N(4)}
		for range p.Bins {
			limit.Amount = append(limit.Amount, 1)
		}
		p.Limits = []problem.Limit{limit}
		c := compact.Compile(p)
		all, x := compact.NewPlan(c), NewColumns(c, &compact.Slab{})
		g := Effort{Limit: math.MaxInt64, Depth: 1, Stop: func() bool { return false }}
		x.Program.WorkLimit, x.Program.Stop = g.Limit, g.Stop
		x.Begin(all, nil)
		if x.Generate(g); x.AddExceededLimits(all) {
			limited++
			x.Begin(all, slices.Clone(x.Pool))
			x.Generate(g)
		}
		root, value := x.Root(), x.Program.Value()
		again := func() [3]float64 {
			x.Return(all, &root)
			start := x.Program.Value()
			x.Generate(g)
			return [3]float64{start, x.Program.Value(), x.Bound}
		}
		first := again()
		if math.Abs(first[0]-value) > 1e-6*value {
			t.Errorf("seed %d: the programme was at %g, and is at %g", seed, value, first[0])
		}
		left := all.Clone()
		for _, p := range x.Pool {
			if p.Bin >= 0 && left.Remaining(p.Bin, 1) > 0 && x.proper(p) {
				left.Take(p)
				break
			}
		}
		x.Begin(left, root.pool)
		if x.Generate(g); x.Program.Value() != first[1] {
			moved++
		}
		if second := again(); second != first {
			t.Errorf("seed %d: from the same root, the programme went %v and %v", seed, first, second)
		}
	}
	if moved < 100 || limited < 30 {
		t.Errorf("only %d programmes were others for what was left, and %d had limits", moved, limited)
	}
}
