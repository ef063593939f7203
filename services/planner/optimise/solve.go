package optimise

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/exact"
	"github.com/kerf-dev/kerf/services/planner/optimise/parts"
	"github.com/kerf-dev/kerf/services/planner/optimise/pricing"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/settle"
)

// Solve packs as many pods as fit, at the lowest cost that it finds. What it leaves fits no bin, or limits forbid it.
// Safe for concurrent use as long as the problem is not changed.
func Solve(p *problem.Problem) Solution {
	if some := parts.Of(p); some != nil {
		return solveParts(p, some)
	}
	return solveOne(p, 0, 0)
}

// solveOne solves a problem as a whole, of which there are so many others; pods is how many all of them have, where
// there are others.
func solveOne(p *problem.Problem, others, pods int) Solution {
	if p.Worth && !p.BoundOnly {
		again := *p
		again.BoundOnly = true
		p = &again
	}
	c := compact.Compile(p)
	s := &solver{c: c, others: int64(others), pods: pods}
	s.work.Compile = c.Work
	s.run()
	return s.solution()
}

// solver is one run.
type solver struct {
	c    *compact.Problem
	slab compact.Slab
	// others is how many problems there are that share work with this one, pods how many pods all of them have; both 0
	// where there are none.
	others int64
	pods   int
	// base is what free bins hold, best the best plan so far.
	base, best *compact.Plan
	greedy     *greedy
	// lp is the value of the linear programme, 0 before it is known: no packing is much below it.
	lp float64
	// bound is in micro-dollars, already rounded down.
	bound int64
	kind  Kind
	gap   float64
	// closer says that the last per cent is looked for, of the plan and of its bound.
	closer bool
	// simpler says that it is a simpler problem that is solved, in the place of one with too many rows.
	simpler bool
	// worth is by row; so is initial, what pods are worth before anything is known, and duals, what they are worth to
	// the programme, nil where it was not solved.
	worth, initial, duals []float64
	// proven is what pods are worth in the bound of a simpler problem, from which the whole one's can go on; nil where
	// that is not worth its work.
	proven []float64
	// atBest is what pods are worth at the best bound of the programme.
	atBest []float64

	work Work
	// inexact leaves out the exact method; for tests.
	inexact bool
}

func (s *solver) run() {
	unknown := s.c.Source.BoundOnly && s.others > 0 // what the known plan pays for this part: settling would go up to what the greedy one does
	s.gap, s.closer = max(s.c.Source.GapTarget, leastGap), !s.c.Source.Worth && !s.c.Source.Tried && !unknown && settle.Suits(s.c)
	s.best, s.base = compact.NewPlan(s.c), compact.NewPlan(s.c)
	s.greedy = newGreedy(s.c, &s.slab)
	if s.c.Source.Drop {
		s.greedy.stop = s.c.Source.Stop
	}
	if s.best.Pods == 0 {
		s.kind = KindExact
		return
	}
	if !s.inexact && !s.c.Source.Worth && s.runExact() {
		return
	}
	s.initial = s.c.InitialWorth()
	s.greedy.free(s.base, s.initial)
	s.best.Set(s.base)
	s.greedy.run(s.best, s.initial)
	// From here on there is an answer.
	s.greedy.stop = s.c.Source.Stop
	s.startWide(s.initial)
	if s.c.Source.Work < 0 || s.stopped() {
		return
	}
	s.improve()
}

// startWide starts with the other order among equals, where there are any.
func (s *solver) startWide(value []float64) {
	if s.c.Ties && !s.c.Source.BoundOnly && !s.stopped() {
		s.start(value, !s.greedy.wide)
	}
}

// start packs everything greedily; what comes after goes on with the order among equals that the best start had.
func (s *solver) start(value []float64, wide bool) {
	was := s.greedy.wide
	s.greedy.wide = wide
	end := s.base.Clone()
	s.greedy.run(end, value)
	if !end.Better(s.best) {
		s.greedy.wide = was
	}
	s.offer(end)
}

// runExact solves the problem exactly if it is small enough.
func (s *solver) runExact() bool {
	pl := compact.NewPlan(s.c)
	e, ok := exact.Solve(pl, exact.MostSplits)
	if e == nil || !ok {
		return false
	}
	defer func() { s.work.Exact = e.Work }()
	if e.Whole() {
		e.Finish(&s.slab)
		if pl.WithinLimits() {
			s.best, s.bound, s.kind = pl, pl.Cost, KindExact
			return true
		}
		// Without limits nothing is cheaper, so it is a bound all the same.
		s.bound, s.kind = pl.Cost, KindLP
	}
	if best := e.WithinLimits(&s.slab); best != nil {
		s.best, s.bound, s.kind = best, best.Cost, KindExact
		return true
	}
	return false
}

// improve leads the search by linear programming.
func (s *solver) improve() {
	budget, few := s.budget(), s.fewOfEach()
	if few && s.c.NumRows > boundRows {
		budget /= 2 // the other half is for means
	}
	r, worth := compact.PriceResources(s.c, s.base.Rest, func(b int32) bool { return !s.c.Bins[b].Existing() })
	if !s.c.Source.BoundOnly {
		s.start(r.Worth, s.greedy.wide)
	}
	s.work.Columns = r.Work
	rows, work := maxRows, budget
	if s.c.Source.BoundOnly {
		if rows = boundRows; s.c.Source.Work == 0 {
			work = min(budget, boundWork)
		}
	}
	tooMany := s.c.NumRows > rows && !s.simpler
	if tooMany && !s.c.Source.Worth && !s.c.Source.Tried && !s.stopped() {
		s.packAsSimpler(work)
	}
	tooMany = tooMany && s.proven == nil
	x := pricing.NewColumns(s.c, &s.slab)
	copy(x.BestDuals, r.Worth)
	copy(x.BestDuals, s.proven)
	x.Program.WorkLimit, x.Program.Stop = budget, s.stopped
	y := r.Worth
	switch {
	case tooMany:
	case s.c.Source.Worth && budget/4 >= leastRounds*s.c.RoundWork():
		s.relax(x, pricing.Effort{Limit: budget / 4, Depth: 1})
	case s.c.Source.Worth:
	case s.c.Source.BoundOnly && 2*budget >= leastRounds/2*s.c.RoundWork():
		x.Program.WorkLimit = 2 * budget
		some := s.correct(r.Worth, budget/correctShare)
		s.relax(x, pricing.Effort{Limit: 2 * budget, Depth: 3, Slack: s.gap / 2, Near: some != nil}, some...)
	case !s.c.Source.BoundOnly:
		s.relax(x, pricing.Effort{Limit: budget * 6 / 10, Depth: 2}, s.correct(r.Worth, budget/correctShare)...)
		s.relaxLonger(x, budget)
		y = slices.Clone(x.Duals)
		s.duals = y
	}
	s.prove(x, worth)
	byResource := s.kind == KindResource
	s.atBest = slices.Clone(x.BestDuals)
	fleets := countFirst(s, budget)
	s.work.Columns += x.Work()
	if s.c.Source.Worth {
		s.worth = x.BestDuals
	}
	if s.simpler && s.c.Source.BoundOnly && !x.Tolls() {
		s.proven = slices.Clone(x.BestDuals) // settling goes on with those of halves
	}
	var t *settle.Search
	if s.closer && !s.enough() && s.best.Pods == 0 {
		t = settle.New(s.c, x.BestDuals, settle.Gap{Bound: s.bound, Cost: s.aim()})
	}
	root := settle.RootOf(x)
	if few {
		s.packByMeans(budget)
	}
	if !s.c.Source.BoundOnly && (!few || !byResource || s.c.NumRows <= boundRows) {
		s.round(x, y, r.Worth, budget)
	}
	if !s.c.Source.BoundOnly {
		s.packFleets(fleets, y, budget)
	}
	if t != nil {
		s.settle(t, root, budget)
	}
}

// fewOfEach says that a plan is asked for, without rules, of many rows with so few pods each that the programme's
// solution is of little use: it is all parts of fillings, and its duals take long to become more than resource weights.
func (s *solver) fewOfEach() bool {
	p, n, each := s.c.Source, s.c.NumRows, meansPods
	if n > boundRows {
		each = meansMostPods
	}
	return n > meansRows && n <= maxRows && s.c.Pods() < each*n && len(s.c.Rules) == 0 && s.best.Pods == 0 && !s.simpler && !p.BoundOnly && !p.Worth && !p.Tried
}

// settle looks for the last per cent: for a better plan where pods are few, and for a bound where one is asked for.
func (s *solver) settle(t *settle.Search, root settle.Root, budget int64) {
	byCovers := budget
	switch {
	case !settle.Few(s.c):
	case s.c.Source.BoundOnly:
		byCovers = 4 * budget
	default:
		byCovers = budget / 2
	}
	if t.Cost = s.aim(); s.enough() {
		s.learn(t)
		return
	}
	t.ByCovers(byCovers)
	s.learn(t)
	if t.Cost = s.aim(); !s.c.Source.Loose && !s.enough() {
		work := countShare * budget
		if s.c.NumRows > countRows {
			work = budget
		}
		if !s.c.Source.BoundOnly && t.Wide() > 1 {
			work *= countMore
		}
		t.ByCounts(s.base, root, work)
		s.learn(t)
	}
}

// aim is what the best plan costs that is known.
func (s *solver) aim() int64 {
	if k := s.c.Source.Known; k > 0 {
		return min(k, s.best.Cost)
	}
	return s.best.Cost
}

// learn takes over what a search has found and proven.
func (s *solver) learn(t *settle.Search) {
	s.work.Settle = t.Work
	if t.Found != nil {
		pl := compact.NewPlan(s.c)
		for _, f := range t.Found {
			pl.Take(f)
		}
		s.offer(pl)
	}
	if t.Bound > s.bound {
		s.bound, s.kind = t.Bound, KindLP
	}
	if s.bound >= s.best.Cost {
		s.kind = KindExact
	}
}

// round makes the programme's solution a plan, and polishes it.
func (s *solver) round(x *pricing.Columns, y, byResource []float64, budget int64) {
	if s.c.NumRows > maxRows && !s.simpler {
		s.polish(y, budget/20)
		return
	}
	from, way, before := &origin{plan: s.base, root: x.Root()}, 0, x.Work()
	limit := max(budget*9/10, before+budget/5)
	for late := false; ; late = true {
		x.Program.WorkLimit = max(budget, limit)
		way = s.dives(x, from, way, limit)
		s.polish(y, budget/20)
		s.polish(byResource, budget/20)
		if !late && s.far() && manyPods(s) {
			s.packFleets(s.countFleets(budget), y, budget)
		}
		far := s.far()
		if late || !s.closer && !far || s.enough() {
			break
		}
		if limit = diveShare * budget; far {
			limit = lateDiveShare * budget
		}
	}
	s.work.Round = x.Work() - before
}

// relax solves the programme, and again with the limits and stocks that its solution goes beyond.
// Its columns begin with those of the best plan, and some others.
func (s *solver) relax(x *pricing.Columns, g pricing.Effort, others ...compact.Filling) {
	g.Gap, g.Stop = s.gap/lpShare, s.stopped
	x.AddUsedUpLimits(s.best)
	x.Begin(s.base, append(others, s.best.Fillings...))
	for n := range pricing.MaxLimitRounds + 1 {
		x.Generate(g)
		if n == pricing.MaxLimitRounds || x.Work() >= g.Limit || !x.AddExceededLimits(s.base) {
			break
		}
		x.Begin(s.base, slices.Clone(x.Pool))
	}
	s.value(x)
}

// relaxLonger goes on where the programme is further from its bound than a plan is to be, until it is well within that.
func (s *solver) relaxLonger(x *pricing.Columns, budget int64) {
	if !s.longer() || x.Converged(s.gap) {
		return
	}
	x.Program.WorkLimit = lateRelaxShare * budget
	x.Generate(pricing.Effort{Gap: 2 * s.gap / lpShare, Limit: x.Program.WorkLimit, Depth: 2, Stop: s.stopped})
	s.value(x)
}

// value is what the programme costs, if it leaves no pods.
func (s *solver) value(x *pricing.Columns) {
	if !x.LeavesPods() {
		s.lp = x.Program.Value() + float64(s.base.Cost)
	}
}

// hasFree says that there are bins that cost nothing.
func (s *solver) hasFree() bool {
	return slices.ContainsFunc(s.c.Bins, func(b compact.Bin) bool { return b.Existing() })
}

// prove turns the best duals into a bound for the whole problem; worth is what the demand is worth by resources alone.
func (s *solver) prove(x *pricing.Columns, worth float64) {
	value, kind := x.Bound, KindFarley
	if x.Rounds == 0 {
		value = worth
	}
	if x.Bound <= worth {
		kind = KindResource
	} else if x.Converged(s.gap) {
		kind = KindLP
	}
	if s.hasFree() {
		value = x.TotalBound()
	}
	if b := int64(value * (1 - 1e-9)); b > s.bound && !math.IsNaN(value) {
		s.bound, s.kind = b, kind
	}
}

// enough says that the best plan is as good as asked for: near enough to its bound, or to the programme, whose bound
// ends a little below it.
func (s *solver) enough() bool {
	lp := s.lp
	switch {
	case s.c.Source.BoundOnly:
		lp = 0
	case s.closer:
		lp *= 1 - s.gap/proofShare
	case s.far():
		lp *= 1 - s.gap/lateProofShare
	}
	return s.stopped() || s.best.Pods == 0 && float64(s.aim()) <= max(float64(s.bound), lp)*(1+s.gap)
}

// longer says that work may go beyond the budget, which is not given: a plan is asked for, which is to be carried out.
func (s *solver) longer() bool {
	p := s.c.Source
	return p.Work == 0 && !p.Tried && !p.Loose && !p.Worth && !p.BoundOnly && !s.simpler && s.best.Pods == 0
}

// far says that the best plan is so far from its bound that more work may be spent on it.
func (s *solver) far() bool { return s.longer() && s.wide() }

// wide says that between the best plan that is known and its bound is more than a plan is to be above it.
func (s *solver) wide() bool { return float64(s.aim()) > float64(s.bound)*(1+farGap) }

func (s *solver) stopped() bool { return s.c.Stopped() }

const (
	// leastGap is the least gap that sums of floating-point numbers can show to be closed.
	leastGap = 1e-12
	// maxRows is up to how many rows the linear programme is solved: its inverse is dense, and with more rows the work
	// that a plan is worth ends long before the programme beats the greedy search.
	maxRows = 256
	// lpShare is how much nearer than the plan the programme must come to its bound: what is between them is lost to both.
	lpShare = 3
	// proofShare is what part of the gap is left for what is between the programme and its bound in the end, 1 of so many.
	proofShare = 8
	// leastRounds is how many rounds of column generation there must be work for: its bound starts low, and beats that of
	// resources late.
	leastRounds = 8
	// mostDives is how often the programme's solution is rounded, each time another way.
	mostDives = 6
	// diveShare is how much work dives may take, in budgets, where the last per cent is looked for; 9 of 10 budgets
	// elsewhere.
	diveShare = 2
	// A plan that is more than farGap above its bound has more work than the budget: the programme up to lateRelaxShare
	// budgets in all, dives up to lateDiveShare, and of the gap 1/lateProofShare is left for what is between the programme
	// and its bound.
	farGap, lateRelaxShare, lateDiveShare, lateProofShare = 0.005, 2, 4, 2
	// countShare is how much work numbers of nodes may take at most, in budgets, up to countRows, and 1 beyond;
	// countMore times that where the bound is for a plan with nothing but prices and rules, and the gap is wide.
	countShare, countRows, countMore = 8, 40, 2
	// Of more than meansRows with less than meansPods each on average, mean requests are planned for, too; of more than
	// boundRows with less than meansMostPods.
	meansRows, meansPods, meansMostPods = 64, 16, 64
	// boundRows is up to how many rows the programme is solved where only a bound is asked for: a simpler problem, with
	// boundWork at most, proves more of more rows. The programme goes on from there up to lateRows where there is work
	// for lateRounds: sooner it does not get further.
	boundRows, boundWork, lateRows, lateRounds = maxRows / 2, 100_000_000, 4 * maxRows, 400
	// maxFinalSplits bounds what is left of a packing that is finished exactly; see exact.MostSplits.
	maxFinalSplits = 1 << 13
)

// budget is how much work there may be. By default it grows with the pods at stake, and with the size of the inverse as
// far as there are pods enough to pay for that; parts of a problem share what each problem has. A problem that is too large
// for the programme has more to begin with, by its part of the pods, as its simpler problem has a programme of its own, and
// less later. One of many that are tried begins with a quarter, and has all of its work at 10,000 pods only.
func (s *solver) budget() int64 {
	if w := s.c.Source.Work; w > 0 {
		return w
	}
	const most, mostLarge, each, eachTried = 600_000_000, 300_000_000, 20_000_000, 5_000_000
	pods, rows := int64(s.c.Pods()), int64(s.c.NumRows)
	byPods := 500 * min(pods, 20_000)
	byRows := rows * rows * min(pods, 10_000) / 2
	switch {
	case s.c.Source.Tried:
		return min(eachTried/(1+s.others)+byPods+byRows, mostLarge)
	case rows > maxRows:
		return min(mostLarge*pods/max(pods, int64(s.pods))+byPods+byRows, mostLarge)
	}
	return min(each/(1+s.others)+byPods+20*rows*rows*min(pods, 1000), most)
}

// finish packs what a plan has left: exactly if that is little, else greedily. Pods that are worth nothing fill what is
// free, but are not left.
func (s *solver) finish(pl *compact.Plan, y []float64) {
	if !s.inexact && len(s.c.Limits) == 0 && pl.Pods > 0 && pl.Splits(maxFinalSplits) <= maxFinalSplits {
		e, ok := exact.Solve(pl, maxFinalSplits)
		s.work.Polish += e.Work
		if ok && e.Whole() {
			e.Finish(&s.slab)
			return
		}
	}
	worth := slices.Clone(y)
	for i, v := range s.initial {
		worth[i] = max(worth[i], v/1000)
	}
	s.greedy.run(pl, worth)
}
