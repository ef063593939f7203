// Package queue has the hosts with free capacity for pods of a class, in the order in which to fill them: those that can be
// relied on first, then those that meet more preferences, then the fullest. It does not say how many pods fit there. Start
// reading with Hosts.
package queue

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Hosts is the hosts with free capacity for a class, in the order in which to fill them. They are sorted as they are
// asked for: mostly a few of thousands are enough.
type Hosts struct {
	matcher *fit.Matcher
	class   *view.Class
	// heap has the next host first.
	heap []Entry
}

// Entry is a host as its place in the order, in one number: its rank, its free capacity, its index. The rank is how
// far it can be relied on, and below that the preferences that it does not meet.
type Entry uint64

// An Entry has so many bits for a host's index, and for its free capacity; the rest is for its rank.
const (
	hostBits     = 20
	capacityBits = 22
)

func newEntry(rank, free int32, host int) Entry {
	free = min(free, 1<<capacityBits-1)
	return Entry(rank)<<(capacityBits+hostBits) | Entry(free)<<hostBits | Entry(host)
}

func (h Entry) host() int { return int(h & (1<<hostBits - 1)) }

// Closed is the rank of a host that takes no more pods, whatever is tried out.
const Closed = -1

// Ranks says for each host when its turn comes: nodes first, those that are starting next, claims in flight last.
func Ranks(v *view.View) []int8 {
	out := make([]int8, len(v.Hosts))
	for i, h := range v.Hosts {
		switch {
		case h.Closed:
			out[i] = Closed
		case h.Node == nil:
			out[i] = 2
		case !h.Initialized:
			out[i] = 1
		}
	}
	return out
}

// resourceRequest is how much a pod takes of one resource: inverse saves a division for each host.
type resourceRequest struct {
	resource int
	amount   int64
	inverse  float64
}

// penaltyBits are for the weight of the preferences that a host does not meet, below its rank.
const penaltyBits = 20

// New is the queue of those hosts that usable allows, by their ranks. It uses the memory of heap.
func New(v *view.View, c *view.Class, usable func(host int) bool, ranks []int8, heap []Entry) *Hosts {
	f := &Hosts{class: c, heap: heap}
	var requests []resourceRequest
	for i, q := range c.Requested {
		if q > 0 {
			requests = append(requests, resourceRequest{i, q, 1 / float64(q)})
		}
	}
	preferred := len(c.Profile.Preferred) > 0 && !c.Profile.Indifferent
	for i, rank := range ranks {
		if rank == Closed {
			continue
		}
		order := int32(rank) << penaltyBits
		if h := v.Hosts[i]; preferred {
			order += min(fit.PreferencePenalty(c.Profile, &fit.Place{Labels: h.LabelSets[0], Taints: h.Taints}), 1<<penaltyBits-1)
		}
		free := capacityFor(v.Free(i), requests)
		if free < 0 || v.Removed(i) || !usable(i) {
			continue
		}
		f.heap = append(f.heap, newEntry(order, free, i))
	}
	for i := len(f.heap)/2 - 1; i >= 0; i-- {
		f.sink(i)
	}
	return f
}

// Memory is for another queue to use once this one is not asked any more.
func (f *Hosts) Memory() []Entry { return f.heap }

// JudgedBy says who judges the hosts.
func (f *Hosts) JudgedBy(m *fit.Matcher) *Hosts {
	f.matcher = m
	return f
}

// capacityFor is for about how many pods there is capacity, which is what hosts are sorted by; below 0 for none at all.
func capacityFor(free view.Vector, requests []resourceRequest) int32 {
	pods := float64(1 << 30)
	for _, a := range requests {
		has := free[a.resource]
		if has < a.amount {
			return -1
		}
		pods = min(pods, float64(has)*a.inverse)
	}
	return int32(pods)
}

// Next is the next host; ok is false when there is none.
func (f *Hosts) Next() (host int, ok bool) {
	for len(f.heap) > 0 {
		first, last := f.heap[0], len(f.heap)-1
		f.heap[0] = f.heap[last]
		f.heap = f.heap[:last]
		f.sink(0)
		if f.matcher.Admits(f.class, first.host()) {
			return first.host(), true
		}
	}
	return 0, false
}

// sink moves the i-th of the heap down to its place.
func (f *Hosts) sink(i int) {
	for h := f.heap; ; {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right] < h[least] {
			least = right
		}
		if h[i] < h[least] {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// Order lists the hosts with free capacity for a class, in the order in which to fill them.
func Order(v *view.View, m *fit.Matcher, c *view.Class, usable func(host int) bool) []int {
	f := New(v, c, usable, Ranks(v), nil).JudgedBy(m)
	out := make([]int, 0, len(f.heap))
	slices.Sort(f.heap)
	for _, x := range f.heap {
		if m.Admits(c, x.host()) {
			out = append(out, x.host())
		}
	}
	return out
}
