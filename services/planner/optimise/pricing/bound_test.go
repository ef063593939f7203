package pricing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// TestACloserLookSharpensWhatTheBoundDependsOn compares what no filling is said to be worth more than, once bins are
// looked at closely, with all fillings that there are.
func TestACloserLookSharpensWhatTheBoundDependsOn(t *testing.T) {
	sharper := 0
	never := func() bool { return false }
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := compact.Compile(drawn(r))
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

// drawn is a few rows of pods and bins of two resources.
func drawn(r *rand.Rand) *problem.Problem {
	p := &problem.Problem{}
	rows := 1 + r.IntN(6)
	for range rows {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(5), Request: []int64{5 + r.Int64N(40), 5 + r.Int64N(40)}})
	}
	takes := bits.New(rows)
	for i := range rows {
		takes.Add(i)
	}
	for range 1 + r.IntN(2) {
		p.Bins = append(p.Bins, problem.Bin{Price: 50 + r.Int64N(50), Free: []int64{30 + r.Int64N(150), 30 + r.Int64N(150)}, Takes: takes, Most: -1})
	}
	if r.IntN(3) == 0 {
		trigger, counted := bits.New(rows), bits.New(rows)
		for i := range rows {
			if r.IntN(2) == 0 {
				trigger.Add(i)
			}
			if r.IntN(2) == 0 {
				counted.Add(i)
			}
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: trigger, Counted: counted, Most: 1 + r.IntN(3)})
	}
	return p
}

// mostWorth is what the filling of a bin is worth that is worth most where pods are worth y each, by all that there are.
func mostWorth(c *compact.Problem, b int, y []float64) float64 {
	bin, open := &c.Bins[b], compact.NewOpenBin(c)
	var from func(x int) float64
	from = func(x int) float64 {
		if x == len(bin.Rows) {
			return 0
		}
		row := bin.Rows[x]
		most := from(x + 1)
		n := open.Capacity(row, min(bin.Alone[x], c.Count[row]))
		for q := int32(1); q <= n; q++ {
			open.Put(row, 1)
			most = max(most, float64(q)*y[row]+from(x+1))
		}
		open.Put(row, -n)
		return most
	}
	open.Open(bin)
	return from(0)
}
