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

// TestATableKnowsTheBestFilling compares the table of small bins, of pods without end, with all fillings that there are.
func TestATableKnowsTheBestFilling(t *testing.T) {
	whole := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := drawn(r)
		for i := range p.Items {
			p.Items[i].Count = 1000
			for k := range p.Items[i].Request {
				p.Items[i].Request[k] += 20
			}
		}
		p.Rules = nil
		pr := pricerOf(p)
		for b := range pr.c.Bins {
			kn := pr.knapsackOf(b)
			v := pr.value[:len(kn.b.Rows)]
			for x := range v {
				v[x] = math.Round(100 * r.Float64())
			}
			pr.relax(kn, v)
			upper, ok := pr.solveTable(kn, v, false, false, math.MaxInt32)
			if !ok {
				t.Fatalf("seed %d: a table of %v is too large", seed, kn.b.Free)
			}
			if most := mostWorth(pr, kn, v, 0); upper < most-1e-9 || upper > most*(1+1e-6) {
				t.Fatalf("seed %d: the best filling is worth %g, the table says %g", seed, most, upper)
			}
			if math.Abs(worthOf(v, pr.counts)-upper) < 1e-3 {
				whole++
			}
			pr.open.Open(kn.b)
			for x, q := range pr.counts {
				if pr.open.Capacity(kn.b.Rows[x], q) < q {
					t.Fatalf("seed %d: the filling has %d pods of row %d, which do not fit", seed, q, x)
				}
				pr.open.Put(kn.b.Rows[x], q)
			}
		}
	}
	if whole < 300 {
		t.Errorf("the filling was read out of %d tables only", whole)
	}
}

// TestTheLastTableMayBeLarger solves a table of 400,000 entries, in which few pods fit, and compares it with all
// fillings that there are.
func TestTheLastTableMayBeLarger(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	p := &problem.Problem{Bins: []problem.Bin{{Price: 1000, Free: []int64{499, 799}, Takes: bits.New(20), Most: -1}}}
	for i := range 20 {
		p.Bins[0].Takes.Add(i)
		p.Items = append(p.Items, problem.Item{Count: 1000, Request: []int64{101 + r.Int64N(99), 161 + r.Int64N(159)}})
	}
	pr := pricerOf(p)
	kn := pr.knapsackOf(0)
	v := pr.value[:len(kn.b.Rows)]
	for x := range v {
		v[x] = 100 + math.Round(100*r.Float64())
	}
	pr.relax(kn, v)
	if _, ok := pr.solveTable(kn, v, false, false, math.MaxInt32); ok {
		t.Error("the table was solved while there was more to try")
	}
	upper, ok := pr.solveTable(kn, v, true, false, math.MaxInt32)
	if most := mostWorth(pr, kn, v, 0); !ok || upper < most-1e-9 || upper > most*(1+1e-6) {
		t.Errorf("the best filling is worth %g, the table says %g, %v", most, upper, ok)
	}
}

// TestTheLastTableKnowsAThirdResource of which there is little, as of pods on a small node, where that has a price.
func TestTheLastTableKnowsAThirdResource(t *testing.T) {
	third := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 8))
		p := drawn(r)
		p.Rules = nil
		for i := range p.Items {
			p.Items[i].Count = 1000
			p.Items[i].Request = []int64{1 + r.Int64N(60), 1 + r.Int64N(60), 1}
		}
		for b := range p.Bins {
			p.Bins[b].Free = []int64{90, 90, 3 + r.Int64N(3)}
		}
		pr := pricerOf(p)
		for b := range pr.c.Bins {
			kn := pr.knapsackOf(b)
			v := pr.value[:len(kn.b.Rows)]
			for x := range v {
				a := kn.a[x*kn.k:]
				v[x] = math.Round(100 * (a[0] + a[1] + a[2] + 0.1*r.Float64()))
			}
			pr.relax(kn, v)
			upper, ok := pr.solveTable(kn, v, true, false, math.MaxInt32)
			if slices.Min(kn.lam) <= 0 {
				continue
			}
			third++
			if most := mostWorth(pr, kn, v, 0); !ok || upper < most-1e-9 || upper > most*(1+1e-6) {
				t.Fatalf("seed %d: the best filling is worth %g, the table says %g, %v", seed, most, upper, ok)
			}
		}
	}
	if third < 30 {
		t.Errorf("%d tables knew a third resource", third)
	}
}

// TestATableForABoundCountsPlaces has pods of some rows share one or two places, which are worth more than what they take:
// the relaxation has parts of several of them, the table whole ones.
func TestATableForABoundCountsPlaces(t *testing.T) {
	counted, loose := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := drawn(r)
		apart := bits.New(len(p.Items))
		for i := range p.Items {
			p.Items[i] = problem.Item{Count: 1000, Request: []int64{20 + r.Int64N(60), 20 + r.Int64N(60)}}
			if i%2 == 0 {
				apart.Add(i)
			}
		}
		for b := range p.Bins {
			p.Bins[b].Free, p.Bins[b].Before = []int64{90 + r.Int64N(90), 90 + r.Int64N(90)}, nil
		}
		p.Rules, p.Limits, p.Penalties = []problem.Rule{{Trigger: apart, Counted: apart, Most: 1 + r.IntN(2)}}, nil, nil
		pr := pricerOf(p)
		for b := range pr.c.Bins {
			kn := pr.knapsackOf(b)
			v := pr.value[:len(kn.b.Rows)]
			for x, i := range kn.b.Rows {
				if v[x] = 20 + math.Round(100*r.Float64()); len(pr.c.RulesOf[i]) > 0 {
					v[x] *= 3
				}
			}
			pr.relax(kn, v)
			if len(kn.rules) == 0 || kn.lam[pr.c.NumResources] <= 0 {
				continue
			}
			counted++
			upper, ok := pr.solveTable(kn, v, false, true, math.MaxInt32)
			most := mostWorth(pr, kn, v, 0)
			if !ok || upper < most-1e-9 || upper > most*(1+1e-6) {
				t.Fatalf("seed %d: the best filling is worth %g, the table says %g, %v", seed, most, upper, ok)
			}
			if pr.upper(kn, v) > 1.01*most {
				loose++
			}
		}
	}
	if counted < 100 || loose < 50 {
		t.Errorf("%d tables counted places, of %d the relaxation says more", counted, loose)
	}
}

// TestATableOfABinWithoutRoom must not panic: pods that ask for none of a resource fit a bin that has less than none.
func TestATableOfABinWithoutRoom(t *testing.T) {
	takes := bits.New(2)
	takes.Add(0)
	takes.Add(1)
	pr := pricerOf(&problem.Problem{
		Items: []problem.Item{{Count: 9, Request: []int64{30, 0}}, {Count: 9, Request: []int64{20, 7}}},
		Bins:  []problem.Bin{{Price: 10, Free: []int64{100, -50}, Takes: takes, Most: -1}, {Price: 20, Free: []int64{100, 70}, Takes: takes, Most: -1}},
	})
	for b := range pr.c.Bins {
		kn := pr.knapsackOf(b)
		v := pr.value[:len(kn.b.Rows)]
		for x := range v {
			v[x] = 3
		}
		pr.relax(kn, v)
		if upper, ok := pr.solveTable(kn, v, true, false, math.MaxInt32); ok && upper < mostWorth(pr, kn, v, 0) {
			t.Errorf("bin %v: the table says %g", kn.b.Free, upper)
		}
	}
}

// manyRows is a problem of so many rows, and of bins of twenty sizes, which cost so much less for their size the larger
// they are.
func manyRows(rows int, less int64) *Columns {
	r := rand.New(rand.NewPCG(uint64(rows), 4))
	p := &problem.Problem{}
	takes := bits.New(rows)
	for i := range rows {
		takes.Add(i)
		p.Items = append(p.Items, problem.Item{Count: 20, Request: []int64{100 + r.Int64N(900), 100 + r.Int64N(900)}})
	}
	for size := int64(1); size <= 20; size++ {
		p.Bins = append(p.Bins, problem.Bin{Price: 1000*size - less*size*size, Free: []int64{1500 * size, 1600 * size}, Takes: takes, Most: -1})
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
			kn := x.pr.knapsackOf(b)
			before := x.pr.work
			most := x.pr.fill(kn, x.pr.values(kn.b, x.trialDuals), p.upper, 0, searchLimit{relaxations(x.depth), math.MaxInt64})
			looked := x.pr.work
			x.lookAt(int32(b), g)
			if p.upper <= price*(1+1e-6) {
				all += looked - before
				work += x.pr.work - looked
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
