package optimise

import (
	"math"
	"slices"
)

// columns is the linear programme over fillings for what is left of a plan, with column generation.
type columns struct {
	c    *core
	slab *slab
	ms   master
	pr   *pricer
	// rows are the rows with pods, at their places in it, -1 for the others.
	rows, at []int32
	demand   []int32
	// closed says which bins must not be used.
	closed []bool
	// pool are the columns, in the master's order.
	pool []pat
	// y are the duals by row, center those of the best bound so far, trial those that fillings are priced with.
	y, center, trial []float64
	// scarce are limits and stocks that are rows too; mu, muCenter and muTrial are their duals.
	scarce                []scarce
	mu, muCenter, muTrial []float64
	bound                 float64
	found                 []found
	rounds                int
	alpha                 float64
	converged             bool
	// deep says that bins in which few pods fit are priced exactly too, which takes longer.
	deep bool
}

// found is a filling that improves the programme, by so much per price.
type found struct {
	gain float64
	p    pat
}

func newColumns(c *core, s *slab) *columns {
	return &columns{
		c: c, slab: s, pr: newPricer(c), at: make([]int32, c.n), demand: make([]int32, c.n), closed: make([]bool, len(c.bins)),
		y: make([]float64, c.n), center: make([]float64, c.n), trial: make([]float64, c.n),
	}
}

// begin sets up the programme for what a plan has left, with those columns of old that fit it still. Rows that no open
// bin takes are left out.
func (x *columns) begin(pl *plan, old []pat) {
	x.c.detail()
	copy(x.demand, pl.rest)
	for b := range x.c.bins {
		bin := &x.c.bins[b]
		x.closed[b] = bin.gratis() || pl.room(int32(b), 1) == 0
	}
	x.rows = x.rows[:0]
	single := x.singles()
	for i := range x.c.n {
		x.at[i] = -1
		if x.demand[i] > 0 && single[i].copies > 0 {
			x.at[i] = int32(len(x.rows))
			x.rows = append(x.rows, int32(i))
		}
	}
	x.ms.reset(len(x.rows) + len(x.scarce))
	x.pool = x.pool[:0]
	for k, i := range x.rows {
		x.ms.rhs[k] = float64(x.demand[i]) + perturb(k)
		if len(x.scarce) > 0 {
			x.lack(k, single[i])
		} else {
			x.add(single[i])
		}
	}
	for k := range x.scarce {
		x.scarce[k].left = x.scarce[k].of(pl)
		x.ms.rhs[len(x.rows)+k] = -x.scarce[k].left
	}
	x.ms.diagonal(len(x.rows))
	if len(x.scarce) > 0 {
		for _, i := range x.rows {
			x.add(single[i])
		}
	}
	for _, p := range old {
		if x.proper(p) {
			x.add(p)
		}
	}
	x.pr.renew(x.demand)
	// What no filling exceeds now none exceeds later, when there are fewer pods; so the best duals of before bound what is
	// left too.
	x.bound, x.rounds, x.converged, x.deep = 0, 0, false, false
	for i, v := range x.center {
		if x.at[i] < 0 {
			x.center[i] = 0
		}
		x.bound += float64(v * float64(x.demand[i]))
	}
	for k, v := range x.muCenter {
		x.bound -= float64(v * x.scarce[k].left)
	}
	x.solve()
}

// perturb is a little more demand, different for each row, so that few columns reach 0 at once; else the simplex method
// would pivot on and on without getting anywhere.
func perturb(k int) float64 {
	return 1e-5 * (1 + float64(mix(1, uint64(k))>>11)/(1<<53))
}

// proper says that a filling is possible and has no more pods than there are.
func (x *columns) proper(p pat) bool {
	if p.bin < 0 || x.closed[p.bin] {
		return false
	}
	for k, i := range p.rows {
		if p.cnt[k] > x.demand[i] || x.at[i] < 0 {
			return false
		}
	}
	return true
}

// singles are, by row, the bins filled with pods of that row alone that are cheapest for a pod.
func (x *columns) singles() []pat {
	out := make([]pat, x.c.n)
	least := make([]float64, x.c.n)
	for b := range x.c.bins {
		bin := &x.c.bins[b]
		if x.closed[b] {
			continue
		}
		for k, i := range bin.rows {
			q := min(bin.room[k], x.demand[i])
			if q == 0 {
				continue
			}
			cost := bin.price
			if bin.pen != nil {
				cost += bin.pen[i] * int64(q)
			}
			if each := float64(cost) / float64(q); out[i].copies == 0 || each < least[i] {
				least[i] = each
				out[i].bin, out[i].copies, out[i].cost = int32(b), q, cost
			}
		}
	}
	for i := range out {
		if q := out[i].copies; q > 0 {
			out[i].rows, out[i].cnt = x.slab.take(1), x.slab.take(1)
			out[i].rows[0], out[i].cnt[0], out[i].copies = int32(i), q, 1
		}
	}
	x.pr.work += int64(len(x.c.bins) * x.c.n)
	return out
}

// add makes a filling a column.
func (x *columns) add(p pat) {
	for k, i := range p.rows {
		x.ms.entry(x.at[i], float64(p.cnt[k]))
	}
	for k := range x.scarce {
		if v := x.scarce[k].taken(&x.c.bins[p.bin], p.bin); v > 0 {
			x.ms.entry(int32(len(x.rows)+k), -v)
		}
	}
	x.ms.add(max(1, float64(p.cost)))
	x.pool = append(x.pool, p)
}

// solve solves the programme with the columns that there are.
func (x *columns) solve() {
	x.ms.primal(20*x.ms.m + 200)
	clear(x.y)
	for k, i := range x.rows {
		x.y[i] = max(0, x.ms.y[k])
	}
	for k := range x.scarce {
		x.mu[k] = max(0, x.ms.y[len(x.rows)+k])
	}
}

// work is what has been spent.
func (x *columns) work() int64 { return x.ms.work + x.pr.work }

// generation says how far column generation goes.
type generation struct {
	// gap is how near to its bound the programme must come, limit what work may be spent in all, nodes what the branch and
	// bound of one pricing problem may visit.
	gap   float64
	limit int64
	nodes int
	// deep says that bins in which few pods fit are priced exactly when nothing else helps.
	deep bool
	stop func() bool
}

// generate adds columns until the programme is within the gap of its bound, no better filling is found, or the work is
// spent.
func (x *columns) generate(g generation) {
	x.alpha = smoothing
	value, bound, since := x.ms.value(), x.bound, 0
	for x.work() < g.limit && !g.stop() {
		if x.bound >= x.ms.value()*(1-g.gap) {
			x.converged = true
			return
		}
		if since++; since == stallRounds+x.ms.m/20 {
			stalled := x.ms.value() > value*(1-stallRate) && x.bound <= bound*(1+stallRate)
			if stalled && !x.deepen(g) {
				return
			}
			value, bound, since = x.ms.value(), x.bound, 0
		}
		deep := x.deep
		if !x.round(g) {
			return
		}
		if x.deep && !deep {
			value, bound, since = x.ms.value(), x.bound, 0
		}
	}
}

// round prices fillings once and adds those found; false when that has come to its end.
func (x *columns) round(g generation) bool {
	x.rounds++
	for _, i := range x.rows {
		x.trial[i] = float64(x.alpha*x.center[i]) + float64((1-x.alpha)*x.y[i])
	}
	for k := range x.scarce {
		x.muTrial[k] = float64(x.alpha*x.muCenter[k]) + float64((1-x.alpha)*x.mu[k])
	}
	lb, steepest := x.price(g.nodes)
	if lb > x.bound {
		x.bound = lb
		for _, i := range x.rows {
			x.center[i] = x.trial[i] / steepest
		}
		for k, v := range x.muTrial {
			x.muCenter[k] = v / steepest
		}
	}
	if len(x.found) == 0 {
		if x.alpha == 0 {
			return x.deepen(g)
		}
		x.alpha = 0
		return true
	}
	for _, f := range x.found {
		x.add(f.p)
	}
	x.solve()
	x.alpha = smoothing
	return true
}

// deepen goes over to exact pricing; false if it may not, or has already.
func (x *columns) deepen(g generation) bool {
	if x.deep || !g.deep {
		return false
	}
	x.deep, x.alpha = true, smoothing
	return true
}

// smoothing is how much of the duals of the best bound goes into those that fillings are priced with (Wentges 1997).
const smoothing = 0.7

// stallRounds is after how many rounds there must be some progress.
const stallRounds = 6

// stallRate is how much of its value the programme must have gained by then.
const stallRate = 0.0004

// mostFound is how many columns a round adds, and one more for each 16 rows.
const mostFound = 8

// price looks for fillings that improve the programme, in found, and returns the bound that the trial duals give.
func (x *columns) price(nodes int) (bound, steep float64) {
	x.found = x.found[:0]
	steepest := 0.0
	for b := range x.c.bins {
		bin := &x.c.bins[b]
		if x.closed[b] || len(bin.rows) == 0 {
			continue
		}
		if x.deep && x.ms.stop() {
			x.found = x.found[:0]
			return 0, 1
		}
		steepest = max(steepest, slope(x.priceBin(int32(b), nodes), bin.price))
	}
	slices.SortFunc(x.found, func(a, b found) int {
		switch {
		case a.gain > b.gain:
			return -1
		case a.gain < b.gain:
			return 1
		}
		return int(a.p.bin - b.p.bin)
	})
	if most := mostFound + x.ms.m/16; len(x.found) > most {
		x.found = x.found[:most]
	}
	sum := 0.0
	for _, i := range x.rows {
		sum += float64(x.trial[i] * float64(x.demand[i]))
	}
	for k, v := range x.muTrial {
		sum -= float64(v * x.scarce[k].left)
	}
	steepest = max(1, steepest)
	return sum / steepest, steepest
}

// total is what the best duals bound all pods of the problem by, bins that cost nothing included.
func (x *columns) total() float64 {
	x.c.detail()
	copy(x.demand, x.c.count)
	x.pr.renew(x.demand)
	sum, steepest, free := 0.0, 1.0, 0.0
	for i, v := range x.center {
		sum += float64(v * float64(x.demand[i]))
	}
	all := newPlan(x.c)
	for k, v := range x.muCenter {
		sum -= float64(v * x.scarce[k].of(all))
	}
	for b := range x.c.bins {
		bin := &x.c.bins[b]
		if len(bin.rows) == 0 {
			continue
		}
		kn := x.pr.knap(b)
		v := x.pr.values(bin, x.center)
		x.pr.relax(kn, v)
		upper := x.pr.upper(kn, v)
		if bin.gratis() {
			free += float64(upper * float64(bin.copies))
			x.pr.drop(b)
			continue
		}
		steepest = max(steepest, slope(upper-x.toll(int32(b), x.muCenter), bin.price))
	}
	return max(0, sum/steepest-free)
}

// slope is worth per price.
func slope(worth float64, price int64) float64 {
	switch {
	case worth <= 0:
		return 0
	case price == 0:
		return math.Inf(1)
	}
	return worth / float64(price)
}

// priceBin looks for one filling and returns what no filling of the bin is worth more than, less the toll for what of it is
// scarce.
func (x *columns) priceBin(b int32, nodes int) float64 {
	kn := x.pr.knap(int(b))
	v := x.pr.values(kn.b, x.trial)
	toll := x.toll(b, x.muTrial)
	price := float64(kn.b.price) + toll
	if !kn.fresh {
		if u := x.pr.upper(kn, v); u <= price {
			return u - toll
		}
	}
	x.pr.relax(kn, v)
	upper := x.pr.upper(kn, v)
	if upper <= price*(1+1e-9) {
		return upper - toll
	}
	worth, exact := x.pr.fill(kn, v, upper, nodes)
	if exact {
		upper = min(upper, worth+float64(1e-8*(price+1)))
	}
	top := x.pr.search.top
	if x.deep && !exact {
		if u, ok := x.pr.table(kn, v); ok {
			upper = min(upper, u)
			if worthOf(v, x.pr.grid.cnt) > worth {
				top = x.pr.grid.cnt
			}
		}
	}
	x.find(kn, b, top)
	return upper - toll
}

// find keeps a filling by place in rows, if it improves the programme.
func (x *columns) find(kn *knap, b int32, top []int32) {
	gain, cost := -x.toll(b, x.mu), kn.b.price
	n := 0
	for k, q := range top {
		if q > 0 {
			n++
			i := kn.b.rows[k]
			gain += float64(float64(q) * x.y[i])
			if kn.b.pen != nil {
				cost += kn.b.pen[i] * int64(q)
			}
		}
	}
	gain = (gain - float64(cost)) / max(1, float64(cost))
	if gain <= 1e-6 || n == 0 {
		return
	}
	rows, cnt := x.slab.take(n), x.slab.take(n)
	n = 0
	for k, q := range top {
		if q > 0 {
			rows[n], cnt[n] = kn.b.rows[k], q
			n++
		}
	}
	x.found = append(x.found, found{gain: gain, p: pat{bin: b, copies: 1, rows: rows, cnt: cnt, cost: cost}})
}
