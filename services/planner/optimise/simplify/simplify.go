// Package simplify makes a packing problem with too many rows for the linear programme one with fewer.
//
// Rules and preferences are left out, and what differs in nothing else becomes one, so that no packing of the whole
// problem costs less than the bound of the simpler one. Where that leaves too many different requests, those near each
// other become one, too, and there is no such bound. It never solves anything. Start reading with Of.
package simplify

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// Simpler is a problem with few enough rows for the programme, made of what is left of one that has too many, once bins
// that cost nothing are full. Its items are the rows of that; rules are left out but for a few, and preferences.
type Simpler struct {
	problem.Problem
	// BinsOf are, by bin, those of the whole problem that it stands for.
	BinsOf [][]int32
	// Near says that rows of about equal requests became one of their mean: what is proven of that is not proven of them.
	Near bool
	c    *compact.Problem
	base *compact.Plan
}

const (
	// mostKept is how many rules are kept: those that ask for the most bins, of rules that let only so many pods of
	// their own rows share one.
	mostKept = 2
	// finerWork is how much work there must be for one such rule to be kept where a bound alone is asked for, and for more
	// rows.
	finerWork = 200_000_000
	// alikePrice is how many times the price of the cheapest the others of some bins may have for all to be one,
	// mostAlike how many may be. One in leastShared of the pods that two of them take must be taken by both.
	alikePrice  = 1.25
	mostAlike   = 8
	leastShared = 5
	// Where there are rules, no bins are united, and there is finerWork, there may be one more row for each apartShare: a
	// filling of a united bin may have pods that no bin takes together.
	apartShare = 4
	// Requests that become one differ by up to firstApart, or by more if there are more than one in nearShare of the
	// rows that there may be, but not by lastApart.
	nearShare, firstApart, lastApart = 2, 0.02, 2.0
)

// Of makes what a plan has left of a problem simpler, so that there are about so many rows at most; nil where there are
// more all the same. Where a bound alone is asked for, it makes none that proves nothing.
func Of(base *compact.Plan, rows int, work int64) (*Simpler, *compact.Problem) {
	whole := base.Problem
	for _, way := range []struct{ finer, unite, near bool }{{finer: true}, {}, {finer: true, unite: true}, {unite: true}, {unite: true, near: true}} {
		if way.finer && !(whole.Source.BoundOnly && work >= finerWork) || way.near && whole.Source.BoundOnly {
			continue
		}
		p := &Simpler{c: whole, base: base, Near: way.near}
		p.Work, p.GapTarget, p.Stop, p.Drop = work, whole.Source.GapTarget, whole.Source.Stop, true
		for i, n := range p.base.Rest {
			p.Items = append(p.Items, problem.Item{Count: int(n), Request: p.c.Request[i*p.c.NumResources : (i+1)*p.c.NumResources]})
		}
		if whole.Source.BoundOnly {
			p.joinRules(way.finer)
		} else {
			p.keepRules()
		}
		p.addBins(way.unite)
		p.addLimits()
		if way.near {
			p.joinNear(rows / nearShare)
		}
		most := rows
		if !way.unite && len(whole.Rules) > 0 && work >= finerWork {
			most += rows / apartShare
		}
		if c := compact.Compile(&p.Problem); c.NumRows <= most {
			if p.capRows(c) {
				c = compact.Compile(&p.Problem)
			}
			return p, c
		}
	}
	return nil, nil
}

func (p *Simpler) keepRules() {
	for _, r := range p.c.MostWanted(p.base.Rest, mostKept) {
		of := p.rowsOf(r)
		p.Rules = append(p.Rules, problem.Rule{Trigger: of, Counted: of, Most: int(p.c.Rules[r].Most)})
	}
}

// joinRules makes one rule of those that let only so many pods of their own rows share a bin, and have no rows in
// common: no more than so many in all of all their pods. It asks for fewer rows than the rules do, and where they are
// much alike it proves as much; a plan keeps to each of them less. A finer one keeps the one that asks for the most bins
// as it is.
func (p *Simpler) joinRules(finer bool) {
	joined, most, known := bits.New(len(p.Items)), 0, bits.New(len(p.Items))
	for k, r := range p.c.MostWanted(p.base.Rest, len(p.c.Rules)) {
		of := p.rowsOf(r)
		if known.Meets(of) {
			continue
		}
		known.AddAll(of)
		if k == 0 && finer {
			p.Rules = append(p.Rules, problem.Rule{Trigger: of, Counted: of, Most: int(p.c.Rules[r].Most)})
			continue
		}
		joined.AddAll(of)
		most += min(int(p.c.Rules[r].Most), p.podsOf(of)) // a rule may let more pods share a bin than there are
	}
	if most > 0 {
		p.Rules = append(p.Rules, problem.Rule{Trigger: joined, Counted: joined, Most: most})
	}
}

func (p *Simpler) podsOf(rows bits.Set) (n int) {
	for i, it := range p.Items {
		if rows.Has(i) {
			n += it.Count
		}
	}
	return n
}

// rowsOf are the rows that have a part in a rule.
func (p *Simpler) rowsOf(rule int32) bits.Set {
	of := bits.New(len(p.Items))
	for i, parts := range p.c.RulesOf {
		if slices.ContainsFunc(parts, func(pt compact.RulePart) bool { return pt.Rule == rule }) {
			of.Add(i)
		}
	}
	return of
}

// capRows adds what the rules that were left out let one bin hold of each row that is left, and says whether that is
// less than all of it. Where each of twelve apps lets one of its pods onto a node, there are twelve pods of one
// request.
func (p *Simpler) capRows(c *compact.Problem) (some bool) {
	for _, of := range c.ItemsOf {
		set, counted, pods, most := bits.New(len(p.Items)), make(map[int32]bool), 0, 0
		for _, i := range of {
			set.Add(int(i))
			pods += p.Items[i].Count
			most += p.mostShared(i, counted)
		}
		if most < pods {
			p.Rules = append(p.Rules, problem.Rule{Trigger: set, Counted: set, Most: most})
			some = true
		}
	}
	return some
}

// mostShared is how many pods of a row rules let onto one bin, beside those of rows that rules were counted for.
func (p *Simpler) mostShared(row int32, counted map[int32]bool) int {
	n, rule := p.base.Rest[row], int32(-1)
	for _, pt := range p.c.RulesOf[row] {
		r := &p.c.Rules[pt.Rule]
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

// addBins adds the bins that may be bought. United ones hold as much of everything as each other, and take what any of
// them does: as those of one type in several zones do.
func (p *Simpler) addBins(unite bool) {
	groups := make(map[string][]int32)
	var order []string
	for b := range p.c.Bins {
		x := &p.c.Bins[b]
		if x.Existing() || p.base.Remaining(int32(b), 1) == 0 {
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
		slices.SortStableFunc(of, func(a, b int32) int { return cmp.Compare(p.c.Bins[a].Price, p.c.Bins[b].Price) })
		for len(of) > 0 {
			var one, others []int32
			for _, b := range of {
				if len(one) == 0 || len(one) < mostAlike && p.alike(of[0], b) {
					one = append(one, b)
				} else {
					others = append(others, b)
				}
			}
			p.addBin(one)
			of = others
		}
	}
}

// addBin adds a bin that stands for some, the cheapest first.
func (p *Simpler) addBin(some []int32) {
	first := &p.c.Bins[some[0]]
	bin := problem.Bin{Price: first.Price, Free: first.Free, Takes: bits.New(len(p.Items)), Most: -1}
	if first.Limited {
		bin.Most = int(p.base.Remaining(some[0], int32(first.Copies)))
	}
	for _, b := range some {
		bin.Takes.AddAll(p.c.Bins[b].Takes)
	}
	p.Bins, p.BinsOf = append(p.Bins, bin), append(p.BinsOf, some)
}

// addLimits adds what is left of limits.
func (p *Simpler) addLimits() {
	for l, most := range p.base.LimitLeft {
		limit := problem.Limit{Most: max(0, most), Amount: make([]int64, len(p.BinsOf))}
		for b, of := range p.BinsOf {
			limit.Amount[b] = p.c.Bins[of[0]].Amount[l]
		}
		p.Limits = append(p.Limits, limit)
	}
}

// alike says whether two bins, the cheaper one first, cost about as much and take much the same pods.
func (p *Simpler) alike(a, b int32) bool {
	x, y := &p.c.Bins[a], &p.c.Bins[b]
	if float64(y.Price) > alikePrice*float64(x.Price) {
		return false
	}
	both, either := 0, 0
	for i, n := range p.base.Rest {
		if x.Takes.Has(i) && y.Takes.Has(i) {
			both += int(n)
		}
		if x.Takes.Has(i) || y.Takes.Has(i) {
			either += int(n)
		}
	}
	return both*leastShared > either
}

// joinNear gives items of about equal requests the mean of these, where the same bins take them and they have a part in
// the same rules: as near as leaves no more than so many that differ.
func (p *Simpler) joinNear(most int) {
	for apart := firstApart; apart < lastApart; apart *= 1.25 {
		if groups := p.near(apart); len(groups) <= most {
			for _, of := range groups {
				p.takeMean(of)
			}
			return
		}
	}
}

// near are groups of items whose requests differ by no more than such a part of them in each resource, and which no bin
// that holds each of them tells apart.
func (p *Simpler) near(apart float64) map[string][]int {
	var key []byte
	cells, groups := make(map[string][]int), make(map[string][]int)
	for i, it := range p.Items {
		key = key[:0]
		for _, q := range it.Request {
			key = binary.AppendVarint(key, int64(math.Log1p(float64(q))/math.Log1p(apart)))
		}
		cells[string(key)] = append(cells[string(key)], i)
	}
	for cell, of := range cells {
		most := make([]int64, p.c.NumResources)
		for _, i := range of {
			for r, q := range p.Items[i].Request {
				most[r] = max(most[r], q)
			}
		}
		for _, i := range of {
			name := cell + p.apartBy(i, most)
			groups[name] = append(groups[name], i)
		}
	}
	return groups
}

// apartBy says which of the bins that hold most take an item, and which rules it has a part in.
func (p *Simpler) apartBy(item int, most []int64) string {
	key := []byte{0}
	for b := range p.Bins {
		if p.Bins[b].Takes.Has(item) && p.c.Bins[p.BinsOf[b][0]].Fits(most) {
			key = binary.AppendUvarint(key, uint64(b)+1)
		}
	}
	key = append(key, 0)
	for r := range p.Rules {
		if p.Rules[r].Counted.Has(item) {
			key = binary.AppendUvarint(key, uint64(r)+1)
		}
	}
	return string(key)
}

// takeMean gives items the mean request of all their pods, and has what takes any of them take all.
func (p *Simpler) takeMean(items []int) {
	mean, pods := make([]int64, p.c.NumResources), 0
	for _, i := range items {
		pods += p.Items[i].Count
	}
	for r := range mean {
		sum := 0.0
		for _, i := range items {
			sum += float64(float64(p.Items[i].Request[r]) * float64(p.Items[i].Count))
		}
		mean[r] = int64(math.Ceil(sum / float64(max(1, pods))))
	}
	for _, i := range items {
		p.Items[i].Request = mean
	}
	for b := range p.Bins {
		takes := &p.Bins[b].Takes
		if slices.ContainsFunc(items, takes.Has) {
			for _, i := range items {
				takes.Add(i)
			}
		}
	}
}
