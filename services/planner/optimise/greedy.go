package optimise

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// greedy packs by price per value: again and again the bin whose filling costs least for what it is worth, as often as
// the pods left allow. Fillings only get worse while pods go away, so a bin is filled anew only when it comes to the top
// of the heap with a filling that the pods left no longer make.
type greedy struct {
	c    *compact.Problem
	open *compact.OpenBin
	slab *compact.Slab
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
	// place and known are memory to sort keys.
	place []int32
	known []keyed
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

// retryAbove is how far the filling of an order may have been behind that of the best one for the order to be tried again.
const retryAbove = 0.96

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

func newGreedy(c *compact.Problem, s *compact.Slab) *greedy {
	return &greedy{
		c: c, open: compact.NewOpenBin(c), slab: s, fills: make([]filling, len(c.Bins)),
		first: make([]int32, len(c.Kinds)+1), at: make([]int32, c.NumRows), members: make([]int32, 0, 2*c.NumRows), value: make([]float64, 0, c.NumRows),
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
	g.work += int64(2 * g.c.NumRows)
}

// divide makes the classes of values.
func (g *greedy) divide() {
	g.classes, g.members = g.classes[:0], g.members[:0]
	for t, rows := range g.c.Kinds {
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
	g.first[len(g.c.Kinds)] = int32(len(g.classes))
	rows := g.members[len(g.members):cap(g.members)]
	for i := range g.classes {
		n := len(g.classes[i].all)
		g.classes[i].rows, rows = rows[:0:n], rows[n:]
	}
}

// take adds copies of a filling to a plan, and takes the rows that have no pods left out of their classes.
func (g *greedy) take(pl *compact.Plan, p compact.Filling) {
	pl.Take(p)
	for _, i := range p.Rows {
		if pl.Rest[i] == 0 {
			c := &g.classes[g.at[i]]
			c.rows = slices.Delete(c.rows, slices.Index(c.rows, i), slices.Index(c.rows, i)+1)
		}
	}
}

// run packs what is left of a plan, with a value for a pod of each row.
func (g *greedy) run(pl *compact.Plan, value []float64) {
	g.free(pl, value)
	g.heap = g.heap[:0]
	for b := range g.c.Bins {
		if b%stepsPerStop == 0 && g.stop != nil && g.stop() {
			return
		}
		x := &g.c.Bins[b]
		if pl.Pods == 0 || x.Existing() || pl.Remaining(int32(b), 1) == 0 {
			continue
		}
		f := &g.fills[b]
		g.order(x, f)
		g.refill(x, f, pl.Rest)
		if f.ratio > 0 {
			g.heap = append(g.heap, int32(b))
		}
	}
	for i := len(g.heap)/2 - 1; i >= 0; i-- {
		g.sift(i)
	}
	for n := 0; pl.Pods > 0 && len(g.heap) > 0; n++ {
		if n%stepsPerStop == 0 && g.stop != nil && g.stop() {
			return
		}
		g.step(pl)
	}
}

// step takes the best filling, or puts it where it belongs if it is out of date.
func (g *greedy) step(pl *compact.Plan) {
	b := g.heap[0]
	f := &g.fills[b]
	x := &g.c.Bins[b]
	n := pl.Remaining(b, math.MaxInt32)
	for j, i := range f.rows {
		n = min(n, pl.Rest[i]/f.cnt[j])
	}
	if n > 0 {
		rows, cnt := g.slab.Take(len(f.rows)), g.slab.Take(len(f.rows))
		g.sorted(f, rows, cnt)
		g.take(pl, compact.Filling{Bin: b, Copies: n, Rows: rows, Counts: cnt, Cost: f.cost})
		return
	}
	f.ratio = 0
	if pl.Remaining(b, 1) > 0 {
		g.refill(x, f, pl.Rest)
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
func (g *greedy) free(pl *compact.Plan, value []float64) {
	g.classify(value, pl.Rest)
	for b := len(g.c.Bins) - 1; b >= 0; b-- {
		x := &g.c.Bins[b]
		if !x.Existing() {
			continue
		}
		f := &g.fills[b]
		g.order(x, f)
		for pl.Pods > 0 && pl.Remaining(int32(b), 1) > 0 {
			g.refill(x, f, pl.Rest)
			if f.ratio <= 0 {
				break
			}
			n := pl.Remaining(int32(b), math.MaxInt32)
			for j, i := range f.rows {
				n = min(n, pl.Rest[i]/f.cnt[j])
			}
			rows, cnt := g.slab.Take(len(f.rows)), g.slab.Take(len(f.rows))
			g.sorted(f, rows, cnt)
			g.take(pl, compact.Filling{Bin: int32(b), Copies: n, Rows: rows, Counts: cnt, Cost: f.cost})
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
func (g *greedy) order(b *compact.Bin, f *filling) {
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
func (g *greedy) learn(b *compact.Bin, f *filling) {
	var inv [16]float64
	k := min(g.c.NumResources, len(inv))
	for r := range k {
		if b.Free[r] > 0 {
			inv[r] = 1 / float64(b.Free[r])
		}
	}
	g.rate(b, inv[:k])
	for o, keys := range g.keys {
		g.sort(keys, f.known[o])
		if cap(f.known[o]) < len(keys) {
			f.known[o], f.orders[o] = g.slab.Take(len(keys)), g.slab.Take(len(keys))
		}
		f.known[o] = f.known[o][:0]
		for _, x := range keys {
			f.known[o] = append(f.known[o], x.class)
		}
	}
	g.work += int64(len(b.Kinds)*(k+2) + 3*12*len(g.keys[0]))
}

// sort puts keys in order, beginning with the order of before: what pods are worth changes little from one run to the
// next, and so does their order.
func (g *greedy) sort(keys []keyed, before []int32) {
	const mostMoves = 8 // for each key; of keys in no order pdqsort makes fewer
	if len(keys) == len(before) {
		g.place = slices.Grow(g.place[:0], len(g.classes))[:len(g.classes)]
		for n, k := range keys {
			g.place[k.class] = int32(n)
		}
		g.known = g.known[:0]
		for _, x := range before {
			if int(x) < len(g.place) && int(g.place[x]) < len(keys) && keys[g.place[x]].class == x {
				g.known = append(g.known, keys[g.place[x]])
			}
		}
		if len(g.known) == len(keys) {
			copy(keys, g.known)
		}
	}
	moves := mostMoves * len(keys)
	for n := 1; n < len(keys) && moves > 0; n++ {
		k, at := keys[n], n
		for ; at > 0 && compareKeyed(k, keys[at-1]) < 0; at-- {
			keys[at] = keys[at-1]
		}
		keys[at] = k
		moves -= n - at
	}
	if moves <= 0 {
		slices.SortFunc(keys, compareKeyed)
	}
}

// rate fills in the keys of the orders.
func (g *greedy) rate(b *compact.Bin, inv []float64) {
	for o := range g.keys {
		g.keys[o] = g.keys[o][:0]
	}
	for _, t := range b.Kinds {
		from, to := g.first[t], g.first[t+1]
		if from == to {
			continue
		}
		row := int(g.c.Kinds[t][0])
		share, sum := 0.0, 0.0
		for r, f := range inv {
			x := float64(g.c.Request[row*g.c.NumResources+r]) * f
			share = max(share, x)
			sum += x
		}
		pen := 0.0
		if b.Penalties != nil {
			pen = float64(b.Penalties[row])
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
func (g *greedy) refill(b *compact.Bin, f *filling, rest []int32) {
	f.ratio = 0
	best := max(f.last[0], f.last[1], f.last[2])
	for o, order := range f.orders {
		if g.c.NumRows > maxRows && f.last[o] < retryAbove*best || f.same[o] {
			continue
		}
		v, pen := g.try(b, order, rest)
		cost := b.Price + pen
		ratio := v / float64(max(1, cost))
		f.last[o] = ratio
		if ratio > f.ratio {
			f.ratio, f.cost = ratio, cost
			if cap(f.rows) < len(g.put) {
				f.rows, f.cnt = g.slab.Take(2*len(g.put)), g.slab.Take(2*len(g.put))
			}
			f.rows, f.cnt = f.rows[:0], f.cnt[:0]
			for _, i := range g.put {
				f.rows, f.cnt = append(f.rows, i), append(f.cnt, g.open.Counts[i])
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
func (g *greedy) try(b *compact.Bin, order []int32, rest []int32) (v float64, pen int64) {
	l := g.open
	l.Open(b)
	g.put = g.put[:0]
	for _, x := range order {
		c := &g.classes[x]
		if len(c.rows) == 0 {
			continue
		}
		most := int32(math.MaxInt32)
		if len(c.rows) == 1 {
			most = rest[c.rows[0]]
		}
		n := l.ResourceCapacity(c.rows[0], most)
		if n == 0 {
			continue
		}
		took := int32(0)
		for _, i := range c.rows {
			if n == took {
				break
			}
			q := l.RuleCapacity(i, min(n-took, rest[i]))
			g.work++
			if q == 0 {
				continue
			}
			l.Put(i, q)
			g.put = append(g.put, i)
			took += q
		}
		if took == 0 {
			continue
		}
		v += float64(float64(took) * c.value)
		if b.Penalties != nil {
			pen += b.Penalties[c.rows[0]] * int64(took)
		}
		if l.Full() {
			break
		}
	}
	g.work += int64(len(order) * (g.c.NumResources + 2))
	return v, pen
}
