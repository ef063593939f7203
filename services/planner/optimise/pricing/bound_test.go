package pricing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// TestACloserLookSharpensWhatTheBoundDependsOn compares what no filling is said to be worth more than, once bins are
// looked at closely, with all fillings that there are.
func TestACloserLookSharpensWhatTheBoundDependsOn(t *testing.T) {
	sharper := 0
	never := func() bool { return false }
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := compact.Compile(problemtest.Unequal(r))
		x := NewColumns(c, &compact.Slab{})
		x.Program.WorkLimit, x.Program.Stop = math.MaxInt64, never
		x.Begin(compact.NewPlan(c), nil)
		for i := range x.trialDuals {
			x.trialDuals[i] = math.Round(100 * r.Float64())
		}
		g := Effort{Limit: math.MaxInt64, Stop: never}
		x.price(g)
		before := slices.Clone(x.priced)
		x.sharpen(g)
		for b, p := range x.priced {
			if most := mostWorth(c, b, x.trialDuals); p.upper < most-1e-6 {
				t.Fatalf("seed %d: no filling of bin %d is said to be worth more than %g, and one is worth %g", seed, b, p.upper, most)
			}
			if p.upper < before[b].upper-1 {
				sharper++
			}
		}
	}
	if sharper < 100 {
		t.Errorf("a closer look said more of %d bins only", sharper)
	}
}

// mostWorth is what the best filling of a bin is worth where pods of each row are worth y.
func mostWorth(c *compact.Problem, b int, y []float64) float64 {
	return problemtest.MostWorth(c, &c.Bins[b], func(x int) float64 { return y[c.Bins[b].Rows[x]] })
}
