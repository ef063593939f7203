package optimise

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// simpler is a problem with few enough rows for the programme, made of what is left of one that has too many, once bins that cost nothing
// are full. Its items are the rows of that; rules are left out but for a few, and preferences.
type simpler struct {
	problem.Problem
	// bins are, by bin, those of the whole problem that it stands for.
	bins [][]int32
}

const (
	// mostKept is how many rules are kept: those that ask for the most bins, of rules that let only so many pods of their own rows
	// share one.
	mostKept = 2
	// alikePrice is how many times the price of the cheapest the others of some bins may have for all to be one, mostAlike how many
	// may be. One in leastShared of the pods that two of them take must be taken by both.
	alikePrice  = 1.25
	mostAlike   = 8
	leastShared = 5
)

// simplify makes the problem simpler; nil where there are too many rows all the same.
func (s *solver) simplify(work int64) (*simpler, *compact.Problem) {
	for _, unite := range []bool{false, true} {
		p := &simpler{Problem: problem.Problem{Work: work, GapTarget: s.c.Source.GapTarget, Stop: s.c.Source.Stop, Drop: true}}
		for i, n := range s.base.Rest {
			p.Items = append(p.Items, problem.Item{Count: int(n), Request: s.c.Request[i*s.c.NumResources : (i+1)*s.c.NumResources]})
		}
		p.keepRules(s)
		p.addBins(s, unite)
		for l, most := range s.base.LimitLeft {
			limit := problem.Limit{Most: max(0, most), Amount: make([]int64, len(p.bins))}
			for b, of := range p.bins {
				limit.Amount[b] = s.c.Bins[of[0]].Amount[l]
			}
			p.Limits = append(p.Limits, limit)
		}
		if c := compact.Compile(&p.Problem); c.NumRows <= maxRows {
			if p.capRows(s, c) {
				c = compact.Compile(&p.Problem)
			}
			return p, c
		}
	}
	return nil, nil
}

func (p *simpler) keepRules(s *solver) {
	for _, r := range s.c.MostWanted(s.base.Rest, mostKept) {
		of := bits.New(len(p.Items))
		for i, parts := range s.c.RulesOf {
			if slices.ContainsFunc(parts, func(pt compact.RulePart) bool { return pt.Rule == r }) {
				of.Add(i)
			}
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: of, Counted: of, Most: int(s.c.Rules[r].Most)})
	}
}

// capRows adds what the rules that were left out let one bin hold of each row that is left, and says whether that is less than all of it. Where
// each of twelve apps lets one of its pods onto a node, there are twelve pods of one request.
func (p *simpler) capRows(s *solver, c *compact.Problem) (some bool) {
	for _, of := range c.ItemsOf {
		set, counted, pods, most := bits.New(len(p.Items)), make(map[int32]bool), 0, 0
		for _, i := range of {
			set.Add(int(i))
			pods += p.Items[i].Count
			most += s.mostShared(i, counted)
		}
		if most < pods {
			p.Rules = append(p.Rules, problem.Rule{Trigger: set, Counted: set, Most: most})
			some = true
		}
	}
	return some
}

// mostShared is how many pods of a row rules let onto one bin, beside those of rows that rules were counted for.
func (s *solver) mostShared(row int32, counted map[int32]bool) int {
	n, rule := s.base.Rest[row], int32(-1)
	for _, pt := range s.c.RulesOf[row] {
		r := &s.c.Rules[pt.Rule]
		if r.Mutual && counted[pt.Rule] {
			return 0
		}
		if r.Mutual && r.Most < n {
			n, rule = r.Most, pt.Rule
		}
	}
	if rule >= 0 {
		counted[rule] = true
	}
	return int(n)
}

// addBins adds the bins that may be bought. United ones hold as much of everything as each other, and take what any of them does: as those of
// one type in several zones do.
func (p *simpler) addBins(s *solver, unite bool) {
	groups := make(map[string][]int32)
	var order []string
	for b := range s.c.Bins {
		x := &s.c.Bins[b]
		if x.Existing() || s.base.Remaining(int32(b), 1) == 0 {
			continue
		}
		var key []byte
		for _, amount := range slices.Concat(x.Free, x.Amount) {
			key = binary.AppendVarint(key, amount)
		}
		if x.Limited || !unite {
			key = binary.AppendUvarint(append(key, '|'), uint64(b))
		}
		if groups[string(key)] == nil {
			order = append(order, string(key))
		}
		groups[string(key)] = append(groups[string(key)], int32(b))
	}
	for _, key := range order {
		of := groups[key]
		slices.SortStableFunc(of, func(a, b int32) int { return cmp.Compare(s.c.Bins[a].Price, s.c.Bins[b].Price) })
		for len(of) > 0 {
			var one, others []int32
			for _, b := range of {
				if len(one) == 0 || len(one) < mostAlike && s.alike(of[0], b) {
					one = append(one, b)
				} else {
					others = append(others, b)
				}
			}
			p.addBin(s, one)
			of = others
		}
	}
}

// addBin adds a bin that stands for some, the cheapest first.
func (p *simpler) addBin(s *solver, some []int32) {
	first := &s.c.Bins[some[0]]
	bin := problem.Bin{Price: first.Price, Free: first.Free, Takes: bits.New(len(p.Items)), Most: -1}
	if first.Limited {
		bin.Most = int(s.base.Remaining(some[0], int32(first.Copies)))
	}
	for _, b := range some {
		for w, word := range s.c.Bins[b].Takes {
			bin.Takes[w] |= word
		}
	}
	p.Bins, p.bins = append(p.Bins, bin), append(p.bins, some)
}

// alike says whether two bins, the cheaper one first, cost about as much and take much the same pods.
func (s *solver) alike(a, b int32) bool {
	x, y := &s.c.Bins[a], &s.c.Bins[b]
	if float64(y.Price) > alikePrice*float64(x.Price) {
		return false
	}
	both, either := 0, 0
	for i, n := range s.base.Rest {
		if x.Takes.Has(i) && y.Takes.Has(i) {
			both += int(n)
		}
		if x.Takes.Has(i) || y.Takes.Has(i) {
			either += int(n)
		}
	}
	return both*leastShared > either
}

// packAsSimpler packs as a plan for the simpler problem does, as far as rules let it.
func (s *solver) packAsSimpler(work int64) {
	p, c := s.simplify(work)
	if p == nil || s.stopped() {
		return
	}
	sub := &solver{c: c}
	sub.run()
	s.work.Columns += sub.work.Total()
	if s.stopped() || sub.duals == nil || sub.best.Pods > 0 {
		return
	}
	g := &guide{s: s, rows: c.ItemsOf, worth: make([]float64, s.c.NumRows)}
	for r, of := range g.rows {
		for _, i := range of {
			g.worth[i] = sub.duals[r]
		}
	}
	pl := s.base.Clone()
	fillings := slices.Clone(sub.best.Fillings)
	slices.SortStableFunc(fillings, func(x, y compact.Filling) int { return cmp.Compare(y.Cost, x.Cost) })
	for _, f := range fillings {
		for range f.Copies {
			g.follow(pl, p.bins[c.Bins[f.Bin].Index], f)
		}
	}
	s.finish(pl, g.worth)
	s.offer(pl)
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
