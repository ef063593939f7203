package consolidate

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

const (
	// leastFill is how much of what a node's free capacity could hold at best it must be filled with; else it waits for better pods.
	leastFill = 0.95
	// poorFill is the same where pods are few: a better one may not come.
	poorFill = 0.85
	// leastWorth is how much of what new nodes cost their pods must be worth; else the pods go wherever they fit.
	leastWorth = 0.92
)

// fillAndBuy moves the pods of a set: nodes that are kept are filled up with what fills them well, the rest gets new nodes
// that are bought together. Where those would be half empty, what is left goes wherever it fits first. For few pods several ways to
// fill nodes are tried: the one is taken that leaves the least to buy, for what it uses up of what later sets could be put in.
func (t *trials) fillAndBuy(set []int) (draft.Decision, bool) {
	d := draft.Decision{Hosts: set, Evicted: t.draft.Movable(set...)}
	for _, h := range set {
		for _, p := range t.draft.Moving[h] {
			t.draft.Scheduler.UncountBound(p, h)
		}
	}
	rest := market.Items(t.v.World, append(t.draft.BufferPodsOn(set), d.Evicted...))
	if t.many || len(d.Evicted) > maxVaried {
		return t.inWay(t.usual(), d, rest)
	}
	return t.inWay(t.leastWay(d, rest), d, rest)
}

// Several ways are tried for sets of so many pods at most, of so many candidates: many pods fill nodes well in any case, and each way
// takes as long as the other.
const (
	maxVaried      = 200
	maxVariedNodes = 64
)

// way is how the pods of a set come to nodes that are kept.
type way struct {
	// fit puts them wherever they fit, and knows no more.
	fit bool
	// least is how much of its potential a node must be filled with.
	least float64
	// order is which nodes are filled first.
	order fillOrder
}

type fillOrder int

// The orders: nodes that stay in any case first, or by what could be filled in.
const (
	fixedFirst fillOrder = iota
	smallestFirst
	largestFirst
)

// usual is the way of large sets.
func (t *trials) usual() way { return way{fit: t.lastSet, least: leastFill} }

// ways are those that are tried, the usual one first.
func (t *trials) ways() []way {
	out := []way{
		t.usual(), {fit: true}, {least: leastFill}, {least: poorFill}, {least: leastFill, order: smallestFirst}, {least: leastFill, order: largestFirst},
	}
	return slices.CompactFunc(out, func(a, b way) bool { return a.fit && b.fit || a == b })
}

// leastWay is the way that costs least; the usual one where they are alike.
func (t *trials) leastWay(d draft.Decision, rest []market.Item) way {
	t.draft.Scheduler.Rough = true // they are compared
	defer func() { t.draft.Scheduler.Rough = t.rough }()
	ways := t.ways()
	best, least := ways[0], math.Inf(1)
	for i, w := range ways {
		mark := t.draft.Scheduler.Mark()
		moved, ok := t.inWay(w, d, rest)
		hosts := destinationHosts(&moved)
		after := t.potential(hosts)
		t.draft.Scheduler.Revert(mark)
		switch {
		case !ok && i == 0:
			return w // some pod fits nowhere
		case !ok:
			continue
		}
		cost := 0.0
		if !t.lastSet {
			cost = t.potential(hosts) - after
		}
		for _, b := range moved.Replacements {
			cost += float64(b.Best().Price + t.v.Policy.PerNodeOverhead)
		}
		if cost < least*(1-exact) {
			best, least = w, cost
		}
	}
	return best
}

// potential is about what hosts could still be filled with.
func (t *trials) potential(hosts []int) (sum float64) {
	for _, h := range hosts {
		sum += attained * t.filler.fill(t.v.Free(h))
	}
	return sum
}

// destinationHosts are the hosts that a decision sends pods to.
func destinationHosts(d *draft.Decision) []int {
	out := make([]int, len(d.Destinations))
	for i := range d.Destinations {
		out[i] = d.Destinations[i].Host
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inWay moves the pods of a set in one way.
func (t *trials) inWay(w way, d draft.Decision, rest []market.Item) (draft.Decision, bool) {
	if w.fit {
		return t.fitAndBuy(d, rest)
	}
	d.Destinations, rest = t.fillUp(w, rest)
	mark := t.draft.Scheduler.Mark()
	_, bought, unplaced := t.draft.Scheduler.Buy(rest, t.draft.Limits.Clone())
	if len(unplaced) == 0 && (t.lastSet || t.worthBuying(rest, bought)) {
		d.Replacements = bought
		return d, true
	}
	t.draft.Scheduler.Revert(mark)
	return t.fitAndBuy(d, rest)
}

// fitAndBuy puts pods wherever they fit, and buys for the rest.
func (t *trials) fitAndBuy(d draft.Decision, rest []market.Item) (draft.Decision, bool) {
	destinations, left := t.draft.Scheduler.OnHosts(rest, func(h int) bool { return t.usable(h) && t.draft.Ready(h) })
	d.Destinations = append(d.Destinations, destinations...)
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
func (t *trials) fillUp(w way, items []market.Item) (assigned []pack.Assignment, rest []market.Item) {
	var free []market.Item
	for _, it := range items {
		if t.draft.Scheduler.HasPodRules(it.Class) {
			rest = append(rest, it)
		} else {
			free = append(free, it)
		}
	}
	for _, h := range t.inOrder(w.order) {
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
		if worth < w.least*potential {
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

// inOrder are all hosts, in the order in which they are filled.
func (t *trials) inOrder(order fillOrder) []int {
	out := make([]int, len(t.fixed))
	for h := range out {
		out[h] = h
	}
	key := make([]float64, len(out))
	for h := range key {
		switch {
		case order == fixedFirst && t.fixed[h]:
			key[h] = -1
		case order != fixedFirst && t.usable(h) && t.v.Open(h):
			key[h] = t.filler.fill(t.v.Free(h))
			if order == largestFirst {
				key[h] = -key[h]
			}
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	return out
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
