package optimise

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/simplify"
	"github.com/kerf-dev/kerf/services/planner/optimise/swap"
)

// mostParts is in how many parts a plan is made that follows one for mean requests. In all but the last a filling must
// be worth leastFull of its price. mostChoices is among how many rows the next pod is chosen.
const mostParts, leastFull, mostChoices = 3, 0.96, 32

// swapShare is what part of the work may be spent on the pods that are left each time that a plan is followed, 1 of so
// many.
const swapShare = 20

// packAsSimpler packs as a plan for the simpler problem does, as far as rules let it. Where no bins are free, no
// packing costs less than what is proven for that one.
func (s *solver) packAsSimpler(work int64) {
	g := s.guideFor(s.base, maxRows, work)
	if g == nil {
		return
	}
	if g.p.Near {
		s.packInParts(g, work)
		return
	}
	if g.sub.bound > s.bound && !s.hasFree() {
		s.bound, s.kind = g.sub.bound, min(g.sub.kind, KindLP)
		s.goOn(g)
	}
	// Which pods are left to be packed anew depends on which bins are filled first: the most expensive ones, or those
	// of the most rows.
	if !g.knows() {
		return
	}
	for _, before := range []func(x, y compact.Filling) int{
		byPrice,
		func(x, y compact.Filling) int { return cmp.Compare(len(y.Rows), len(x.Rows)) },
	} {
		for _, full := range []bool{true, false} {
			g.full = full
			pl := s.base.Clone()
			g.followAll(pl, before, 0)
			s.greedy.work += swap.Place(pl, s.greedy.open, work/swapShare)
			s.finish(pl, g.worth)
			s.offer(pl)
		}
	}
}

// goOn has the programme begin with what pods are worth to a simpler problem: no filling is worth more there than its
// price, nor is it here.
func (s *solver) goOn(g *guide) {
	if g.sub.proven == nil || s.c.NumRows > lateRows || 2*s.budget() < lateRounds*s.c.RoundWork() {
		return
	}
	s.proven = make([]float64, s.c.NumRows)
	for r, of := range g.sub.c.ItemsOf {
		for _, i := range of {
			s.proven[i] = g.sub.proven[r]
		}
	}
}

// packByMeans packs as a plan for fewer rows does, which are means where no others are, unless the best plan is as good
// as asked for.
func (s *solver) packByMeans(work int64) {
	if s.stopped() || float64(s.aim()) <= float64(s.bound)*(1+s.gap) {
		return
	}
	if g := s.guideFor(s.base, s.c.NumRows-1, work); g != nil {
		s.packInParts(g, work)
	}
}

// packInParts follows a plan for mean requests where it works out, and then one for what is left, whose requests differ
// less.
func (s *solver) packInParts(g *guide, work int64) {
	pl, worth, least := s.base.Clone(), g.worth, leastFull
	for part := 1; g != nil && g.knows(); part++ {
		if part == mostParts {
			least = 0
		}
		g.followAll(pl, byPrice, least)
		if part == mostParts || pl.Pods == 0 {
			break
		}
		g = s.guideFor(pl, maxRows, work/2)
	}
	s.finish(pl, worth)
	s.offer(pl)
}

func byPrice(x, y compact.Filling) int { return cmp.Compare(y.Cost, x.Cost) }

// guideFor solves the simpler problem of what a plan has left, of about so many rows at most; nil where that can't be done.
func (s *solver) guideFor(base *compact.Plan, rows int, work int64) *guide {
	p, c := simplify.Of(base, rows, work)
	if p == nil || s.stopped() {
		return nil
	}
	p.BoundOnly, p.Known = s.c.Source.BoundOnly, s.c.Source.Known
	p.Loose = p.Near || base != s.base // what is proven of it is of no use
	sub := &solver{c: c, simpler: true}
	sub.run()
	s.work.Columns += sub.work.Total()
	if s.stopped() || sub.best.Pods > 0 {
		return nil
	}
	g := &guide{s: s, p: p, sub: sub, worth: make([]float64, s.c.NumRows), full: true}
	for r := range sub.duals {
		g.value(r)
	}
	return g
}

// guide makes fillings of the whole problem of those of p, a simpler one, which sub has solved.
type guide struct {
	s   *solver
	p   *simplify.Simpler
	sub *solver
	// worth is what a pod is worth, by row of the whole problem.
	worth []float64
	// put are the rows of the filling in the making; over is what was put in there of each resource beyond the mean
	// requests.
	put  []int32
	over []int64
	// full fills bins with what else fits. Without it they keep room of the size that the filling has, for pods that are
	// left in the end.
	full bool
}

// value says what the rows are worth that a row of the simpler problem stands for: as much as it in all, and each in
// proportion to what it was worth at first.
func (g *guide) value(r int) {
	of, initial := g.sub.c.ItemsOf[r], 0.0
	pods := 0
	for _, i := range of {
		initial += float64(g.s.initial[i] * float64(g.p.Items[i].Count))
		pods += g.p.Items[i].Count
	}
	for _, i := range of {
		if g.worth[i] = g.sub.duals[r]; g.p.Near && initial > 0 {
			g.worth[i] *= g.s.initial[i] * float64(pods) / initial
		}
	}
}

// knows says that pods have a worth.
func (g *guide) knows() bool { return g.sub.duals != nil }

// followAll buys bins filled much as all fillings of the simpler problem's plan, in an order, as far as they are worth
// so much of their price.
func (g *guide) followAll(pl *compact.Plan, before func(x, y compact.Filling) int, least float64) {
	fillings := slices.Clone(g.sub.best.Fillings)
	slices.SortStableFunc(fillings, before)
	for _, f := range fillings {
		if g.s.stopped() {
			return
		}
		for range f.Copies {
			g.follow(pl, g.p.BinsOf[g.sub.c.Bins[f.Bin].Index], f, least)
		}
	}
}

// follow buys one of some bins, filled much as a filling: that which is then worth most for its price, if that is so
// much of it at least.
func (g *guide) follow(pl *compact.Plan, bins []int32, f compact.Filling, least float64) {
	var best compact.Filling
	most := 0.0
	for _, b := range bins {
		if pl.Remaining(b, 1) == 0 {
			continue
		}
		x := g.fill(pl, b, f)
		if v := g.valueIn(x, bins) / float64(max(1, x.Cost)); v > most {
			best, most = x, v
		}
	}
	if most > 0 && best.Worth(g.worth) >= least*float64(best.Cost) {
		pl.Take(best)
	}
}

// valueIn is what the pods of a filling are worth; up to twice as much where few of some bins take them, for those go
// first.
func (g *guide) valueIn(f compact.Filling, bins []int32) float64 {
	v := 0.0
	for x, i := range f.Rows {
		refuse := 0
		for _, b := range bins {
			if !g.s.c.Bins[b].Takes.Has(int(i)) {
				refuse++
			}
		}
		v += float64(g.worth[i] * float64(f.Counts[x]) * (1 + float64(refuse)/float64(len(bins))))
	}
	return v
}

// fill fills a bin with as many pods of each row as a filling has, as far as it takes them and rules let it, and with
// what else fits.
func (g *guide) fill(pl *compact.Plan, b int32, f compact.Filling) compact.Filling {
	c, l := g.s.c, g.s.greedy.open
	bin := &c.Bins[b]
	l.Open(bin)
	g.put = g.put[:0]
	g.over = append(g.over[:0], make([]int64, c.NumResources)...)
	for x, r := range f.Rows {
		want, of := f.Counts[x], slices.DeleteFunc(slices.Clone(g.sub.c.ItemsOf[r]), func(i int32) bool { return pl.Rest[i] == 0 || !bin.Takes.Has(int(i)) })
		if g.p.Near {
			g.balance(pl, bin, of, want, g.p.Items[g.sub.c.ItemsOf[r][0]].Request)
			continue
		}
		slices.SortStableFunc(of, func(i, j int32) int { // what the fewest bins take first, then what there is most of
			return cmp.Or(cmp.Compare(c.KindOf[i], c.KindOf[j]), cmp.Compare(pl.Rest[j], pl.Rest[i]))
		})
		for _, i := range of {
			want -= g.add(i, min(want, pl.Rest[i]))
		}
	}
	if g.full {
		for _, t := range bin.Kinds {
			for _, i := range c.Kinds[t] {
				g.add(i, pl.Rest[i]-l.Counts[i])
			}
			if l.Full() {
				break
			}
		}
	}
	slices.Sort(g.put)
	out := compact.Filling{Bin: b, Copies: 1, Cost: bin.Price}
	for _, i := range slices.Compact(g.put) {
		out.Rows, out.Counts = append(out.Rows, i), append(out.Counts, l.Counts[i])
	}
	out.Cost += bin.Penalty(out.Rows, out.Counts)
	return out
}

// balance puts so many pods of some rows into the open bin, or as many as fit, so that all that is in there stays near
// what it would be if each pod asked for the mean. Of many rows it looks at mostChoices.
func (g *guide) balance(pl *compact.Plan, bin *compact.Bin, of []int32, want int32, mean []int64) {
	c := g.s.c
	off := func(i int32) float64 {
		sum := 0.0
		for r, v := range g.over {
			if f := bin.Free[r]; f > 0 {
				sum += math.Abs(float64(v+c.Request[int(i)*c.NumResources+r]-mean[r])) / float64(f)
			}
		}
		return sum
	}
	if n := len(of); n > mostChoices {
		for k := range mostChoices {
			of[k] = of[k*n/mostChoices]
		}
		of = of[:mostChoices]
	}
	for want > 0 && len(of) > 0 {
		i := slices.MinFunc(of, func(i, j int32) int { return cmp.Compare(off(i), off(j)) })
		if g.add(i, min(1, pl.Rest[i]-g.s.greedy.open.Counts[i])) == 0 {
			of = slices.DeleteFunc(of, func(j int32) bool { return i == j })
			continue
		}
		for r := range g.over {
			g.over[r] += c.Request[int(i)*c.NumResources+r] - mean[r]
		}
		want--
	}
}

// add puts up to most pods of a row into the open bin, and says how many.
func (g *guide) add(row, most int32) int32 {
	if most <= 0 {
		return 0
	}
	n := g.s.greedy.open.Capacity(row, most)
	if n > 0 {
		g.s.greedy.open.Put(row, n)
		g.put = append(g.put, row)
	}
	g.s.greedy.work++
	return n
}
