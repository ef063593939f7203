package optimise

import (
	"math"
	"slices"
)

// greedy packs by price per value: again and again the bin whose filling costs least for what it is worth, as often as
// the pods left allow. Fillings only get worse while pods go away, so a bin is filled anew only when it comes to the top
// of the heap with a filling that the pods left no longer make.
type greedy struct {
	c    *core
	load *load
	slab *slab
	// fills are by bin.
	fills []filling
	heap  []int32
	keys  []keyed
	work  int64
}

type filling struct {
	// orders are rows, in the orders in which to try to fill the bin.
	orders    [3][]int32
	rows, cnt []int32
	// ratio is value per price, cost the price with penalties.
	ratio float64
	cost  int64
}

type keyed struct {
	key float64
	row int32
}

func newGreedy(c *core, s *slab) *greedy {
	return &greedy{c: c, load: newLoad(c), slab: s, fills: make([]filling, len(c.bins))}
}

// run packs what is left of a plan, with a value for a pod of each row.
func (g *greedy) run(pl *plan, value []float64) {
	g.free(pl, value)
	g.heap = g.heap[:0]
	for b := range g.c.bins {
		x := &g.c.bins[b]
		if pl.pods == 0 || x.gratis() || pl.room(int32(b), 1) == 0 {
			continue
		}
		f := &g.fills[b]
		g.order(x, f, value, pl.rest)
		g.refill(x, f, value, pl.rest)
		if f.ratio > 0 {
			g.heap = append(g.heap, int32(b))
		}
	}
	for i := len(g.heap)/2 - 1; i >= 0; i-- {
		g.sift(i)
	}
	for pl.pods > 0 && len(g.heap) > 0 {
		g.step(pl, value)
	}
}

// step takes the best filling, or puts it where it belongs if it is out of date.
func (g *greedy) step(pl *plan, value []float64) {
	b := g.heap[0]
	f := &g.fills[b]
	x := &g.c.bins[b]
	n := pl.room(b, math.MaxInt32)
	for j, i := range f.rows {
		n = min(n, pl.rest[i]/f.cnt[j])
	}
	if n > 0 {
		rows, cnt := g.slab.take(len(f.rows)), g.slab.take(len(f.rows))
		copy(rows, f.rows)
		copy(cnt, f.cnt)
		pl.take(pat{bin: b, copies: n, rows: rows, cnt: cnt, cost: f.cost})
		return
	}
	f.ratio = 0
	if pl.room(b, 1) > 0 {
		g.refill(x, f, value, pl.rest)
	}
	if f.ratio == 0 {
		last := len(g.heap) - 1
		g.heap[0] = g.heap[last]
		g.heap = g.heap[:last]
	}
	if len(g.heap) > 0 {
		g.sift(0)
	}
}

// free fills what costs nothing and there is only so much of. Those that hold the least come first.
func (g *greedy) free(pl *plan, value []float64) {
	for b := len(g.c.bins) - 1; b >= 0; b-- {
		x := &g.c.bins[b]
		if !x.gratis() {
			continue
		}
		f := &g.fills[b]
		g.order(x, f, value, pl.rest)
		for pl.pods > 0 && pl.room(int32(b), 1) > 0 {
			g.refill(x, f, value, pl.rest)
			if f.ratio <= 0 {
				break
			}
			n := pl.room(int32(b), math.MaxInt32)
			for j, i := range f.rows {
				n = min(n, pl.rest[i]/f.cnt[j])
			}
			pl.take(pat{bin: int32(b), copies: n, rows: slices.Clone(f.rows), cnt: slices.Clone(f.cnt), cost: f.cost})
		}
	}
}

func (g *greedy) before(a, b int32) bool {
	x, y := g.fills[a].ratio, g.fills[b].ratio
	return x > y || x == y && a < b
}

func (g *greedy) sift(i int) {
	h := g.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && g.before(h[c+1], h[c]) {
			c++
		}
		if !g.before(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// order finds the orders in which to fill a bin: the densest by the scarcest resource first, the densest by the sum of
// all resources first, the largest first.
func (g *greedy) order(b *bin, f *filling, value []float64, rest []int32) {
	var inv [16]float64
	k := min(g.c.k, len(inv))
	for r := range k {
		if b.free[r] > 0 {
			inv[r] = 1 / float64(b.free[r])
		}
	}
	for o := range f.orders {
		g.rate(b, o, inv[:k], value, rest)
		slices.SortFunc(g.keys, func(a, b keyed) int {
			switch {
			case a.key > b.key:
				return -1
			case a.key < b.key:
				return 1
			}
			return int(a.row - b.row)
		})
		if f.orders[o] == nil {
			f.orders[o] = g.slab.take(len(b.rows))
		}
		f.orders[o] = f.orders[o][:0]
		for _, x := range g.keys {
			f.orders[o] = append(f.orders[o], x.row)
		}
		g.work += int64(len(b.rows) * (k + 12))
	}
}

// rate fills in the keys of one order.
func (g *greedy) rate(b *bin, order int, inv, value []float64, rest []int32) {
	g.keys = g.keys[:0]
	for _, i := range b.rows {
		v := value[i]
		if b.pen != nil {
			v -= float64(b.pen[i])
		}
		if rest[i] == 0 || v <= 0 {
			continue
		}
		share, sum := 0.0, 0.0
		for r, f := range inv {
			x := float64(g.c.req[int(i)*g.c.k+r]) * f
			share = max(share, x)
			sum += x
		}
		key := share
		switch order {
		case 0:
			key = v / max(share, 1e-12)
		case 1:
			key = v / max(sum, 1e-12)
		}
		g.keys = append(g.keys, keyed{key, i})
	}
}

// refill finds the best filling of a bin from the pods that are left.
func (g *greedy) refill(b *bin, f *filling, value []float64, rest []int32) {
	f.ratio = 0
	if f.rows == nil {
		f.rows, f.cnt = g.slab.take(len(b.rows))[:0], g.slab.take(len(b.rows))[:0]
	}
	for o, order := range f.orders {
		if o > 0 && slices.Equal(order, f.orders[0]) {
			continue
		}
		v, pen := g.try(b, order, value, rest)
		cost := b.price + pen
		ratio := v / float64(max(1, cost))
		if ratio > f.ratio {
			f.ratio, f.cost = ratio, cost
			f.rows, f.cnt = f.rows[:0], f.cnt[:0]
			for _, i := range order {
				if q := g.load.cnt[i]; q > 0 {
					f.rows, f.cnt = append(f.rows, i), append(f.cnt, q)
				}
			}
		}
	}
	sortFilling(f.rows, f.cnt)
}

// sortFilling orders the rows of a filling, which are few.
func sortFilling(rows, cnt []int32) {
	for i := 1; i < len(rows); i++ {
		for j := i; j > 0 && rows[j-1] > rows[j]; j-- {
			rows[j-1], rows[j] = rows[j], rows[j-1]
			cnt[j-1], cnt[j] = cnt[j], cnt[j-1]
		}
	}
}

// try fills a bin in one order.
func (g *greedy) try(b *bin, order []int32, value []float64, rest []int32) (v float64, pen int64) {
	l := g.load
	l.open(b)
	for _, i := range order {
		if rest[i] == 0 {
			continue
		}
		q := l.room(i, rest[i])
		if q == 0 {
			continue
		}
		l.put(i, q)
		v += float64(float64(q) * value[i])
		if b.pen != nil {
			pen += b.pen[i] * int64(q)
		}
	}
	g.work += int64(len(order) * (g.c.k + 2))
	return v, pen
}

// shares are what a pod of each row is worth at first: the cheapest fraction of a bin that is as large as it.
func (c *core) shares() []float64 {
	out := make([]float64, c.n)
	for b := range c.bins {
		x := &c.bins[b]
		if x.gratis() {
			continue
		}
		for _, i := range x.rows {
			s := c.share(x, i)
			v := max(1, float64(float64(x.price)*s))
			if x.pen != nil {
				v += float64(x.pen[i])
			}
			if out[i] == 0 || v < out[i] {
				out[i] = v
			}
		}
		c.work += int64(len(x.rows))
	}
	// What only free bins hold is worth most there.
	most := 1.0
	for _, v := range out {
		most = max(most, v)
	}
	for i, v := range out {
		if v == 0 {
			out[i] = 10 * most
		}
	}
	return out
}

// share is the largest part of any resource of a bin that a pod takes.
func (c *core) share(b *bin, row int32) float64 {
	s := 0.0
	for r, q := range c.req[int(row)*c.k : int(row)*c.k+c.k] {
		if q > 0 {
			s = max(s, float64(q)/float64(b.free[r]))
		}
	}
	return s
}
