package optimise

import (
	"cmp"
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
	// classes are the rows of one kind with one value, those of a kind one after the other, at first[kind]; at is the class
	// of each row. They are those of value, and orders of fillings that are known are of them.
	classes []class
	first   []int32
	at      []int32
	members []int32
	value   []float64
	round   int
	// fills are by bin.
	fills []filling
	heap  []int32
	keys  [3][]keyed
	// put are the rows that a try has put in.
	put []int32
	// pairs is memory to sort a filling.
	pairs []uint64
	// wide says that among equals the pods that most bins take come first, not those that fewest take.
	wide, wasWide bool
	// stop gives up, with pods left; nil goes on to the end.
	stop func() bool
	work int64
}

// stepsPerStop is after how many steps to ask whether to stop.
const stepsPerStop = 64

// hopeless is how far the filling of an order may have been behind that of the best one for the order to be tried again.
const hopeless = 0.96

// class is rows that are equal to the search but for rules; those without pods left are taken out of rows, but not of all.
type class struct {
	value     float64
	rows, all []int32
}

type filling struct {
	// orders are classes that have pods left, in the orders in which to try to fill the bin; known are all its classes in
	// these orders, as of a round of the search.
	orders    [3][]int32
	known     [3][]int32
	round     int
	rows, cnt []int32
	// same says that an order is the first one once more.
	same [3]bool
	// last is what the filling of each order was worth per price when it was last tried.
	last [3]float64
	// ratio is value per price, cost the price with penalties.
	ratio float64
	cost  int64
}

// keyed is a class with what it is put in order by: the bits of a number that is not negative, which compare as it does.
type keyed struct {
	key   uint64
	tie   int32
	class int32
}

// compareKeyed puts the greatest number first.
func compareKeyed(a, b keyed) int {
	switch {
	case a.key > b.key:
		return -1
	case a.key < b.key:
		return 1
	}
	return int(a.tie - b.tie)
}

func newGreedy(c *core, s *slab) *greedy {
	return &greedy{
		c: c, load: newLoad(c), slab: s, fills: make([]filling, len(c.bins)),
		first: make([]int32, len(c.kinds)+1), at: make([]int32, c.n), members: make([]int32, 0, 2*c.n), value: make([]float64, 0, c.n),
	}
}

// classify makes classes of the rows that are worth something, with those that have pods left.
func (g *greedy) classify(value []float64, rest []int32) {
	if g.round == 0 || g.wide != g.wasWide || !slices.Equal(g.value, value) {
		g.value, g.wasWide = append(g.value[:0], value...), g.wide
		g.round++
		g.divide()
	}
	for i := range g.classes {
		c := &g.classes[i]
		c.rows = c.rows[:0]
		for _, j := range c.all {
			if rest[j] > 0 {
				c.rows = append(c.rows, j)
			}
		}
	}
	g.work += int64(2 * g.c.n)
}

// divide makes the classes of values.
func (g *greedy) divide() {
	g.classes, g.members = g.classes[:0], g.members[:0]
	for t, rows := range g.c.kinds {
		g.first[t] = int32(len(g.classes))
		from := len(g.members)
		same := true
		for _, i := range rows {
			if g.value[i] > 0 {
				g.members = append(g.members, i)
				same = same && g.value[i] == g.value[g.members[from]]
			}
		}
		of := g.members[from:]
		if !same {
			slices.SortStableFunc(of, func(a, b int32) int { return cmp.Compare(g.value[b], g.value[a]) })
		}
		for len(of) > 0 {
			n := 1
			for n < len(of) && g.value[of[n]] == g.value[of[0]] {
				n++
			}
			for _, i := range of[:n] {
				g.at[i] = int32(len(g.classes))
			}
			g.classes = append(g.classes, class{value: g.value[of[0]], all: of[:n:n]})
			of = of[n:]
		}
	}
	g.first[len(g.c.kinds)] = int32(len(g.classes))
	room := g.members[len(g.members):cap(g.members)]
	for i := range g.classes {
		n := len(g.classes[i].all)
		g.classes[i].rows, room = room[:0:n], room[n:]
	}
}

// take adds copies of a filling to a plan, and takes the rows that have no pods left out of their classes.
func (g *greedy) take(pl *plan, p pat) {
	pl.take(p)
	for _, i := range p.rows {
		if pl.rest[i] == 0 {
			c := &g.classes[g.at[i]]
			c.rows = slices.Delete(c.rows, slices.Index(c.rows, i), slices.Index(c.rows, i)+1)
		}
	}
}

// run packs what is left of a plan, with a value for a pod of each row.
func (g *greedy) run(pl *plan, value []float64) {
	g.free(pl, value)
	g.heap = g.heap[:0]
	for b := range g.c.bins {
		if b%stepsPerStop == 0 && g.stop != nil && g.stop() {
			return
		}
		x := &g.c.bins[b]
		if pl.pods == 0 || x.gratis() || pl.room(int32(b), 1) == 0 {
			continue
		}
		f := &g.fills[b]
		g.order(x, f)
		g.refill(x, f, pl.rest)
		if f.ratio > 0 {
			g.heap = append(g.heap, int32(b))
		}
	}
	for i := len(g.heap)/2 - 1; i >= 0; i-- {
		g.sift(i)
	}
	for n := 0; pl.pods > 0 && len(g.heap) > 0; n++ {
		if n%stepsPerStop == 0 && g.stop != nil && g.stop() {
			return
		}
		g.step(pl)
	}
}

// step takes the best filling, or puts it where it belongs if it is out of date.
func (g *greedy) step(pl *plan) {
	b := g.heap[0]
	f := &g.fills[b]
	x := &g.c.bins[b]
	n := pl.room(b, math.MaxInt32)
	for j, i := range f.rows {
		n = min(n, pl.rest[i]/f.cnt[j])
	}
	if n > 0 {
		rows, cnt := g.slab.take(len(f.rows)), g.slab.take(len(f.rows))
		g.sorted(f, rows, cnt)
		g.take(pl, pat{bin: b, copies: n, rows: rows, cnt: cnt, cost: f.cost})
		return
	}
	f.ratio = 0
	if pl.room(b, 1) > 0 {
		g.refill(x, f, pl.rest)
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
	g.classify(value, pl.rest)
	for b := len(g.c.bins) - 1; b >= 0; b-- {
		x := &g.c.bins[b]
		if !x.gratis() {
			continue
		}
		f := &g.fills[b]
		g.order(x, f)
		for pl.pods > 0 && pl.room(int32(b), 1) > 0 {
			g.refill(x, f, pl.rest)
			if f.ratio <= 0 {
				break
			}
			n := pl.room(int32(b), math.MaxInt32)
			for j, i := range f.rows {
				n = min(n, pl.rest[i]/f.cnt[j])
			}
			rows, cnt := g.slab.take(len(f.rows)), g.slab.take(len(f.rows))
			g.sorted(f, rows, cnt)
			g.take(pl, pat{bin: int32(b), copies: n, rows: rows, cnt: cnt, cost: f.cost})
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
func (g *greedy) order(b *bin, f *filling) {
	if f.round != g.round {
		f.round = g.round
		g.learn(b, f)
	}
	for o, known := range f.known {
		f.orders[o], f.last[o] = f.orders[o][:0], 0
		for _, x := range known {
			if len(g.classes[x].rows) > 0 {
				f.orders[o] = append(f.orders[o], x)
			}
		}
		f.same[o] = o > 0 && slices.Equal(f.orders[o], f.orders[0])
	}
	g.work += int64(3 * len(f.known[0]))
}

// learn puts all classes of a bin in order.
func (g *greedy) learn(b *bin, f *filling) {
	var inv [16]float64
	k := min(g.c.k, len(inv))
	for r := range k {
		if b.free[r] > 0 {
			inv[r] = 1 / float64(b.free[r])
		}
	}
	g.rate(b, inv[:k])
	for o, keys := range g.keys {
		slices.SortFunc(keys, compareKeyed)
		if cap(f.known[o]) < len(keys) {
			f.known[o], f.orders[o] = g.slab.take(len(keys)), g.slab.take(len(keys))
		}
		f.known[o] = f.known[o][:0]
		for _, x := range keys {
			f.known[o] = append(f.known[o], x.class)
		}
	}
	g.work += int64(len(b.kinds)*(k+2) + 3*12*len(g.keys[0]))
}

// rate fills in the keys of the orders.
func (g *greedy) rate(b *bin, inv []float64) {
	for o := range g.keys {
		g.keys[o] = g.keys[o][:0]
	}
	for _, t := range b.kinds {
		from, to := g.first[t], g.first[t+1]
		if from == to {
			continue
		}
		row := int(g.c.kinds[t][0])
		share, sum := 0.0, 0.0
		for r, f := range inv {
			x := float64(g.c.req[row*g.c.k+r]) * f
			share = max(share, x)
			sum += x
		}
		pen := 0.0
		if b.pen != nil {
			pen = float64(b.pen[row])
		}
		for c := from; c < to; c++ {
			v := g.classes[c].value - pen
			if v <= 0 {
				continue
			}
			g.keys[0] = append(g.keys[0], g.key(v/max(share, 1e-12), c))
			g.keys[1] = append(g.keys[1], g.key(v/max(sum, 1e-12), c))
			g.keys[2] = append(g.keys[2], g.key(share, c))
		}
	}
}

// key puts a class in order by a number and, among equals, by its place, the first one first, or the last one in a wide
// search.
func (g *greedy) key(x float64, class int32) keyed {
	tie := class
	if g.wide {
		tie = -class
	}
	return keyed{math.Float64bits(x), tie, class}
}

// refill finds the best filling of a bin from the pods that are left.
func (g *greedy) refill(b *bin, f *filling, rest []int32) {
	f.ratio = 0
	best := max(f.last[0], f.last[1], f.last[2])
	for o, order := range f.orders {
		if g.c.n > mostRows && f.last[o] < hopeless*best || f.same[o] {
			continue
		}
		v, pen := g.try(b, order, rest)
		cost := b.price + pen
		ratio := v / float64(max(1, cost))
		f.last[o] = ratio
		if ratio > f.ratio {
			f.ratio, f.cost = ratio, cost
			if cap(f.rows) < len(g.put) {
				f.rows, f.cnt = g.slab.take(2*len(g.put)), g.slab.take(2*len(g.put))
			}
			f.rows, f.cnt = f.rows[:0], f.cnt[:0]
			for _, i := range g.put {
				f.rows, f.cnt = append(f.rows, i), append(f.cnt, g.load.cnt[i])
			}
		}
	}
}

// sorted writes a filling down in the order of its rows.
func (g *greedy) sorted(f *filling, rows, cnt []int32) {
	g.pairs = g.pairs[:0]
	for x, i := range f.rows {
		g.pairs = append(g.pairs, uint64(i)<<32|uint64(f.cnt[x]))
	}
	slices.Sort(g.pairs)
	for x, p := range g.pairs {
		rows[x], cnt[x] = int32(p>>32), int32(p&math.MaxUint32)
	}
}

// try fills a bin in one order.
func (g *greedy) try(b *bin, order []int32, rest []int32) (v float64, pen int64) {
	l := g.load
	l.open(b)
	g.put = g.put[:0]
	for _, x := range order {
		c := &g.classes[x]
		if len(c.rows) == 0 {
			continue
		}
		n := l.space(c.rows[0], math.MaxInt32)
		if n == 0 {
			continue
		}
		took := int32(0)
		for _, i := range c.rows {
			if n == took {
				break
			}
			q := l.allowed(i, min(n-took, rest[i]))
			g.work++
			if q == 0 {
				continue
			}
			l.put(i, q)
			g.put = append(g.put, i)
			took += q
		}
		if took == 0 {
			continue
		}
		v += float64(float64(took) * c.value)
		if b.pen != nil {
			pen += b.pen[c.rows[0]] * int64(took)
		}
		if l.full() {
			break
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
		for _, t := range x.kinds {
			i := c.kinds[t][0]
			s := c.share(x, i)
			v := max(1, float64(float64(x.price)*s))
			if x.pen != nil {
				v += float64(x.pen[i])
			}
			if out[i] == 0 || v < out[i] {
				out[i] = v
			}
		}
		c.work += int64(len(x.kinds))
	}
	for i, t := range c.kindOf {
		out[i] = out[c.kinds[t][0]]
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
