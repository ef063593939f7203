// Package parts takes a packing problem apart where what is bought in one part changes nothing for another.
//
// It never solves anything. Start reading with Of.
package parts

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// Part is what of a problem has no bin and no limit in common with the rest of it: items and bins, by their places there.
type Part struct{ Items, Bins []int }

// Of splits a problem where nothing that is bought in one part changes what is best for another, as with teams that have a pool each: a
// programme of few rows is solved sooner and further than one of many. Items that no bin takes are in the first; nil where all is one part.
func Of(p *problem.Problem) []Part {
	sets := itemsApart(p)
	if len(sets) < 2 {
		return nil
	}
	out := make([]Part, len(sets))
	for i := range p.Items {
		at := max(0, slices.IndexFunc(sets, func(s bits.Set) bool { return s.Has(i) }))
		out[at].Items = append(out[at].Items, i)
	}
	for b := range p.Bins {
		if at := slices.IndexFunc(sets, p.Bins[b].Takes.Meets); at >= 0 {
			out[at].Bins = append(out[at].Bins, b)
		}
	}
	return out
}

// itemsApart are the items that bins take: those together of which a bin takes some, or bins that are under one limit do. Their order does not
// depend on that of the bins.
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

// Problem is the part as a problem of its own, with its share of the work. What is known of the whole is not known of it.
func (x *Part) Problem(p *problem.Problem) *problem.Problem {
	out := *p
	out.Items, out.Bins, out.Rules, out.Limits, out.Penalties, out.Known = nil, nil, nil, nil, nil, 0
	for _, i := range x.Items {
		out.Items = append(out.Items, p.Items[i])
	}
	binAt := make(map[int]int, len(x.Bins))
	for k, b := range x.Bins {
		bin := p.Bins[b]
		bin.Takes = x.within(bin.Takes)
		out.Bins, binAt[b] = append(out.Bins, bin), k
	}
	for _, r := range p.Rules { // all of them: bins name them by their places
		out.Rules = append(out.Rules, problem.Rule{Trigger: x.within(r.Trigger), Counted: x.within(r.Counted), Most: r.Most})
	}
	for _, l := range p.Limits {
		limit := problem.Limit{Most: l.Most}
		for _, b := range x.Bins {
			limit.Amount = append(limit.Amount, l.Amount[b])
		}
		if slices.ContainsFunc(limit.Amount, func(amount int64) bool { return amount != 0 }) {
			out.Limits = append(out.Limits, limit)
		}
	}
	for _, v := range p.Penalties {
		i, found := slices.BinarySearch(x.Items, v.Item)
		if b, ok := binAt[v.Bin]; ok && found {
			out.Penalties = append(out.Penalties, problem.Penalty{Item: i, Bin: b, Price: v.Price})
		}
	}
	if p.Work > 0 {
		out.Work = max(1, int64(float64(p.Work)*float64(podsOf(out.Items))/float64(max(1, podsOf(p.Items)))))
	}
	return &out
}

// within are those items of a set that are in the part, by their places there.
func (x *Part) within(s bits.Set) bits.Set {
	out := bits.New(len(x.Items))
	for k, i := range x.Items {
		if s.Has(i) {
			out.Add(k)
		}
	}
	return out
}

func podsOf(items []problem.Item) (n int) {
	for _, it := range items {
		n += it.Count
	}
	return n
}
