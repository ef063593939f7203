package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// TestATableKnowsTheBestFilling compares the table of small bins, of pods without end, with all fillings that there are.
func TestATableKnowsTheBestFilling(t *testing.T) {
	whole := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := problemtest.Unequal(r)
		for i := range p.Items {
			p.Items[i].Count = 1000
			for k := range p.Items[i].Request {
				p.Items[i].Request[k] += 20
			}
		}
		p.Rules = nil
		pk := packerOf(p)
		for b := range pk.c.Bins {
			kn := pk.stateOf(b)
			v := pk.value[:len(kn.b.Rows)]
			for x := range v {
				v[x] = math.Round(100 * r.Float64())
			}
			pk.relax(kn, v)
			upper, ok := pk.solveTable(kn, v, false, false, math.MaxInt32)
			if !ok {
				t.Fatalf("seed %d: a table of %v is too large", seed, kn.b.Free)
			}
			if most := mostWorth(pk, kn, v); upper < most-1e-9 || upper > most*(1+1e-6) {
				t.Fatalf("seed %d: the best filling is worth %g, the table says %g", seed, most, upper)
			}
			if math.Abs(worthOf(v, pk.counts)-upper) < 1e-3 {
				whole++
			}
			pk.open.Open(kn.b)
			for x, q := range pk.counts {
				if pk.open.Capacity(kn.b.Rows[x], q) < q {
					t.Fatalf("seed %d: the filling has %d pods of row %d, which do not fit", seed, q, x)
				}
				pk.open.Put(kn.b.Rows[x], q)
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
	p := &problem.Problem{Bins: []problem.Bin{{Price: 1000, Free: []int64{499, 799}, Takes: problemtest.All(20), Most: -1}}}
	for range 20 {
		p.Items = append(p.Items, problem.Item{Count: 1000, Request: []int64{101 + r.Int64N(99), 161 + r.Int64N(159)}})
	}
	pk := packerOf(p)
	kn := pk.stateOf(0)
	v := pk.value[:len(kn.b.Rows)]
	for x := range v {
		v[x] = 100 + math.Round(100*r.Float64())
	}
	pk.relax(kn, v)
	if _, ok := pk.solveTable(kn, v, false, false, math.MaxInt32); ok {
		t.Error("the table was solved while there was more to try")
	}
	upper, ok := pk.solveTable(kn, v, true, false, math.MaxInt32)
	if most := mostWorth(pk, kn, v); !ok || upper < most-1e-9 || upper > most*(1+1e-6) {
		t.Errorf("the best filling is worth %g, the table says %g, %v", most, upper, ok)
	}
}

// TestTheLastTableKnowsAThirdResource of which there is little, as of pods on a small node, where that has a price.
func TestTheLastTableKnowsAThirdResource(t *testing.T) {
	third := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 8))
		p := problemtest.Unequal(r)
		p.Rules = nil
		for i := range p.Items {
			p.Items[i].Count = 1000
			p.Items[i].Request = []int64{1 + r.Int64N(60), 1 + r.Int64N(60), 1}
		}
		for b := range p.Bins {
			p.Bins[b].Free = []int64{90, 90, 3 + r.Int64N(3)}
		}
		pk := packerOf(p)
		for b := range pk.c.Bins {
			kn := pk.stateOf(b)
			v := pk.value[:len(kn.b.Rows)]
			for x := range v {
				a := kn.a[x*kn.k:]
				v[x] = math.Round(100 * (a[0] + a[1] + a[2] + 0.1*r.Float64()))
			}
			pk.relax(kn, v)
			upper, ok := pk.solveTable(kn, v, true, false, math.MaxInt32)
			if slices.Min(kn.lam) <= 0 {
				continue
			}
			third++
			if most := mostWorth(pk, kn, v); !ok || upper < most-1e-9 || upper > most*(1+1e-6) {
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
		p := problemtest.Unequal(r)
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
		pk := packerOf(p)
		for b := range pk.c.Bins {
			kn := pk.stateOf(b)
			v := pk.value[:len(kn.b.Rows)]
			for x, i := range kn.b.Rows {
				if v[x] = 20 + math.Round(100*r.Float64()); len(pk.c.RulesOf[i]) > 0 {
					v[x] *= 3
				}
			}
			pk.relax(kn, v)
			if len(kn.rules) == 0 || kn.lam[pk.c.NumResources] <= 0 {
				continue
			}
			counted++
			upper, ok := pk.solveTable(kn, v, false, true, math.MaxInt32)
			most := mostWorth(pk, kn, v)
			if !ok || upper < most-1e-9 || upper > most*(1+1e-6) {
				t.Fatalf("seed %d: the best filling is worth %g, the table says %g, %v", seed, most, upper, ok)
			}
			if pk.upper(kn, v) > 1.01*most {
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
	takes := problemtest.All(2)
	pk := packerOf(&problem.Problem{
		Items: []problem.Item{{Count: 9, Request: []int64{30, 0}}, {Count: 9, Request: []int64{20, 7}}},
		Bins:  []problem.Bin{{Price: 10, Free: []int64{100, -50}, Takes: takes, Most: -1}, {Price: 20, Free: []int64{100, 70}, Takes: takes, Most: -1}},
	})
	for b := range pk.c.Bins {
		kn := pk.stateOf(b)
		v := pk.value[:len(kn.b.Rows)]
		for x := range v {
			v[x] = 3
		}
		pk.relax(kn, v)
		if upper, ok := pk.solveTable(kn, v, true, false, math.MaxInt32); ok && upper < mostWorth(pk, kn, v) {
			t.Errorf("bin %v: the table says %g", kn.b.Free, upper)
		}
	}
}
