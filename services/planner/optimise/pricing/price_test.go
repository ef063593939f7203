package pricing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/knapsack"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// manyRows is a problem of so many rows, and of bins of twenty sizes, which cost so much less for their size the larger
// they are.
func manyRows(rows int, less int64) *Columns {
	r := rand.New(rand.NewPCG(uint64(rows), 4))
	p := &problem.Problem{}
	for range rows {
		p.Items = append(p.Items, problem.Item{Count: 20, Request: []int64{100 + r.Int64N(900), 100 + r.Int64N(900)}})
	}
	for size := int64(1); size <= 20; size++ {
		p.Bins = append(p.Bins, problem.Bin{Price: 1000*size - less*size*size, Free: []int64{1500 * size, 1600 * size}, Takes: problemtest.All(rows), Most: -1})
	}
	c := compact.Compile(p)
	x := NewColumns(c, &compact.Slab{})
	x.Program.WorkLimit, x.Program.Stop = math.MaxInt64, func() bool { return false }
	x.Begin(compact.NewPlan(c), nil)
	return x
}

// TestOfManyRowsNotAllBinsArePricedEachTime counts the rounds that prove nothing, and what is found in them.
func TestOfManyRowsNotAllBinsArePricedEachTime(t *testing.T) {
	for name, test := range map[string]struct {
		rows  int
		slack float64
		again bool
	}{
		"many rows":                {60, 0, true},
		"few rows":                 {fewRows, 0, false},
		"many rows, for the bound": {60, 0.001, false},
	} {
		x := manyRows(test.rows, 5)
		copy(x.trialDuals, x.Duals)
		g := Effort{Limit: math.MaxInt64, Stop: x.Program.Stop, Slack: test.slack}
		inARow, again := 0, 0
		for range 20 {
			bound, _ := x.price(g)
			if bound > 0 {
				inARow = 0
				continue
			}
			inARow++
			again++
			for _, f := range x.found {
				if !slices.Contains(x.had, f.p.Bin) {
					t.Errorf("%s: bin %d was priced, which had no filling before", name, f.p.Bin)
				}
			}
			if inARow > mostAgain {
				t.Fatalf("%s: %d rounds in a row prove nothing", name, inARow)
			}
		}
		if again > 0 != test.again {
			t.Errorf("%s: %d of 20 rounds prove nothing", name, again)
		}
	}
}

// TestOfManyRowsFillingsWorthLessThanTheBinAreNotLookedFor compares the work of looking for those that are worth more
// than the bin costs with that of looking for all that are worth more than those at hand, where no filling is.
func TestOfManyRowsFillingsWorthLessThanTheBinAreNotLookedFor(t *testing.T) {
	x := manyRows(60, 0)
	g := Effort{Limit: math.MaxInt64, Stop: x.Program.Stop, Depth: 1}
	x.Generate(g)
	x.depth = 2
	var work, all int64
	for scale := 0.998; scale <= 1; scale += 0.00005 {
		for i, v := range x.Duals {
			x.trialDuals[i] = v * scale
		}
		clear(x.priced)
		for b := range x.c.Bins {
			x.relaxBin(int32(b), g)
			p, price := &x.priced[b], float64(x.c.Bins[b].Price)
			if p.known || p.upper <= price {
				continue
			}
			before := x.Work()
			most := x.packer.Of(b, x.trialDuals).Fill(p.upper, 0, knapsack.Limit{Relaxations: relaxations(x.depth), Work: 1 << 40}).Most
			looked := x.Work()
			x.lookAt(int32(b), g)
			if p.upper <= price*(1+1e-6) {
				all += looked - before
				work += x.Work() - looked
			}
			if most <= price && p.upper > price*(1+1e-6) {
				t.Errorf("no filling of bin %d is worth more than %g, of %g, and that is not known: %g", b, most, price, p.upper)
			}
		}
	}
	if 10*work > 9*all || all == 0 {
		t.Errorf("it takes %d steps, and %d where all are looked for", work, all)
	}
}

// TestFillingsAreVaried asks that those that are looked for beside the first have none of the rows that there are already.
func TestFillingsAreVaried(t *testing.T) {
	x := manyRows(30, 5)
	copy(x.trialDuals, x.Duals)
	clear(x.priced)
	for b := range x.c.Bins {
		x.relaxBin(int32(b), Effort{})
	}
	slices.SortFunc(x.found, func(a, b found) int { return int(a.p.Bin - b.p.Bin) })
	x.found = x.found[:1]
	x.vary()
	if len(x.found) < 3 {
		t.Fatalf("%d fillings", len(x.found))
	}
	in := make(map[int32]bool)
	for _, f := range x.found {
		for _, i := range f.p.Rows {
			if in[i] {
				t.Errorf("row %d is in two fillings of %v", i, x.found)
			}
			in[i] = true
		}
	}
}
