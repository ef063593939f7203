package optimise

import (
	"cmp"
	"math"
	"slices"
)

// Solve packs as many pods as fit, at the lowest cost that it finds. What it leaves fits no bin, or limits forbid it.
// Safe for concurrent use as long as nobody changes the problem.
func Solve(p *Problem) Solution {
	if p.Worth && !p.BoundOnly {
		again := *p
		again.BoundOnly = true
		p = &again
	}
	c := compile(p)
	s := &solver{c: c}
	s.work.Compile = c.work
	s.run()
	return s.solution()
}

// solver is one run.
type solver struct {
	c    *core
	slab slab
	// base is what free bins hold, best the best plan so far.
	base, best *plan
	greedy     *greedy
	// lp is the value of the linear programme, 0 before it is known: no packing is much below it.
	lp float64
	// bound is in micro-dollars, already rounded down.
	bound int64
	kind  Kind
	gap   float64
	// worth is by row.
	worth []float64
	work  Work
	// inexact leaves out the exact method; for tests.
	inexact bool
}

func (s *solver) run() {
	s.gap = s.c.p.GapTarget
	if s.gap <= 0 {
		s.gap = defaultGap
	}
	s.best, s.base = newPlan(s.c), newPlan(s.c)
	s.greedy = newGreedy(s.c, &s.slab)
	if s.c.p.Drop {
		s.greedy.stop = s.c.p.Stop
	}
	if s.best.pods == 0 {
		s.kind = KindExact
		return
	}
	if !s.inexact && !s.c.p.Worth && s.runExact() {
		return
	}
	values := s.c.shares()
	s.greedy.free(s.base, values)
	s.best.set(s.base)
	s.greedy.run(s.best, values)
	// From here on there is an answer.
	s.greedy.stop = s.c.p.Stop
	s.startWide(values)
	if s.c.p.Work < 0 || s.stopped() {
		return
	}
	s.improve()
}

// startWide starts with the other order among equals, where there are any.
func (s *solver) startWide(value []float64) {
	if s.c.twins && !s.c.p.BoundOnly && !s.stopped() {
		s.start(value, !s.greedy.wide)
	}
}

// start packs everything greedily; what comes after goes on with the order among equals that the best start had.
func (s *solver) start(value []float64, wide bool) {
	was := s.greedy.wide
	s.greedy.wide = wide
	end := s.base.clone()
	s.greedy.run(end, value)
	if !end.better(s.best) {
		s.greedy.wide = was
	}
	s.offer(end)
}

// runExact solves the problem exactly if it is small enough.
func (s *solver) runExact() bool {
	pl := newPlan(s.c)
	e, ok := solveExact(pl, mostPairs)
	if e == nil || !ok {
		return false
	}
	defer func() { s.work.Exact = e.work }()
	if e.whole() {
		e.finish(&s.slab)
		if pl.within() {
			s.best, s.bound, s.kind = pl, pl.cost, KindExact
			return true
		}
		// Without limits nothing is cheaper, so it is a bound all the same.
		s.bound, s.kind = pl.cost, KindLP
	}
	e.pl = newPlan(s.c)
	if best := searchLimited(e, &s.slab); best != nil {
		s.best, s.bound, s.kind = best, best.cost, KindExact
		return true
	}
	return false
}

// improve leads the search by linear programming.
func (s *solver) improve() {
	budget := s.budget()
	r, worth := resourceDuals(s.c, s.base.rest, func(b int32) bool { return !s.c.bins[b].gratis() })
	if !s.c.p.BoundOnly {
		s.start(r.y, s.greedy.wide)
	}
	s.work.Columns = r.work
	x := newColumns(s.c, &s.slab)
	copy(x.center, r.y)
	x.ms.limit, x.ms.stop = budget, s.stopped
	y := r.y
	switch {
	case s.c.p.BoundOnly && s.c.n <= mostRows/2 && budget/4 >= leastRounds*s.c.roundWork():
		s.relax(x, budget/4)
	case !s.c.p.BoundOnly && s.c.n <= mostRows:
		s.relax(x, budget*6/10)
		y = slices.Clone(x.y)
	}
	s.prove(x, worth)
	s.work.Columns += x.work()
	if s.c.p.Worth {
		s.worth = x.center
	}
	if s.c.p.BoundOnly {
		return
	}
	if s.c.n <= mostRows {
		before := x.work()
		s.dive(x, budget*9/10)
		s.work.Round = x.work() - before
	}
	s.polish(y, budget/20)
	if s.c.n <= mostRows {
		s.polish(r.y, budget/20)
	}
}

// relax solves the programme, and again with the limits and stocks that its solution goes beyond.
func (s *solver) relax(x *columns, limit int64) {
	x.expect(s.best)
	x.begin(s.base, s.best.pats)
	for n := range mostScarceRounds + 1 {
		x.generate(generation{gap: s.gap, limit: limit, nodes: pricingNodes, deep: true, stop: s.stopped})
		if n == mostScarceRounds || x.work() >= limit || !x.watch(s.base) {
			break
		}
		x.begin(s.base, slices.Clone(x.pool))
	}
	if !x.lacks() {
		s.lp = x.ms.value() + float64(s.base.cost)
	}
}

// prove turns the best duals into a bound for the whole problem; worth is what the demand is worth by resources alone.
func (s *solver) prove(x *columns, worth float64) {
	value, kind := x.bound, KindFarley
	if x.rounds == 0 {
		value = worth
	}
	if x.bound <= worth {
		kind = KindResource
	} else if x.converged {
		kind = KindLP
	}
	if slices.ContainsFunc(s.c.bins, func(b bin) bool { return b.gratis() }) {
		value = x.total()
	}
	if b := int64(value * (1 - 1e-9)); b > s.bound && !math.IsNaN(value) {
		s.bound, s.kind = b, kind
	}
}

// roundWork is about what a round of column generation takes.
func (c *core) roundWork() int64 {
	const pivots = 16
	n := 0
	for b := range c.bins {
		for _, t := range c.bins[b].kinds {
			n += len(c.kinds[t])
		}
	}
	return int64(n * (c.k + 1) * pivots)
}

// enough says that the best plan is as good as asked for.
func (s *solver) enough() bool {
	return s.stopped() || s.best.pods == 0 && float64(s.best.cost) <= max(float64(s.bound), s.lp)*(1+s.gap)
}

func (s *solver) stopped() bool { return s.c.stopped() }

const (
	// defaultGap is what Problem.GapTarget means when it is 0.
	defaultGap = 0.003
	// mostRows is up to how many rows the linear programme is solved: its inverse is dense, and with more rows the work
	// that a plan is worth ends long before the programme beats the greedy search.
	mostRows = 256
	// leastRounds is how many rounds of column generation there must be work for: its bound starts low, and beats that of
	// resources late.
	leastRounds = 8
	// pricingNodes is how many nodes the branch and bound of one pricing problem may visit.
	pricingNodes = 30
	// finalPairs bounds what is left of a packing that is finished exactly; see mostPairs.
	finalPairs = 1 << 13
)

// budget is how much work there may be. By default it grows with the pods at stake, and with the size of the inverse as
// far as there are pods enough to pay for that.
func (s *solver) budget() int64 {
	if w := s.c.p.Work; w > 0 {
		return w
	}
	const most = 20_000
	pods, rows := min(int64(s.c.pods()), most), int64(s.c.n)
	return min(5_000_000+500*pods+5000*rows*rows*min(pods, most/2)/(most/2), 300_000_000)
}

// finish packs what a plan has left: exactly if that is little, else greedily.
func (s *solver) finish(pl *plan, y []float64) {
	if !s.inexact && len(s.c.most) == 0 && pl.pods > 0 && pl.pairs(finalPairs) <= finalPairs {
		e, ok := solveExact(pl, finalPairs)
		s.work.Polish += e.work
		if ok && e.whole() {
			e.finish(&s.slab)
			return
		}
	}
	s.greedy.run(pl, y)
}

// solution brings the best plan into the caller's terms.
func (s *solver) solution() Solution {
	c, pl := s.c, s.best
	s.work.Greedy = s.greedy.work
	pl.tidy()
	out := Solution{Left: make([]int, len(c.p.Items)), Cost: pl.cost, Work: s.work}
	d := newDealer(c)
	for _, p := range pl.pats {
		d.deal(p)
	}
	out.Patterns = d.out
	d.leave(out.Left)
	if c.p.Worth {
		out.Worth = make([]float64, len(c.p.Items))
		for row, v := range s.worth {
			for _, item := range c.of[row] {
				out.Worth[item] = v
			}
		}
	}
	if pl.pods == 0 && !c.stuck && s.kind != KindNone {
		out.Bound, out.BoundKind = min(s.bound, pl.cost), s.kind
	}
	slices.SortFunc(out.Patterns, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(a.Bin, b.Bin), slices.CompareFunc(a.Counts, b.Counts, func(x, y Count) int {
			return cmp.Or(cmp.Compare(x.Item, y.Item), cmp.Compare(y.Pods, x.Pods))
		}))
	})
	return out
}

// dealer hands the pods of rows out to the items that the rows were made of, in the items' order.
type dealer struct {
	c *core
	// at is, by row, the item whose turn it is, and left what is left of it.
	at   []int
	left []int
	out  []Pattern
}

func newDealer(c *core) *dealer {
	d := &dealer{c: c, at: make([]int, c.n), left: make([]int, c.n)}
	for i, of := range c.of {
		d.left[i] = c.p.Items[of[0]].Count
	}
	return d
}

// deal adds the patterns for all copies of a filling: as few as items allow.
func (d *dealer) deal(p pat) {
	for copies := int(p.copies); copies > 0; {
		n := copies
		for x, i := range p.rows {
			n = min(n, max(1, d.left[i]/int(p.cnt[x])))
		}
		pattern := Pattern{Bin: d.c.bins[p.bin].at, Copies: n, Counts: make([]Count, 0, len(p.rows))}
		for x, i := range p.rows {
			pattern.Counts = d.serve(pattern.Counts, int(i), int(p.cnt[x]), n)
		}
		slices.SortFunc(pattern.Counts, func(a, b Count) int { return cmp.Compare(a.Item, b.Item) })
		d.out = append(d.out, pattern)
		copies -= n
	}
}

// serve takes q pods of a row for each of n copies. If one item does not have them all, n is 1.
func (d *dealer) serve(counts []Count, row, q, n int) []Count {
	for q > 0 {
		got := min(q, d.left[row]/n)
		if got > 0 {
			counts = append(counts, Count{Item: int(d.c.of[row][d.at[row]]), Pods: got})
		}
		q -= got
		d.left[row] -= got * n
		if d.left[row] == 0 && d.at[row]+1 < len(d.c.of[row]) {
			d.at[row]++
			d.left[row] = d.c.p.Items[d.c.of[row][d.at[row]]].Count
		}
	}
	return counts
}

// leave says what nobody took.
func (d *dealer) leave(left []int) {
	for i, of := range d.c.of {
		left[of[d.at[i]]] = d.left[i]
		for _, item := range of[d.at[i]+1:] {
			left[item] = d.c.p.Items[item].Count
		}
	}
}
