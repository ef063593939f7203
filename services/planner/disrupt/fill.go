package disrupt

import (
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

const (
	// tight is how much of what a node's room could hold at best it must be filled with; else it waits for better pods.
	tight = 0.95
	// thrifty is how much of what new nodes cost their pods must be worth; else the pods go wherever there is room.
	thrifty = 0.92
)

// fillAndBuy moves the pods of a set: nodes that are kept are filled up with what fills them well, the rest gets new nodes
// that are bought together. Where those would be half empty, what is left goes wherever there is room first.
func (t *tries) fillAndBuy(set []int) (Decision, bool) {
	d := Decision{Hosts: set, Evicted: t.movable(set...)}
	for _, h := range set {
		for _, p := range t.moving[h] {
			t.Scheduler.UncountBound(p, h)
		}
	}
	rest := market.Items(t.v.World, append(t.roomOn(set), d.Evicted...))
	if t.loose {
		return t.fitAndBuy(d, rest)
	}
	d.Spots, rest = t.fillUp(rest)
	mark := t.Scheduler.Mark()
	_, bought, homeless := t.Scheduler.Buy(rest, t.Limits.Clone())
	if len(homeless) == 0 && t.thriftily(rest, bought) {
		d.Replacements = bought
		return d, true
	}
	t.Scheduler.Revert(mark)
	return t.fitAndBuy(d, rest)
}

// fitAndBuy puts pods wherever there is room, and buys for the rest.
func (t *tries) fitAndBuy(d Decision, rest []market.Item) (Decision, bool) {
	spots, left := t.Scheduler.OnHosts(rest, func(h int) bool { return t.usable(h) && t.ready(h) })
	d.Spots = append(d.Spots, spots...)
	_, bought, homeless := t.Scheduler.Buy(left, t.Limits.Clone())
	d.Replacements = bought
	return d, len(homeless) == 0
}

// thriftily says that new nodes cost not much more than their pods are worth.
func (t *tries) thriftily(items []market.Item, bought []*purchase.NewClaim) bool {
	worth, cost := 0.0, 0.0
	for _, it := range items {
		worth += t.worth.Of(it.Class) * float64(len(it.Pods))
	}
	for _, b := range bought {
		cost += float64(b.Best().Price + t.v.Policy.PerNodeOverhead)
	}
	return worth >= thrifty*cost
}

// fillUp fills nodes, one after the other, each with those pods that are worth most there. One that can't be filled well
// stays as it is.
func (t *tries) fillUp(items []market.Item) (seats []pack.Assignment, rest []market.Item) {
	var free []market.Item
	for _, it := range items {
		if t.Scheduler.HasPodRules(it.Class) {
			rest = append(rest, it)
		} else {
			free = append(free, it)
		}
	}
	for _, h := range t.fixedFirst() {
		if len(free) == 0 {
			break
		}
		if !t.usable(h) || !t.v.Open(h) || !t.ready(h) {
			continue
		}
		potential := t.filler.fill(t.v.Free(h))
		if potential <= 0 {
			continue
		}
		mark := t.Scheduler.Mark()
		took, worth := t.fillOne(h, free)
		if worth < tight*potential {
			t.Scheduler.Revert(mark)
			continue
		}
		for i, n := range took {
			for _, p := range free[i].Pods[:n] {
				seats = append(seats, pack.Assignment{Pod: p, Host: h})
			}
			free[i].Pods = free[i].Pods[n:]
		}
	}
	for _, it := range free {
		if len(it.Pods) > 0 {
			rest = append(rest, it)
		}
	}
	return seats, rest
}

// fixedFirst are all hosts, those that stay in any case first.
func (t *tries) fixedFirst() []int {
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
func (t *tries) fillOne(host int, items []market.Item) (took []int, worth float64) {
	took = make([]int, len(items))
	for range fillRounds {
		best, most, count := -1, 0.0, 0
		for i := range items {
			left := len(items[i].Pods) - took[i]
			if left == 0 {
				continue
			}
			n := min(room(t.v.Free(host), items[i].Class.Requested), float64(left))
			if v := t.worth.Of(items[i].Class) * n; n >= 1 && v > most && t.Matcher.Admits(items[i].Class, host) {
				best, most, count = i, v, int(n)
			}
		}
		if best < 0 {
			break
		}
		n := t.Matcher.Capacity(items[best].Class, host, (count+1)/2)
		if n == 0 {
			break
		}
		t.v.Place(host, items[best].Class, n)
		took[best] += n
		worth += t.worth.Of(items[best].Class) * float64(n)
	}
	return took, worth
}
