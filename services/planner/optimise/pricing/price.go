package pricing

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/knapsack"
)

const (
	// mostFound is how many columns a round adds, and one more for each 8 rows.
	mostFound = 8
	// mostVaried is how many fillings of a bin are looked for that have other rows.
	mostVaried = 8
	// mostAgain is how often only the bins are priced that had fillings the last time.
	mostAgain = 3
	// fewRows is up to how many rows all bins are priced each time, and closely, where columns are wanted.
	fewRows = 40
)

// price looks for fillings that improve the programme, in found, and returns the bound that the trial duals give.
func (x *Columns) price(g Effort) (bound, steep float64) {
	if x.again(g) {
		return 0, 1
	}
	x.found = x.found[:0]
	clear(x.priced)
	for b := range x.c.Bins {
		if !x.closed[b] && len(x.c.Bins[b].Rows) > 0 {
			x.relaxBin(int32(b), g)
		}
	}
	if x.depth > 0 && g.Slack == 0 && x.few() {
		x.lookAtAll(g)
	}
	if x.depth > 0 {
		x.sharpen(g)
	}
	x.vary()
	x.keepBest()
	x.had = x.had[:0]
	for _, f := range x.found {
		if !slices.Contains(x.had, f.p.Bin) {
			x.had = append(x.had, f.p.Bin)
		}
	}
	_, steepest := x.steepest()
	return x.worth(x.trialDuals, x.trialLimitDuals) / steepest, steepest
}

// steepest is the bin of whose price a filling is worth most, and how many times it may be that, 1 at least; -1 where
// no bin's may be worth more than its price.
func (x *Columns) steepest() (bin int32, slopeOf float64) {
	bin, slopeOf = -1, 1
	for b, p := range x.priced {
		s := slope(p.upper, x.c.Bins[b].Price)
		if s > slopeOf {
			bin = int32(b)
		}
		slopeOf = max(slopeOf, s) // what is not a number stays, and proves nothing
	}
	return bin, slopeOf
}

// few says that rows are so few that a round may take long.
func (x *Columns) few() bool { return x.Program.Rows <= fewRows }

// most is how many columns a round adds.
func (x *Columns) most() int { return mostFound + x.Program.Rows/8 }

// again looks for fillings of those bins alone that had some when all were priced the last time, a few times, as long
// as that finds enough: of many bins few matter in any one round. It proves nothing.
func (x *Columns) again(g Effort) bool {
	if g.Slack > 0 || x.few() || x.times == mostAgain || len(x.had) == 0 {
		x.times = 0
		return false
	}
	x.times++
	x.found = x.found[:0]
	clear(x.priced)
	for _, b := range x.had {
		x.relaxBin(b, g)
	}
	if len(x.found) < x.most()/2 {
		x.times = 0
		return false
	}
	x.vary()
	x.keepBest()
	return true
}

// keepBest keeps the fillings that improve the programme most.
func (x *Columns) keepBest() {
	slices.SortFunc(x.found, func(a, b found) int {
		switch {
		case a.gain > b.gain:
			return -1
		case a.gain < b.gain:
			return 1
		}
		return int(a.p.Bin - b.p.Bin)
	})
	x.found = x.found[:min(len(x.found), x.most())]
}

// relaxBin finds out what no filling of a bin is worth more than by its relaxation, less the toll for what of it is
// scarce, and rounds that.
func (x *Columns) relaxBin(b int32, g Effort) {
	kn, p := x.packer.Of(int(b), x.trialDuals), &x.priced[b]
	toll := x.toll(b, x.trialLimitDuals)
	price := float64(x.c.Bins[b].Price) + toll
	if u := kn.Upper(); u <= price {
		p.upper, p.known = u-toll, true
		return
	}
	kn.Relax()
	upper := kn.Upper()
	p.upper, p.known = upper-toll, upper <= price*(1+1e-9)
	if !p.known {
		x.learn(b, kn.Fill(upper, x.enough(price, g), knapsack.Limit{}), toll)
	}
}

// enough is what a filling must be worth more than to be looked for: what the bin costs, and a little more where
// columns are not wanted. Of few rows they are looked for that are worth less, too: those improve the programme now and
// then, whose duals are not those that fillings are priced with.
func (x *Columns) enough(price float64, g Effort) float64 {
	if g.Slack == 0 && x.few() {
		return 0
	}
	return price * (1 + g.Slack)
}

// learn takes over what the search for a bin's fillings has come to.
func (x *Columns) learn(b int32, f knapsack.Found, toll float64) {
	p := &x.priced[b]
	p.upper, p.best = min(p.upper, ceiling(f.Most, x.c.Bins[b].Price, toll)), f.Fillings[0].Worth
	p.known = f.Known
	for _, t := range f.Fillings {
		x.find(b, t.Counts)
	}
}

// ceiling is what no filling of a bin is worth more than, less the toll, and a little more for rounding errors.
func ceiling(most float64, price int64, toll float64) float64 {
	return most + float64(1e-8*(float64(price)+toll+1)) - toll
}

// sharpen looks closer at the bins that the bound depends on, the steepest first, until the steepest is one of which no
// more is to be learned, and something was found: that takes long, and what is less steep does not matter to the bound.
// Where columns are wanted, half of the gap that the programme is to have may be left.
func (x *Columns) sharpen(g Effort) {
	enough := 1 + 1e-9
	if g.Slack == 0 {
		enough = 1 + g.Gap/2
	}
	for all := true; x.Work() < g.Limit && !x.Program.Stop(); {
		at, steepest := -1, enough
		for b, p := range x.priced {
			if s := slope(p.upper, x.c.Bins[b].Price); s > steepest && (all || !p.known) {
				at, steepest = b, s
			}
		}
		switch {
		case at < 0:
			return
		case !x.priced[at].known:
			x.lookAt(int32(at), g)
		case len(x.found) > 0:
			return
		default:
			all = false
		}
	}
}

// lookAtAll branches all bins that may have a filling worth more than they cost: what the bound does not depend on may
// be in a better plan.
func (x *Columns) lookAtAll(g Effort) {
	for b, p := range x.priced {
		if x.Work() >= g.Limit || x.Program.Stop() {
			return
		}
		if p.upper > 0 && !p.known {
			x.lookAt(int32(b), g)
		}
	}
}

// lookAt branches a bin's knapsack, or solves its table, where it has been branched.
func (x *Columns) lookAt(b int32, g Effort) {
	kn, p := x.packer.Of(int(b), x.trialDuals), &x.priced[b]
	toll := x.toll(b, x.trialLimitDuals)
	if !p.branched {
		p.branched = true
		enough := x.enough(float64(x.c.Bins[b].Price)+toll, g)
		x.learn(b, kn.Fill(p.upper+toll, enough, knapsack.Limit{Relaxations: relaxations(x.depth), Work: g.Limit - x.Work()}), toll)
		return
	}
	p.known = true
	most, f, ok := kn.SolveTable(x.depth > 1, g.Slack > 0, g.Limit-x.Work())
	if !ok && g.Slack > 0 {
		most, f, ok = kn.SolveTable(x.depth > 1, false, g.Limit-x.Work())
	}
	if ok {
		p.upper = min(p.upper, ceiling(most, x.c.Bins[b].Price, toll))
		if f.Worth > p.best {
			x.find(b, f.Counts)
		}
	}
}

// vary looks for more fillings of the bins for which some were found, of rows that are in none yet; of many rows until
// there are enough. Columns that have other rows spare rounds.
func (x *Columns) vary() {
	left := slices.Clone(x.trialDuals)
	var bins []int32
	take := func(some []found) {
		for _, f := range some {
			for _, i := range f.p.Rows {
				left[i] = 0
			}
		}
	}
	for _, f := range x.found {
		if !slices.Contains(bins, f.p.Bin) {
			bins = append(bins, f.p.Bin)
		}
	}
	take(x.found)
	for range mostVaried {
		bins = slices.DeleteFunc(bins, func(b int32) bool {
			n := len(x.found)
			if n >= x.most() && !x.few() {
				return true
			}
			kn := x.packer.Of(int(b), left)
			kn.Relax()
			x.find(b, kn.Fill(0, 0, knapsack.Limit{}).Fillings[0].Counts)
			take(x.found[n:])
			return len(x.found) == n
		})
	}
}

// find keeps a filling by index in the bin's rows, if it improves the programme.
func (x *Columns) find(b int32, top []int32) {
	bin := &x.c.Bins[b]
	gain, cost := -x.toll(b, x.limitDuals), bin.Price
	n := 0
	for k, q := range top {
		if q > 0 {
			n++
			i := bin.Rows[k]
			gain += float64(float64(q) * x.Duals[i])
			if bin.Penalties != nil {
				cost += bin.Penalties[i] * int64(q)
			}
		}
	}
	gain = (gain - float64(cost)) / max(1, float64(cost))
	if gain <= 1e-6 || n == 0 {
		return
	}
	rows, cnt := x.slab.Take(n), x.slab.Take(n)
	n = 0
	for k, q := range top {
		if q > 0 {
			rows[n], cnt[n] = bin.Rows[k], q
			n++
		}
	}
	x.found = append(x.found, found{gain: gain, p: compact.Filling{Bin: b, Copies: 1, Rows: rows, Counts: cnt, Cost: cost}})
}
