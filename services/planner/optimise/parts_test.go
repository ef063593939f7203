package optimise_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// beside is two problems as one, of which neither has to do with the other.
func beside(p, q *problem.Problem) *problem.Problem {
	moved := func(s bits.Set) bits.Set {
		var out bits.Set
		for i := range q.Items {
			if s.Has(i) {
				out.Add(len(p.Items) + i)
			}
		}
		return out
	}
	out := *p
	out.Items = slices.Concat(p.Items, q.Items)
	out.Bins, out.Rules, out.Limits, out.Penalties = slices.Clone(p.Bins), slices.Clone(p.Rules), nil, slices.Clone(p.Penalties)
	for _, b := range q.Bins {
		b.Takes = moved(b.Takes)
		b.Before = slices.Clone(b.Before)
		for k := range b.Before {
			b.Before[k].Rule += len(p.Rules)
		}
		out.Bins = append(out.Bins, b)
	}
	for _, r := range q.Rules {
		out.Rules = append(out.Rules, problem.Rule{Trigger: moved(r.Trigger), Counted: moved(r.Counted), Most: r.Most})
	}
	for _, l := range p.Limits {
		out.Limits = append(out.Limits, problem.Limit{Most: l.Most, Amount: slices.Concat(l.Amount, make([]int64, len(q.Bins)))})
	}
	for _, l := range q.Limits {
		out.Limits = append(out.Limits, problem.Limit{Most: l.Most, Amount: slices.Concat(make([]int64, len(p.Bins)), l.Amount)})
	}
	for _, v := range q.Penalties {
		out.Penalties = append(out.Penalties, problem.Penalty{Item: len(p.Items) + v.Item, Bin: len(p.Bins) + v.Bin, Price: v.Price})
	}
	return &out
}

// TestWhatHasNothingToDoWithEachOtherIsPackedAsIfEachWereAlone compares small problems beside each other with the
// optimum of each.
func TestWhatHasNothingToDoWithEachOtherIsPackedAsIfEachWereAlone(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		ps := []*problem.Problem{small(r), small(r), small(r)}
		whole, left, cost := ps[0], 0, int64(0)
		for _, p := range ps[1:] {
			whole = beside(whole, p)
		}
		for _, p := range ps {
			l, c := optimum(p)
			left, cost = left+l, cost+c
		}
		whole = shuffled(whole, r.Perm(len(whole.Items)), r.Perm(len(whole.Bins)))
		s := optimise.Solve(whole)
		if broken := check(whole, s); broken != "" {
			t.Fatalf("seed %d: %s", seed, broken)
		}
		n := 0
		for _, l := range s.Left {
			n += l
		}
		if n != left || s.Cost != cost {
			t.Errorf("seed %d: %d pods left at a cost of %d; alone they leave %d at %d", seed, n, s.Cost, left, cost)
		}
		if left == 0 && s.Bound > cost {
			t.Errorf("seed %d: the bound is %d, of packings that cost %d", seed, s.Bound, cost)
		}
	}
}

// TestABoundIsThatOfPartsThatCostSomething has one part on a node that exists already, and too many different requests
// for the exact method.
func TestABoundIsThatOfPartsThatCostSomething(t *testing.T) {
	free, paid := generated(200, 30, 1), generated(200, 5, 2)
	free.Bins = []problem.Bin{Bin(0, 1, problemtest.All(len(free.Items)), 1e9, 1e9, 1e9)}
	alone, both := optimise.Solve(paid), optimise.Solve(beside(free, paid))
	if both.Cost != alone.Cost || both.Bound != alone.Bound || both.Bound == 0 {
		t.Errorf("cost %d and bound %d (%v); without the part that costs nothing %d and %d", both.Cost, both.Bound, both.BoundKind, alone.Cost, alone.Bound)
	}
}
