package optimise

import (
	"cmp"
	"slices"
)

// Solve packs as many pods as fit, at the lowest cost that it finds. What it leaves fits no bin, or limits forbid it.
// Safe for concurrent use as long as nobody changes the problem.
func Solve(p *Problem) Solution {
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
	work       Work
	// bound is in micro-dollars, already rounded down.
	bound int64
	kind  Kind
}

func (s *solver) run() {
	s.best = newPlan(s.c)
	g := newGreedy(s.c, &s.slab)
	s.greedy = g
	values := s.c.shares()
	s.base = newPlan(s.c)
	g.free(s.base, values)
	s.best.set(s.base)
	g.run(s.best, values)
	s.work.Greedy = g.work
	x := newColumns(s.c, &s.slab)
	x.begin(s.base, s.best.pats)
	x.generate(0.003, 1e9, 100, func() bool { return false })
	println("rounds", x.rounds, "cols", len(x.pool), "lp", int(x.ms.value()), "lb", int(x.bound), "piv", x.ms.pivots, "mwork", x.ms.work, "pwork", x.pr.work, x.converged)
	s.work.Columns = x.work()
	s.bound, s.kind = int64(x.bound), KindFarley
	s.dive(x, s.work.Columns+1e9)
	s.work.Round = x.work() - s.work.Columns
}

// solution brings the best plan into the caller's terms.
func (s *solver) solution() Solution {
	c, pl := s.c, s.best
	pl.tidy()
	out := Solution{Left: make([]int, len(c.p.Items)), Cost: pl.cost, Work: s.work}
	d := newDealer(c)
	for _, p := range pl.pats {
		d.deal(p)
	}
	out.Patterns = d.out
	d.leave(out.Left)
	if pl.pods == 0 && s.kind != KindNone {
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
