// Package problemtest draws small problems at random, for tests that compare what is proven of a problem with all
// that there is to it. It never solves one. Start reading at Unequal.
package problemtest

import (
	"math/rand/v2"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// All has all of so many items.
func All(items int) bits.Set {
	out := bits.New(items)
	for i := range items {
		out.Add(i)
	}
	return out
}

// Some leaves out about one of so many.
func Some(r *rand.Rand, items, of int) bits.Set {
	out := bits.New(items)
	for i := range items {
		out.Put(i, r.IntN(of) > 0)
	}
	return out
}

// Unequal is a few rows of pods, and a bin or two that take all of them, of two resources: hardly two requests are equal.
// Some problems have a rule.
func Unequal(r *rand.Rand) *problem.Problem {
	p := &problem.Problem{}
	rows := 1 + r.IntN(6)
	for range rows {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(5), Request: []int64{5 + r.Int64N(40), 5 + r.Int64N(40)}})
	}
	for range 1 + r.IntN(2) {
		p.Bins = append(p.Bins, problem.Bin{Price: 50 + r.Int64N(50), Free: []int64{30 + r.Int64N(150), 30 + r.Int64N(150)}, Takes: All(rows), Most: -1})
	}
	if r.IntN(3) == 0 {
		p.Rules = []problem.Rule{{Trigger: Some(r, rows, 2), Counted: Some(r, rows, 2), Most: 1 + r.IntN(3)}}
	}
	return p
}

// Priced is a few rows of pods that all take one of a third resource, and bins that cost about as much as is free of the
// first, of which all but one leave out one item of so many, or none where that is 0. Some problems have a rule about one
// or two rows.
func Priced(r *rand.Rand, of int) *problem.Problem {
	p := &problem.Problem{}
	for range 2 + r.IntN(3) {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(3), Request: []int64{1 + r.Int64N(9), r.Int64N(9), 1}})
	}
	for b := range 3 + r.IntN(4) {
		takes := All(len(p.Items))
		if b > 0 && of > 0 {
			takes = Some(r, len(p.Items), of)
		}
		p.Bins = append(p.Bins, PricedBin(r, 9+r.Int64N(16), takes))
	}
	if r.IntN(3) == 0 {
		p.Rules = []problem.Rule{Few(r, len(p.Items), 2)}
	}
	return p
}

// PricedBin is a bin of so much of the first of three resources, which costs about that.
func PricedBin(r *rand.Rand, size int64, takes bits.Set) problem.Bin {
	return problem.Bin{Price: 1000*size + 100*r.Int64N(60), Free: []int64{size, 9 + r.Int64N(16), 2 + r.Int64N(6)}, Takes: takes, Most: -1}
}

// Few is a rule by which pods of a few items, so many at most, mind each other.
func Few(r *rand.Rand, items, most int) problem.Rule {
	of := bits.New(items)
	for range most {
		of.Add(r.IntN(items))
	}
	return problem.Rule{Trigger: of, Counted: of, Most: 1 + r.IntN(2)}
}

// Alike is a few rows of pods, which ask for so much at most of each of two resources, so that some are equal but for
// rules, and bins of which some are equal but for what they take.
func Alike(r *rand.Rand, most int64) *problem.Problem {
	p := &problem.Problem{}
	rows := 2 + r.IntN(5)
	for range rows {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(4), Request: []int64{1 + r.Int64N(most), 1 + r.Int64N(most)}})
	}
	for range 2 + r.IntN(4) {
		size := 2 + r.Int64N(most+2)
		p.Bins = append(p.Bins, problem.Bin{Price: size * (9 + r.Int64N(3)), Free: []int64{size, size + r.Int64N(2)}, Takes: Some(r, rows, 3), Most: -1})
	}
	for range r.IntN(4) {
		rule := problem.Rule{Trigger: Some(r, rows, 3), Most: 1 + r.IntN(2)}
		if rule.Counted = rule.Trigger; r.IntN(3) == 0 {
			rule.Counted = Some(r, rows, 3)
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

// MostWorth is what the filling of a bin is worth that is worth most, by all that there are, where a pod of the bin's x-th
// row is worth so much.
func MostWorth(c *compact.Problem, b *compact.Bin, worth func(x int) float64) float64 {
	open := compact.NewOpenBin(c)
	var from func(x int) float64
	from = func(x int) float64 {
		if x == len(b.Rows) {
			return 0
		}
		row, each := b.Rows[x], worth(x)
		most := from(x + 1)
		n := open.Capacity(row, min(b.Alone[x], c.Count[row]))
		for q := int32(1); q <= n; q++ {
			open.Put(row, 1)
			most = max(most, float64(q)*each+from(x+1))
		}
		open.Put(row, -n)
		return most
	}
	open.Open(b)
	return from(0)
}
