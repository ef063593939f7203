package fleet

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/lp"
)

// half is a part of all fleets: those with so many nodes of some bins at least, or at most.
type half struct {
	rows  []row
	bound float64
}

// row is one more inequality.
type row struct {
	entries []float64
	rhs     float64
}

// tree is a search for the cheapest fleet, by branch and bound: that half first of which the least is proven.
type tree struct {
	*Search
	program *lp.Covering
	root    lp.CoveringState
	times   float64
	// low is what a better fleet costs at most.
	low   float64
	limit int64
	// found is the best fleet, least what the programmes of all that were found cost at least; open are the halves that
	// may have a better one, the lowest bound first.
	found []int32
	least float64
	open  []half
	// have is how many nodes the solution has, by bin, used are the bins of which it has some.
	have []float64
	used []int
	// sums are those of the search, where no node has more than all that is asked for; rooted says that root is solved.
	sums   []sum
	rooted bool
}

// Least is the cheapest fleet that has so many times what is asked for, where one costs less than below and was found,
// and what none costs less than.
func (s *Search) Least(times float64, below, limit int64) (fleet []int32, bound int64) {
	t := &tree{Search: s, program: lp.NewCovering(nil), times: times, limit: s.Work + limit, least: math.Inf(1), have: make([]float64, len(s.c.Bins))}
	t.lower(below)
	for _, v := range s.sums {
		some := make(sum, len(v))
		for b := range v {
			some[b] = min(v[b], asked*times*(1+1e-9)) // one such node is enough
		}
		t.sums = append(t.sums, some)
	}
	for b := range s.c.Bins {
		t.program.Add(float64(s.c.Bins[b].Price), nil, nil)
	}
	first := t.sums[:min(len(t.sums), s.c.NumResources+1)]
	for _, v := range first {
		t.program.AddRow(v, asked*times)
	}
	t.program.Save(&t.root)
	t.open = append(t.open, half{})
	for len(t.open) > 0 && t.Work < t.limit && !s.c.Stopped() {
		h := t.open[0]
		if h.bound > t.low {
			break
		}
		t.open = t.open[1:]
		for ok := true; ok; {
			if t.Work >= t.limit || s.c.Stopped() {
				t.insert(h)
				break
			}
			h, ok = t.look(h)
		}
	}
	bound = int64(t.low) + s.unit
	if len(t.open) > 0 {
		bound = min(bound, t.whole(t.open[0].bound))
	}
	return t.found, min(bound, t.whole(t.least))
}

// whole is what fleets cost at least whose programme costs so much.
func (t *tree) whole(least float64) int64 {
	if least > t.low+float64(t.unit) {
		return int64(t.low) + t.unit
	}
	return (int64(least*(1-1e-9))-1)/t.unit*t.unit + t.unit
}

// lower says that fleets are looked for that cost less than so much.
func (t *tree) lower(below int64) { t.low = float64((below-1)/t.unit*t.unit) + 0.01 }

// look solves a half, with what sums it does not have, and splits it. Of its two halves that with more nodes comes
// next, so that fleets are found soon.
func (t *tree) look(h half) (next half, more bool) {
	p := t.program
	before := p.Work
	defer func() { t.Work += p.Work - before }()
	p.Return(&t.root)
	for _, r := range h.rows {
		p.AddRow(r.entries, r.rhs)
	}
	for {
		bound, solved := p.Solve(t.low, func() bool { return t.Work+p.Work-before > t.limit })
		h.bound = max(h.bound, bound)
		if h.bound > t.low {
			return half{}, false
		}
		if !solved {
			t.insert(h)
			return half{}, false
		}
		clear(t.have)
		for k, j := range p.Basis {
			if j >= 0 {
				t.have[j] = max(0, p.X[k])
			}
		}
		r, lacks := t.lacking()
		if !lacks {
			break
		}
		h.rows = append(slices.Clip(h.rows), r)
		p.AddRow(r.entries, r.rhs)
	}
	if !t.rooted { // with the sums that it lacked all halves begin
		t.rooted, h.rows = true, nil
		p.Save(&t.root)
	}
	return t.split(h)
}

// lacking is the sum of which the solution has least.
func (t *tree) lacking() (r row, lacks bool) {
	t.used = t.used[:0]
	for b, n := range t.have {
		if n > 0 {
			t.used = append(t.used, b)
		}
	}
	least := float64(asked*t.times) - 1e-6
	for _, v := range t.sums {
		has := 0.0
		for _, b := range t.used {
			has += float64(t.have[b] * v[b])
		}
		if has < least {
			r, lacks, least = row{v, asked * t.times}, true, has
		}
	}
	t.Work += int64(len(t.sums) * len(t.used))
	return r, lacks
}

// insert keeps a half.
func (t *tree) insert(h half) {
	at, _ := slices.BinarySearchFunc(t.open, h.bound, func(o half, bound float64) int {
		if o.bound == bound {
			return 1 // the deepest first
		}
		return cmp.Compare(o.bound, bound)
	})
	t.open = slices.Insert(t.open, at, h)
}

// split splits a half by how many nodes there are of some bins, of which its solution has the largest part for the price.
func (t *tree) split(h half) (next half, ok bool) {
	used := t.used
	best, nodes := 0.0, 0.0
	var in func(b int) bool
	bins := t.c.Bins
	try := func(price float64, among func(b int) bool) {
		sum := 0.0
		for _, b := range used {
			if among(b) {
				sum += t.have[b]
			}
		}
		if p := math.Abs(sum - math.Round(sum)); p > 1e-5 && p*price > best {
			in, best, nodes = among, p*price, sum
		}
	}
	try(float64(bins[0].Price), func(int) bool { return true })
	for _, u := range used {
		price := float64(bins[u].Price)
		try(price, func(b int) bool { return bins[b].Price >= bins[u].Price })
		try(price/8, func(b int) bool { return b == u })
		for r := range t.c.NumResources {
			try(price, func(b int) bool { return bins[b].Free[r] >= bins[u].Free[r] })
		}
	}
	t.Work += int64(4 * len(used) * len(used) * (2 + t.c.NumResources))
	if in == nil {
		t.take(h.bound)
		return half{}, false
	}
	more, fewer := make([]float64, len(bins)), make([]float64, len(bins))
	for b := range bins {
		if in(b) {
			more[b], fewer[b] = 1, -1
		}
	}
	up := math.Ceil(nodes)
	t.insert(half{append(slices.Clip(h.rows), row{fewer, 1 - up}), h.bound})
	return half{append(slices.Clip(h.rows), row{more, up}), h.bound}, true
}

// take keeps the solution, which is whole, of a half of which so much is proven.
func (t *tree) take(bound float64) {
	t.least = min(t.least, bound)
	t.found = make([]int32, len(t.have))
	cost := int64(0)
	for b, n := range t.have {
		t.found[b] = int32(math.Round(n))
		cost += int64(t.found[b]) * t.c.Bins[b].Price
	}
	t.lower(cost)
}
