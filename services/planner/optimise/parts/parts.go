// Package parts takes a packing problem apart where what is bought in one part changes nothing for another.
//
// It never solves anything. Start reading with Of.
package parts

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// Part is what of a problem has no bin and no limit in common with the rest of it: Items and Bins are the places in the
// whole of those of the part's own problem.
type Part struct {
	Items, Bins []int
	Problem     problem.Problem
	// ruleAt are the places of those rules that its items have a part in.
	ruleAt map[int]int
}

// Of takes a problem apart where nothing that is bought in one part changes what is best for another, as with teams
// that have a pool each: a programme of few rows is solved sooner and further than one of many. Each has its share of
// the work, and what is known of the whole is not known of any. Items that no bin takes are in the first; nil where all
// is one part.
func Of(p *problem.Problem) []Part {
	sets := itemsApart(p)
	if len(sets) < 2 {
		return nil
	}
	x := sharer{whole: p, parts: make([]Part, len(sets)), of: make([]int, len(p.Items)), at: make([]int, len(p.Items))}
	for k := range x.parts {
		x.parts[k].Problem, x.parts[k].ruleAt = *p, make(map[int]int)
		q := &x.parts[k].Problem
		q.Items, q.Bins, q.Rules, q.Limits, q.Penalties, q.Known = nil, nil, nil, nil, nil, 0
	}
	for k, s := range sets {
		for i := range s.All() {
			x.of[i] = k
		}
	}
	for i, it := range p.Items {
		q := &x.parts[x.of[i]]
		x.at[i] = len(q.Items)
		q.Items, q.Problem.Items = append(q.Items, i), append(q.Problem.Items, it)
	}
	x.shareRules()
	x.shareBins()
	if p.Work > 0 {
		for k := range x.parts {
			q := &x.parts[k].Problem
			q.Work = max(1, int64(float64(p.Work)*float64(podsOf(q.Items))/float64(max(1, podsOf(p.Items)))))
		}
	}
	return x.parts
}

// itemsApart are the items that bins take: those together of which a bin takes some, or bins that are under one limit
// do. Their order does not depend on that of the bins.
func itemsApart(p *problem.Problem) (sets []bits.Set) {
	join := func(some bits.Set) {
		if some.Len() == 0 || slices.ContainsFunc(sets, func(s bits.Set) bool { return s.Covers(some) }) {
			return
		}
		joined := slices.Clone(some)
		sets = slices.DeleteFunc(sets, func(s bits.Set) bool {
			if !s.Meets(some) {
				return false
			}
			joined.AddAll(s)
			return true
		})
		sets = append(sets, joined)
	}
	for b := range p.Bins {
		join(p.Bins[b].Takes)
	}
	for _, l := range p.Limits {
		var limited bits.Set
		for b, amount := range l.Amount {
			if amount != 0 {
				limited.AddAll(p.Bins[b].Takes)
			}
		}
		join(limited)
	}
	slices.SortFunc(sets, func(a, b bits.Set) int { return a.First() - b.First() })
	return sets
}

// sharer shares a problem out: by item, of is its part, and at its place there.
type sharer struct {
	whole  *problem.Problem
	parts  []Part
	of, at []int
}

// within splits a set of items by part, each with places there.
func (x *sharer) within(s bits.Set) map[int]bits.Set {
	out := make(map[int]bits.Set)
	for i := range s.All() {
		some := out[x.of[i]]
		some.Add(x.at[i])
		out[x.of[i]] = some
	}
	return out
}

// shareRules gives each part the rules that its items have a part in.
func (x *sharer) shareRules() {
	for r, rule := range x.whole.Rules {
		triggers, counted := x.within(rule.Trigger), x.within(rule.Counted)
		for k := range x.parts {
			if triggers[k] != nil || counted[k] != nil {
				q := &x.parts[k]
				q.ruleAt[r] = len(q.Problem.Rules)
				q.Problem.Rules = append(q.Problem.Rules, problem.Rule{Trigger: triggers[k], Counted: counted[k], Most: rule.Most})
			}
		}
	}
}

// shareBins gives each part its bins, with what is said of them.
func (x *sharer) shareBins() {
	partOf, at := make([]int, len(x.whole.Bins)), make([]int, len(x.whole.Bins))
	for b, bin := range x.whole.Bins {
		first := bin.Takes.First()
		if first < 0 {
			partOf[b] = -1
			continue
		}
		partOf[b] = x.of[first]
		q := &x.parts[partOf[b]]
		bin.Takes = x.within(bin.Takes)[partOf[b]]
		var before []problem.Before
		for _, v := range bin.Before {
			if r, ok := q.ruleAt[v.Rule]; ok {
				v.Rule = r
				before = append(before, v)
			}
		}
		bin.Before, at[b] = before, len(q.Bins)
		q.Bins, q.Problem.Bins = append(q.Bins, b), append(q.Problem.Bins, bin)
	}
	for _, l := range x.whole.Limits {
		k := -1 // all bins that it is over and that take something are in one part
		for b, amount := range l.Amount {
			if amount != 0 && partOf[b] >= 0 {
				k = partOf[b]
				break
			}
		}
		if k < 0 {
			continue
		}
		q, limit := &x.parts[k], problem.Limit{Most: l.Most}
		for _, b := range q.Bins {
			limit.Amount = append(limit.Amount, l.Amount[b])
		}
		q.Problem.Limits = append(q.Problem.Limits, limit)
	}
	for _, v := range x.whole.Penalties {
		if k := x.of[v.Item]; k == partOf[v.Bin] {
			q := &x.parts[k].Problem
			q.Penalties = append(q.Penalties, problem.Penalty{Item: x.at[v.Item], Bin: at[v.Bin], Price: v.Price})
		}
	}
}

func podsOf(items []problem.Item) (n int) {
	for _, it := range items {
		n += it.Count
	}
	return n
}
