package optimise

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/pricing"
)

// offer keeps a plan if it is the best so far.
func (s *solver) offer(pl *compact.Plan) {
	if pl.Better(s.best) {
		s.best.Set(pl)
	}
}

// origin is where dives begin: a plan, and the programme for what it has left. whole says that the plan has bought what
// the whole problem's solution has whole copies of.
type origin struct {
	plan  *compact.Plan
	root  pricing.Root
	whole bool
}

// dives rounds the programme's solution in several ways, from one of them on, as long as there is work for that and the
// best plan is not as good as asked for. It returns the next way.
func (s *solver) dives(x *pricing.Columns, from *origin, way int, limit int64) int {
	for ; way == 0 || way < mostDives && !s.enough() && x.Work() < limit; way++ {
		if way > 0 {
			x.Return(from.plan, &from.root)
		}
		s.dive(x, from, limit, way)
	}
	return way
}

// dive rounds the programme's solution: it buys what the solution has whole copies of, or else some of what it has most
// of, solves the programme again for what is left, and so on. At each step the greedy search, led by the duals, finishes
// the packing; the best of these packings counts. What the first dive buys before it comes to parts of copies, others
// would buy too: they start there.
func (s *solver) dive(x *pricing.Columns, from *origin, limit int64, way int) {
	pl, end, same := from.plan.Clone(), s.base.Clone(), way == 0
	var old []compact.Filling
	for first := !from.whole; len(x.Rows) > 0; first = false {
		cost := pl.Cost
		whole := s.buyWhole(x, pl)
		if whole && first && way == 0 {
			end.Set(pl)
			s.buyMost(x, end)
			s.finish(end, x.Duals)
			s.offer(end)
		}
		bought := whole
		few := wholeShare*float64(pl.Cost-cost) < x.Program.Value()
		if !whole || !first && (way > 0 || few && (s.simpler || !s.closer)) {
			bought, same = s.buyPart(x, pl, way) || whole, false
		}
		end.Set(pl)
		s.finish(end, x.Duals)
		s.offer(end)
		left := s.lp - float64(pl.Cost)
		if !bought || x.Work() >= limit || pl.Pods == 0 || s.stopped() || s.enough() && tailShare*left > s.lp {
			return
		}
		old = append(old[:0], x.Pool...)
		x.Begin(pl, old)
		// What is left is little of the whole, so it may be a little further from its optimum, but not by all that it is
		// less: what each step loses adds up. Half of the work is for what is left then.
		gap := s.gap / 2 * math.Sqrt(s.lp/max(1, left))
		x.Generate(pricing.Effort{Gap: gap, Limit: x.Work() + (limit-x.Work())/2, Stop: s.stopped})
		if same && first {
			*from = origin{pl.Clone(), x.Root(), true}
		}
		if pl.Pods == 0 && float64(pl.Cost)+x.Bound >= float64(s.best.Cost) {
			return
		}
	}
}

// buyWhole buys the whole copies of each column in the solution.
func (s *solver) buyWhole(x *pricing.Columns, pl *compact.Plan) bool {
	taken := false
	for k, j := range x.Program.Basis {
		if j < 0 || x.Pool[j].Bin < 0 {
			continue
		}
		if n := int32(x.Program.X[k] + 1e-5); n > 0 {
			taken = s.buy(pl, x.Pool[j], n) || taken
		}
	}
	return taken
}

// buy takes up to n copies of a filling, as many as pods and limits allow.
func (s *solver) buy(pl *compact.Plan, p compact.Filling, n int32) bool {
	n = pl.Remaining(p.Bin, n)
	for k, i := range p.Rows {
		n = min(n, pl.Rest[i]/p.Counts[k])
	}
	if n <= 0 {
		return false
	}
	p.Copies = n
	pl.Take(p)
	return true
}

// buyMost buys one more copy of the columns of which the solution has more than mostPart beside whole ones, those first
// of which it has most.
func (s *solver) buyMost(x *pricing.Columns, pl *compact.Plan) {
	const mostPart = 0.3
	parts := make([]float64, len(x.Pool))
	var order []int32
	for k, j := range x.Program.Basis {
		if j < 0 || x.Pool[j].Bin < 0 {
			continue
		}
		if v := x.Program.X[k]; v-math.Floor(v+1e-5) > mostPart {
			parts[j] = v - math.Floor(v+1e-5)
			order = append(order, j)
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(parts[b], parts[a]), cmp.Compare(a, b)) })
	for _, j := range order {
		s.buy(pl, x.Pool[j], 1)
	}
}

// tailShare is what part of all, 1 of so many, must be left at most for a dive to go on although the best plan is as good
// as asked for: its last steps take little time, and are worth as much as all other dives.
const tailShare = 4

// wholeShare is what part of the solution, 1 of so many, whole copies must be for no others to be bought with them:
// solving the programme again takes long.
const wholeShare = 5

// buyPart buys one copy of the columns that the solution has most of; in all ways but the first, chance makes more of
// some of them.
func (s *solver) buyPart(x *pricing.Columns, pl *compact.Plan, way int) bool {
	type part struct {
		share float64
		j     int32
	}
	var parts []part
	value := 0.0
	for k, j := range x.Program.Basis {
		if v := x.Program.X[k] - math.Floor(x.Program.X[k]+1e-5); j >= 0 && x.Pool[j].Bin >= 0 && v > 1e-4 {
			chance := float64(compact.Mix(uint64(way), uint64(len(x.Rows)*len(x.Pool)+k))>>11) / (1 << 53)
			parts = append(parts, part{v * (1 + float64(float64(way)*chance)), j})
			value += float64(v * x.Program.Cost[j])
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		switch {
		case a.share > b.share:
			return -1
		case a.share < b.share:
			return 1
		}
		return int(a.j - b.j)
	})
	spent := 0.0
	for _, p := range parts {
		if spent > 0 && (spent > 2*value/5 || p.share < 0.2) {
			break
		}
		if s.buy(pl, x.Pool[p.j], 1) {
			spent += x.Program.Cost[p.j]
		}
	}
	return spent > 0
}
