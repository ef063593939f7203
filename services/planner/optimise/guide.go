package optimise

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/simplify"
)

// packAsSimpler packs as a plan for the simpler problem does, as far as rules let it. Where no bins are free, no packing costs less than what is proven for that one.
func (s *solver) packAsSimpler(work int64) {
	p, c := simplify.Of(s.base, maxRows, work)
	if p == nil || s.stopped() {
		return
	}
	p.BoundOnly, p.Known = s.c.Source.BoundOnly, s.c.Source.Known
	sub := &solver{c: c, simpler: true}
	sub.run()
	s.work.Columns += sub.work.Total()
	if s.stopped() || sub.best.Pods > 0 {
		return
	}
	if sub.bound > s.bound && !s.hasFree() {
		s.bound, s.kind = sub.bound, min(sub.kind, KindLP)
	}
	if sub.duals == nil {
		return
	}
	g := &guide{s: s, rows: c.ItemsOf, worth: make([]float64, s.c.NumRows)}
	for r, of := range g.rows {
		for _, i := range of {
			g.worth[i] = sub.duals[r]
		}
	}
	// Which pods are left to be packed anew depends on which bins are filled first: the most expensive ones, or those of the most rows.
	for _, before := range []func(x, y compact.Filling) int{
		func(x, y compact.Filling) int { return cmp.Compare(y.Cost, x.Cost) },
		func(x, y compact.Filling) int { return cmp.Compare(len(y.Rows), len(x.Rows)) },
	} {
		pl, fillings := s.base.Clone(), slices.Clone(sub.best.Fillings)
		slices.SortStableFunc(fillings, before)
		for _, f := range fillings {
			for range f.Copies {
				g.follow(pl, p.BinsOf[c.Bins[f.Bin].Index], f)
			}
		}
		s.finish(pl, g.worth)
		s.offer(pl)
	}
}

// guide makes fillings of the whole problem of those of a simpler one.
type guide struct {
	s *solver
	// rows are those of the whole problem that each row of the simpler one stands for; worth is what a pod of them is worth.
	rows  [][]int32
	worth []float64
	// put are the rows of the filling in the making.
	put []int32
}

// follow buys one of some bins, filled much as a filling: that which is then worth most for its price.
func (g *guide) follow(pl *compact.Plan, bins []int32, f compact.Filling) {
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
	if most > 0 {
		pl.Take(best)
	}
}

// valueIn is what the pods of a filling are worth; up to twice as much where few of some bins take them, for those go first.
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

// fill fills a bin with as many pods of each row as a filling has, as far as it takes them and rules let it, and with what else fits.
func (g *guide) fill(pl *compact.Plan, b int32, f compact.Filling) compact.Filling {
	c, l := g.s.c, g.s.greedy.open
	bin := &c.Bins[b]
	l.Open(bin)
	g.put = g.put[:0]
	for x, r := range f.Rows {
		want, of := f.Counts[x], slices.Clone(g.rows[r])
		slices.SortStableFunc(of, func(i, j int32) int { // what the fewest bins take first, then what there is most of
			return cmp.Or(cmp.Compare(c.KindOf[i], c.KindOf[j]), cmp.Compare(pl.Rest[j], pl.Rest[i]))
		})
		for _, i := range of {
			if bin.Takes.Has(int(i)) {
				want -= g.add(i, min(want, pl.Rest[i]))
			}
		}
	}
	for _, t := range bin.Kinds {
		for _, i := range c.Kinds[t] {
			g.add(i, pl.Rest[i]-l.Counts[i])
		}
		if l.Full() {
			break
		}
	}
	slices.Sort(g.put)
	out := compact.Filling{Bin: b, Copies: 1, Cost: bin.Price}
	for _, i := range slices.Compact(g.put) {
		out.Rows, out.Counts = append(out.Rows, i), append(out.Counts, l.Counts[i])
		if bin.Penalties != nil {
			out.Cost += bin.Penalties[i] * int64(l.Counts[i])
		}
	}
	return out
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
	g.s.work.Greedy++
	return n
}
