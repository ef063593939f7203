// Package pricing is column generation: a linear programme whose columns are fillings of bins, and the choice of the bins
// whose knapsacks find fillings which improve it.
//
// It proves bounds, and knows fractional packings only; whole ones are made by package optimise, and a bin is filled by
// package knapsack. Start reading with Columns.
package pricing

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/knapsack"
	"github.com/kerf-dev/kerf/services/planner/optimise/lp"
	"github.com/kerf-dev/kerf/services/planner/optimise/scarce"
)

// Columns is the linear programme over fillings for what is left of a plan, with column generation.
type Columns struct {
	c       *compact.Problem
	slab    *compact.Slab
	Program lp.Program
	// packer fills bins; work is what was spent beside it and the programme.
	packer *knapsack.Packer
	work   int64
	// Rows are the rows with pods, at are their places in the programme, -1 for the others.
	Rows, at []int32
	demand   []int32
	// closed says which bins must not be used.
	closed []bool
	// Pool are the columns, in the programme's order.
	Pool []compact.Filling
	// Duals are by row, BestDuals those of the best bound so far, trialDuals those that fillings are priced with.
	Duals, BestDuals, trialDuals []float64
	// limitRows are limits and stocks that are rows too, as far as they bind; the other lists are their duals.
	limitRows                                   []scarce.Row
	limitDuals, bestLimitDuals, trialLimitDuals []float64
	Bound                                       float64
	found                                       []found
	// priced is, by bin, what is known with the trial duals.
	priced []priced
	// had are the bins of which fillings were found when all were priced the last time; since then they were priced
	// alone so many times.
	had    []int32
	times  int
	Rounds int
	// alpha is how much of the duals of the best bound goes into those that fillings are priced with (Wentges 1997):
	// now, and in the next round, unless nothing is found now.
	alpha, nextAlpha float64
	// depth is how often it went over to more exact pricing, which takes longer.
	depth int
}

// found is a filling that improves the programme, by so much per price.
type found struct {
	gain float64
	p    compact.Filling
}

// priced is what is known of a bin's fillings: one is worth best, and none more than upper, from which the toll is
// taken off. It was branched; known says that no more is to be learned.
type priced struct {
	upper, best     float64
	branched, known bool
}

// NewColumns makes a master problem without columns.
func NewColumns(c *compact.Problem, s *compact.Slab) *Columns {
	return &Columns{
		c: c, slab: s, packer: knapsack.New(c), at: make([]int32, c.NumRows), demand: make([]int32, c.NumRows), closed: make([]bool, len(c.Bins)), priced: make([]priced, len(c.Bins)),
		Duals: make([]float64, c.NumRows), BestDuals: make([]float64, c.NumRows), trialDuals: make([]float64, c.NumRows),
	}
}

// Begin sets up the programme for what a plan has left, with those columns of old that fit it still. Rows that no open
// bin takes are left out.
func (x *Columns) Begin(pl *compact.Plan, old []compact.Filling) {
	single := x.takeOver(pl)
	x.Program.Reset(len(x.Rows) + len(x.limitRows))
	x.Pool = x.Pool[:0]
	for k, i := range x.Rows {
		x.Program.RHS[k] = float64(x.demand[i]) + perturb(k)
		if len(x.limitRows) > 0 {
			x.addUnpacked(k, single[i])
		} else {
			x.add(single[i])
		}
	}
	for k := range x.limitRows {
		x.Program.RHS[len(x.Rows)+k] = -x.limitRows[k].Left
	}
	x.Program.StartDiagonal(len(x.Rows) + x.addMissing())
	if len(x.limitRows) > 0 {
		for _, i := range x.Rows {
			x.add(single[i])
		}
	}
	for _, p := range old {
		if x.proper(p) {
			x.add(p)
		}
	}
	x.start()
}

// takeOver takes over what a plan has left, and returns, by row, the bins filled with pods of that row alone that are
// cheapest for a pod.
func (x *Columns) takeOver(pl *compact.Plan) (single []compact.Filling) {
	x.c.ListRows()
	copy(x.demand, pl.Rest)
	single = make([]compact.Filling, x.c.NumRows)
	least := make([]float64, x.c.NumRows)
	for b := range x.c.Bins {
		bin := &x.c.Bins[b]
		if x.closed[b] = bin.Existing() || pl.Remaining(int32(b), 1) == 0; x.closed[b] {
			continue
		}
		for k, i := range bin.Rows {
			q := min(bin.Alone[k], x.demand[i])
			if q == 0 {
				continue
			}
			cost := bin.Price
			if bin.Penalties != nil {
				cost += bin.Penalties[i] * int64(q)
			}
			if each := float64(cost) / float64(q); single[i].Copies == 0 || each < least[i] {
				least[i] = each
				single[i].Bin, single[i].Copies, single[i].Cost = int32(b), q, cost
			}
		}
	}
	x.Rows = x.Rows[:0]
	for i := range single {
		x.at[i] = -1
		if q := single[i].Copies; q > 0 {
			x.at[i] = int32(len(x.Rows))
			x.Rows = append(x.Rows, int32(i))
			single[i].Rows, single[i].Counts = x.slab.Take(1), x.slab.Take(1)
			single[i].Rows[0], single[i].Counts[0], single[i].Copies = int32(i), q, 1
		}
	}
	for k := range x.limitRows {
		x.limitRows[k].Left = x.limitRows[k].LeftIn(pl)
	}
	x.work += int64(len(x.c.Bins) * x.c.NumRows)
	return single
}

// start solves a programme that has all its columns.
func (x *Columns) start() {
	if len(x.limitRows) == 0 || !x.limitRows[0].CountsNodes() || !slices.Equal(x.demand, x.packer.Demand) {
		x.packer.Renew(x.demand)
	}
	// What no filling exceeds now none exceeds later, when there are fewer pods; so the best duals of before bound what is
	// left too.
	x.Bound, x.Rounds, x.depth, x.had, x.times = 0, 0, 0, x.had[:0], 0
	for i, v := range x.BestDuals {
		if x.at[i] < 0 {
			x.BestDuals[i] = 0
		}
		x.Bound += float64(v * float64(x.demand[i]))
	}
	for k, v := range x.bestLimitDuals {
		x.Bound -= float64(v * x.limitRows[k].Left)
	}
	x.solve()
}

// Root is what a programme can begin again from: itself, its columns, and the duals of its best bound.
type Root struct {
	program       lp.Program
	pool          []compact.Filling
	duals, limits []float64
}

// Root is what there is now.
func (x *Columns) Root() Root {
	r := Root{pool: slices.Clone(x.Pool), duals: slices.Clone(x.BestDuals), limits: slices.Clone(x.bestLimitDuals)}
	r.program.Set(&x.Program)
	return r
}

// Return begins again from a root, for what the plan that it was of has left.
func (x *Columns) Return(pl *compact.Plan, r *Root) {
	x.takeOver(pl)
	x.Program.Set(&r.program)
	x.Pool = append(x.Pool[:0], r.pool...)
	copy(x.BestDuals, r.duals)
	copy(x.bestLimitDuals, r.limits)
	x.start()
}

// addMissing adds the columns of nodes that are missing where there must be so many, and says how many there are.
func (x *Columns) addMissing() (n int) {
	for k := range x.limitRows {
		if x.limitRows[k].Left < 0 {
			x.Program.Entry(int32(len(x.Rows)+k), 1)
			x.Program.Add(missingPrice * float64(x.c.Bins[len(x.c.Bins)-1].Price))
			x.Pool = append(x.Pool, compact.Filling{Bin: -1})
			n++
		}
	}
	return n
}

// perturb is a little more demand, different for each row, so that few columns reach 0 at once; else the simplex method
// would pivot on and on without getting anywhere.
func perturb(k int) float64 {
	return 1e-5 * (1 + float64(compact.Mix(1, uint64(k))>>11)/(1<<53))
}

// proper says that a filling is possible and has no more pods than there are.
func (x *Columns) proper(p compact.Filling) bool {
	if p.Bin < 0 || x.closed[p.Bin] {
		return false
	}
	for k, i := range p.Rows {
		if p.Counts[k] > x.demand[i] || x.at[i] < 0 {
			return false
		}
	}
	return true
}

// add makes a filling a column.
func (x *Columns) add(p compact.Filling) {
	for k, i := range p.Rows {
		x.Program.Entry(x.at[i], float64(p.Counts[k]))
	}
	for k := range x.limitRows {
		if v := x.limitRows[k].Taken(&x.c.Bins[p.Bin], p.Bin); v != 0 {
			x.Program.Entry(int32(len(x.Rows)+k), -v)
		}
	}
	x.Program.Add(max(1, float64(p.Cost)))
	x.Pool = append(x.Pool, p)
}

// solve solves the programme with the columns that there are.
func (x *Columns) solve() {
	x.Program.Solve(20*x.Program.Rows + 200)
	clear(x.Duals)
	for k, i := range x.Rows {
		x.Duals[i] = max(0, x.Program.Duals[k])
	}
	for k := range x.limitRows {
		x.limitDuals[k] = max(0, x.Program.Duals[len(x.Rows)+k])
	}
}

// Work is what has been spent.
func (x *Columns) Work() int64 { return x.Program.Work + x.packer.Work + x.work }

// Effort says how far column generation goes.
type Effort struct {
	// Gap is how near to its bound the programme must come, Limit what work may be spent in all.
	Gap   float64
	Limit int64
	// Depth is how often bins are priced more exactly when nothing else helps.
	Depth int
	// Slack above 0 is for who asks for the bound alone: fillings that are worth more than a bin by less than this
	// fraction of its price are not looked for.
	Slack float64
	// Near says that the columns which there are at first come near to what the best ones are worth: fillings are priced
	// with the duals of the programme from the start.
	Near bool
	// Enough above 0 is the bound at which to end.
	Enough float64
	Stop   func() bool
}

// Generate adds columns until the programme is within the gap of its bound, no better filling is found, or the work is
// spent.
func (x *Columns) Generate(g Effort) {
	x.alpha, x.nextAlpha, x.depth = smoothing, smoothing, min(1, g.Depth)
	if g.Near {
		x.alpha, x.nextAlpha = 0, 0
	}
	value, bound, since, rate := x.Program.Value(), x.Bound, 0, stallRate
	rounds := stallRounds + x.Program.Rows/20
	switch {
	case g.Depth == 0:
		rate = roughRate
	case g.Near: // soon what pricing more exactly proves is all that is left to be had
		rounds = nearRounds
	}
	for x.Work() < g.Limit && !g.Stop() {
		if x.Converged(g.Gap) || g.Enough > 0 && x.Bound >= g.Enough {
			return
		}
		if since++; since == rounds {
			stalled := x.Program.Value() > value*(1-rate) && x.Bound <= bound*(1+rate)
			if stalled && !x.deepen(g) {
				return
			}
			value, bound, since = x.Program.Value(), x.Bound, 0
		}
		depth := x.depth
		if !x.round(g) {
			return
		}
		if x.depth > depth {
			value, bound, since = x.Program.Value(), x.Bound, 0
		}
	}
}

// round prices fillings once and adds those found; false when that has come to its end.
func (x *Columns) round(g Effort) bool {
	x.Rounds++
	for _, i := range x.Rows {
		x.trialDuals[i] = float64(x.alpha*x.BestDuals[i]) + float64((1-x.alpha)*x.Duals[i])
	}
	for k := range x.limitRows {
		x.trialLimitDuals[k] = float64(x.alpha*x.bestLimitDuals[k]) + float64((1-x.alpha)*x.limitDuals[k])
	}
	lb, steepest := x.price(g)
	x.adapt()
	if lb > x.Bound {
		x.Bound = lb
		for _, i := range x.Rows {
			x.BestDuals[i] = x.trialDuals[i] / steepest
		}
		for k, v := range x.trialLimitDuals {
			x.bestLimitDuals[k] = v / steepest
		}
	}
	if len(x.found) == 0 {
		if x.alpha == 0 {
			return x.deepen(g)
		}
		x.alpha, x.nextAlpha = 0, max(0, x.nextAlpha-alphaStep)
		return true
	}
	for _, f := range x.found {
		x.add(f.p)
	}
	x.solve()
	x.alpha = x.nextAlpha
	return true
}

// adapt moves the duals to price with to where the bound rises: away from those of the best bound, or back to them
// (Pessoa and others 2018). As the duals go over to the programme's, the bound gains what the demand is worth more, for
// what it is worth, and loses what the filling of the steepest bin is worth more, for what that is worth.
func (x *Columns) adapt() {
	b, _ := x.steepest()
	value := func(f found, duals, limitDuals []float64) float64 {
		sum := float64(x.c.Bins[b].Price-f.p.Cost) - x.toll(b, limitDuals) // the first is what penalties cost
		for k, i := range f.p.Rows {
			sum += float64(duals[i] * float64(f.p.Counts[k]))
		}
		return sum
	}
	var f found
	most := 0.0
	for _, o := range x.found {
		if o.p.Bin == b {
			if v := value(o, x.trialDuals, x.trialLimitDuals); v > most {
				f, most = o, v
			}
		}
	}
	if most == 0 {
		return
	}
	demand := x.worth(x.trialDuals, x.trialLimitDuals)
	more := x.worth(x.Duals, x.limitDuals) - x.Bound
	steeper := value(f, x.Duals, x.limitDuals) - value(f, x.BestDuals, x.bestLimitDuals)
	if more*most > steeper*demand {
		x.nextAlpha = max(0, x.nextAlpha-alphaStep)
	} else {
		x.nextAlpha = min(mostAlpha, x.nextAlpha+float64(alphaStep*(1-x.nextAlpha)))
	}
}

// worth is what the demand is worth at some duals.
func (x *Columns) worth(duals, limitDuals []float64) float64 {
	sum := 0.0
	for _, i := range x.Rows {
		sum += float64(duals[i] * float64(x.demand[i]))
	}
	for k, v := range limitDuals {
		sum -= float64(v * x.limitRows[k].Left)
	}
	return sum
}

// Converged says that the programme is within a gap of its bound.
func (x *Columns) Converged(gap float64) bool { return x.Bound >= x.Program.Value()*(1-gap) }

// deepen goes over to more exact pricing; false if it may not.
func (x *Columns) deepen(g Effort) bool {
	if x.depth == g.Depth {
		return false
	}
	x.depth, x.alpha = x.depth+1, x.nextAlpha
	return true
}

// relaxations is how many of them the branch and bound of one pricing problem may solve at a depth.
func relaxations(depth int) int {
	const more = 30
	n := 0
	for range depth {
		n = max(1, n) * more
	}
	return n
}

// smoothing is what alpha begins with, mostAlpha what it is at most, and alphaStep what it changes by in a round, of
// what is left to 1 where it grows.
const smoothing, mostAlpha, alphaStep = 0.7, 0.9, 0.05

// stallRounds is after how many rounds there must be some progress, and one more for each 20 rows; nearRounds where all
// columns are near the best ones.
const stallRounds, nearRounds = 6, 5

// stallRate is how much of its value the programme must have gained by then, and roughRate where its bound does not count.
const stallRate, roughRate = 0.0004, 0.001
