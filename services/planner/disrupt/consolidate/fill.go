package consolidate

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

const (
	// leastFill is how much of what a node's free capacity could hold at best it must be filled with; else it waits for
	// better pods.
	leastFill = 0.95
	// leastWorth is how much of what new nodes cost their pods must be worth; else the pods go wherever they fit.
	leastWorth = 0.92
)

// fillAndBuy moves the pods of a set: nodes that are kept are filled up with what fills them well, the rest gets new nodes
// that are bought together. Where those would be half empty, what is left goes wherever it fits first.
func (t *trials) fillAndBuy(set []int) (draft.Decision, bool) {
	d := draft.Decision{Hosts: set, Evicted: t.draft.Movable(set...)}
	t.draft.Empty(set)
	rest := market.Items(t.v.World, append(t.draft.BufferPodsOn(set), d.Evicted...))
	if t.lastSet {
		return t.fitAndBuy(d, rest)
	}
	d.Destinations, rest = t.fillUp(rest)
	mark := t.draft.Scheduler.Mark()
	_, bought, unplaced := t.draft.Scheduler.Buy(rest, t.draft.Limits.Clone())
	if len(unplaced) == 0 && t.worthBuying(rest, bought) {
		d.Replacements = bought
		return d, true
	}
	t.draft.Scheduler.Revert(mark)
	return t.fitAndBuy(d, rest)
}

// fitAndBuy puts pods wherever they fit, and buys for the rest.
func (t *trials) fitAndBuy(d draft.Decision, rest []market.Item) (draft.Decision, bool) {
	var left []market.Item
	for _, items := range t.inTurn(d.Hosts, rest) {
		destinations, more := t.draft.Scheduler.OnHosts(items, func(h int) bool { return t.usable(h) && t.draft.Ready(h) })
		d.Destinations, left = append(d.Destinations, destinations...), append(left, more...)
	}
	left = market.Items(t.v.World, podsOf(left))
	_, bought, unplaced := t.draft.Scheduler.Buy(left, t.draft.Limits.Clone())
	d.Replacements = bought
	return d, len(unplaced) == 0
}

// worthBuying says that new nodes cost not much more than their pods are worth.
func (t *trials) worthBuying(items []market.Item, bought []*purchase.NewClaim) bool {
	worth, cost := 0.0, 0.0
	for _, it := range items {
		worth += t.appraisal.worth.Of(it.Class) * float64(len(it.Pods))
	}
	for _, b := range bought {
		cost += float64(b.Best().Price + t.v.Policy.PerNodeOverhead)
	}
	return worth >= leastWorth*cost
}

// fillUp fills nodes, one after the other, each with those pods that are worth most there. One that can't be filled well
// stays as it is.
func (t *trials) fillUp(items []market.Item) (assigned []pack.Assignment, rest []market.Item) {
	var free []market.Item
	for _, it := range items {
		if t.draft.Scheduler.Tally().Rules().Constrained(it.Class) {
			rest = append(rest, it)
		} else {
			free = append(free, it)
		}
	}
	for _, h := range t.fixedFirst() {
		if len(free) == 0 {
			break
		}
		if !t.usable(h) || !t.v.Open(h) || !t.draft.Ready(h) {
			continue
		}
		potential := t.filler.fill(t.v.Free(h))
		if potential <= 0 {
			continue
		}
		mark := t.draft.Scheduler.Mark()
		took, worth := t.fillOne(h, free)
		if worth < leastFill*potential {
			t.draft.Scheduler.Revert(mark)
			continue
		}
		for i, n := range took {
			for _, p := range free[i].Pods[:n] {
				assigned = append(assigned, pack.Assignment{Pod: p, Host: h})
			}
			free[i].Pods = free[i].Pods[n:]
		}
	}
	for _, it := range free {
		if len(it.Pods) > 0 {
			rest = append(rest, it)
		}
	}
	return assigned, rest
}

// fixedFirst are all hosts, those that stay in any case first.
func (t *trials) fixedFirst() []int {
	var out, others []int
	for h, stays := range t.fixed {
		if stays {
			out = append(out, h)
		} else {
			others = append(others, h)
		}
	}
	return append(out, others...)
}

// fillOne places pods on a host, as filler.fill does with endlessly many of them.
func (t *trials) fillOne(host int, items []market.Item) (took []int, worth float64) {
	took = make([]int, len(items))
	for range fillRounds {
		best, most, count := -1, 0.0, 0
		for i := range items {
			left := len(items[i].Pods) - took[i]
			if left == 0 {
				continue
			}
			n := min(capacity(t.v.Free(host), items[i].Class.Requested), float64(left))
			if v := t.appraisal.worth.Of(items[i].Class) * n; n >= 1 && v > most && t.draft.Matcher.Admits(items[i].Class, host) {
				best, most, count = i, v, int(n)
			}
		}
		if best < 0 {
			break
		}
		n := t.draft.Matcher.Capacity(items[best].Class, host, (count+1)/2)
		if n == 0 {
			break
		}
		t.v.Place(host, items[best].Class, n)
		took[best] += n
		worth += t.appraisal.worth.Of(items[best].Class) * float64(n)
	}
	return took, worth
}

// inTurn parts the pods of a set by when they are moved. Where nodes are drained one after the other the scheduler puts
// the first that come wherever there is room, whatever was planned to be there later: so they are planned there.
func (t *trials) inTurn(hosts []int, items []market.Item) [][]market.Item {
	if !t.staged {
		return [][]market.Item{items}
	}
	of := t.draft.PodHosts(hosts)
	by := make(map[int][]int, len(hosts))
	for _, p := range podsOf(items) {
		by[of[p]] = append(by[of[p]], p)
	}
	var out [][]market.Item
	for _, h := range t.draft.Turns(hosts) {
		out = append(out, market.Items(t.v.World, by[h]))
	}
	return out
}

func podsOf(items []market.Item) []int {
	var out []int
	for _, it := range items {
		out = append(out, it.Pods...)
	}
	slices.Sort(out)
	return out
}
