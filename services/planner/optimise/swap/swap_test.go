package swap_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
	"github.com/kerf-dev/kerf/services/planner/optimise/swap"
)

// drawn is a few pods with rules about each other, on a few bins, some of which are there already.
func drawn(r *rand.Rand) *problem.Problem {
	p := problemtest.Alike(r, 3)
	if r.IntN(2) == 0 {
		p.Bins[0].Price, p.Bins[0].Most = 0, 1
	}
	for i := range p.Items {
		if r.IntN(3) == 0 {
			p.Penalties = append(p.Penalties, problem.Penalty{Item: i, Bin: r.IntN(len(p.Bins)), Price: 1 + r.Int64N(5)})
		}
	}
	return p
}

// half is a plan that has some bins, which are filled with some of the pods that fit.
func half(r *rand.Rand, c *compact.Problem, open *compact.OpenBin) *compact.Plan {
	pl := compact.NewPlan(c)
	for range min(r.IntN(6), 6*len(c.Bins)) {
		b := int32(r.IntN(len(c.Bins)))
		if pl.Remaining(b, 1) == 0 {
			continue
		}
		open.Open(&c.Bins[b])
		f := compact.Filling{Bin: b, Copies: 1, Cost: c.Bins[b].Price}
		for i := range int32(c.NumRows) {
			if !c.Bins[b].Takes.Has(int(i)) || r.IntN(3) == 0 {
				continue
			}
			if n := open.Capacity(i, pl.Rest[i]); n > 0 {
				n = 1 + r.Int32N(n)
				open.Put(i, n)
				f.Rows, f.Counts = append(f.Rows, i), append(f.Counts, n)
				if c.Bins[b].Penalties != nil {
					f.Cost += c.Bins[b].Penalties[i] * int64(n)
				}
			}
		}
		pl.Take(f)
	}
	return pl
}

// wrong says what of a plan is not as it must be, "" for nothing.
func wrong(pl *compact.Plan, open *compact.OpenBin) string {
	c, cost := pl.Problem, int64(0)
	rest := compact.NewPlan(c).Rest
	used := make([]int32, len(c.Bins))
	for _, f := range pl.Fillings {
		penalty, ok := open.Holds(&c.Bins[f.Bin], f.Rows, f.Counts)
		if !ok {
			return "a bin does not hold its pods"
		}
		cost += (c.Bins[f.Bin].Price + penalty) * int64(f.Copies)
		used[f.Bin] += f.Copies
		for x, i := range f.Rows {
			rest[i] -= f.Counts[x] * f.Copies
		}
	}
	pods := 0
	for i, n := range rest {
		if n != pl.Rest[i] || n < 0 {
			return "pods are lost"
		}
		pods += int(n)
	}
	for b, n := range used {
		if n != pl.Used[b] {
			return "bins are lost"
		}
	}
	if pods != pl.Pods || cost != pl.Cost {
		return "the sums are wrong"
	}
	return ""
}

// free says that a pod that is left could be put onto a bin as it is, at no extra price.
func free(pl *compact.Plan, open *compact.OpenBin) bool {
	for _, f := range pl.Fillings {
		b := &pl.Problem.Bins[f.Bin]
		open.Open(b)
		for x, i := range f.Rows {
			open.Put(i, f.Counts[x])
		}
		for i, n := range pl.Rest {
			if n > 0 && b.Takes.Has(i) && (b.Penalties == nil || b.Penalties[i] == 0) && open.Capacity(int32(i), 1) > 0 {
				return true
			}
		}
	}
	return false
}

// TestPodsThatAreLeftGetRoom of plans that are half made: each stays one, with the same bins, and leaves no pod that fits.
func TestPodsThatAreLeftGetRoom(t *testing.T) {
	placed, moved := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 14))
		c := compact.Compile(drawn(r))
		open := compact.NewOpenBin(c)
		pl := half(r, c, open)
		before := pl.Clone()
		swap.Place(pl, open, math.MaxInt64)
		if bad := wrong(pl, open); bad != "" {
			t.Fatalf("seed %d: %s: %+v", seed, bad, pl.Fillings)
		}
		for b, n := range before.Used {
			if pl.Used[b] != n {
				t.Fatalf("seed %d: of bin %d there were %d, and are %d", seed, b, n, pl.Used[b])
			}
		}
		if pl.Pods > before.Pods || free(pl, open) {
			t.Fatalf("seed %d: %d of %d pods are left, with room for one: %+v", seed, pl.Pods, before.Pods, pl.Fillings)
		}
		placed += before.Pods - pl.Pods
		if !free(before, open) && pl.Pods < before.Pods {
			moved++
		}
	}
	if placed < 1000 || moved < 30 {
		t.Errorf("%d pods got room, and of %d plans others were moved for them", placed, moved)
	}
}

// TestAPodGoesWhereAnotherMakesRoom has a node with room that a rule closes to the pod that is left, and one that is
// full, whose pod may go there.
func TestAPodGoesWhereAnotherMakesRoom(t *testing.T) {
	all, apart := problemtest.All(3), problemtest.All(2)
	c := compact.Compile(&problem.Problem{
		Items: []problem.Item{{Count: 1, Request: []int64{3}}, {Count: 1, Request: []int64{2}}, {Count: 1, Request: []int64{2}}},
		Bins:  []problem.Bin{{Price: 50, Free: []int64{5}, Takes: all, Most: -1}, {Price: 20, Free: []int64{2}, Takes: all, Most: -1}},
		Rules: []problem.Rule{{Trigger: apart, Counted: apart, Most: 1}},
	})
	rowOf, binOf := make(map[int32]int32), make(map[int]int32)
	for row, of := range c.ItemsOf {
		rowOf[of[0]] = int32(row)
	}
	for b := range c.Bins {
		binOf[c.Bins[b].Index] = int32(b)
	}
	pl := compact.NewPlan(c)
	pl.Take(compact.Filling{Bin: binOf[0], Copies: 1, Rows: []int32{rowOf[0]}, Counts: []int32{1}, Cost: 50})
	pl.Take(compact.Filling{Bin: binOf[1], Copies: 1, Rows: []int32{rowOf[2]}, Counts: []int32{1}, Cost: 20})
	if swap.Place(pl, compact.NewOpenBin(c), math.MaxInt64); pl.Pods != 0 || pl.Cost != 70 {
		t.Errorf("%d pods are left, at a cost of %d", pl.Pods, pl.Cost)
	}
}
