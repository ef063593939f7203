package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Items groups pods by class: important ones first, then large ones, then by class id.
func Items(w *view.World, pods []int) []Item {
	type sized struct {
		Item
		size int64
	}
	var classes []sized
	at := make(map[*view.Class]int)
	for _, p := range pods {
		c := w.Pods[p].Class
		i, ok := at[c]
		if !ok {
			i = len(classes)
			at[c] = i
			classes = append(classes, sized{Item{Class: c}, size(c)})
		}
		classes[i].Pods = append(classes[i].Pods, p)
	}
	slices.SortFunc(classes, func(a, b sized) int {
		return cmp.Or(cmp.Compare(b.Class.Priority, a.Class.Priority), cmp.Compare(b.size, a.size), cmp.Compare(a.Class.Index, b.Class.Index))
	})
	items := make([]Item, len(classes))
	for i, c := range classes {
		slices.Sort(c.Pods)
		items[i] = c.Item
	}
	return items
}

// size compares pods of different shape: a core weighs as much as 4 GiB, which is what they cost on EC2.
func size(c *view.Class) int64 {
	return c.Requests.Value(model.CPU)*(4<<30)/1000 + c.Requests.Value(model.Memory)
}

// filling is hosts that have room for a class, in the order in which to fill them. They are put in order as they are
// asked for: mostly a few of thousands are enough.
type filling struct {
	matcher *fit.Matcher
	class   *view.Class
	// heap has the next host first.
	heap []fillHost
}

// fillHost is a host as its place in the order, in one number: its rank, the room that it has, its index. The rank is how
// far it can be relied on, and below that the wishes that it does not meet.
type fillHost uint64

// A fillHost has so many bits for a host's index, and for its room; the rest is for its rank.
const (
	hostBits = 20
	roomBits = 22
)

func newFillHost(rank, room int32, host int) fillHost {
	room = min(room, 1<<roomBits-1)
	return fillHost(rank)<<(roomBits+hostBits) | fillHost(room)<<hostBits | fillHost(host)
}

func (h fillHost) host() int { return int(h & (1<<hostBits - 1)) }

// closed is the rank of a host that takes no more pods, whatever is tried out.
const closed = -1

// ranks says for each host when its turn comes: nodes first, those that are starting next, claims in flight last.
func ranks(v *view.View) []int8 {
	out := make([]int8, len(v.Hosts))
	for i, h := range v.Hosts {
		switch {
		case h.Closed:
			out[i] = closed
		case h.Node == nil:
			out[i] = 2
		case !h.Initialized:
			out[i] = 1
		}
	}
	return out
}

// ask is how much a pod takes of one resource: a division costs more than all else that is done for a host.
type ask struct {
	resource int
	amount   int64
	inverse  float64
}

// wishBits leaves room, below a host's rank, for the weight of the wishes that it does not meet.
const wishBits = 20

// newFilling uses the memory of heap.
func newFilling(v *view.View, c *view.Class, usable func(host int) bool, ranks []int8, heap []fillHost) *filling {
	f := &filling{class: c, heap: heap}
	var asks []ask
	for i, q := range c.Requested {
		if q > 0 {
			asks = append(asks, ask{i, q, 1 / float64(q)})
		}
	}
	wishes := len(c.Profile.Preferred) > 0 && !c.Profile.Indifferent
	for i, rank := range ranks {
		if rank == closed {
			continue
		}
		order := int32(rank) << wishBits
		if h := v.Hosts[i]; wishes {
			order += min(fit.PreferencePenalty(c.Profile, &fit.Place{Labels: h.LabelSets[0], Taints: h.Taints}), 1<<wishBits-1)
		}
		room := roomFor(v.Free(i), asks)
		if room < 0 || v.Removed(i) || !usable(i) {
			continue
		}
		f.heap = append(f.heap, newFillHost(order, room, i))
	}
	for i := len(f.heap)/2 - 1; i >= 0; i-- {
		f.sink(i)
	}
	return f
}

// by says who judges the hosts.
func (f *filling) by(m *fit.Matcher) *filling {
	f.matcher = m
	return f
}

// roomFor is for about how many pods there is room, which is what hosts are put in order by; below 0 for none at all.
func roomFor(free view.Vector, asks []ask) int32 {
	room := float64(1 << 30)
	for _, a := range asks {
		has := free[a.resource]
		if has < a.amount {
			return -1
		}
		room = min(room, float64(has)*a.inverse)
	}
	return int32(room)
}

// next is the next host; ok is false when there is none.
func (f *filling) next() (host int, ok bool) {
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

// sink puts the i-th of the heap in its place.
func (f *filling) sink(i int) {
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

// fillOrder lists the hosts that have room for a class, in the order in which to fill them.
func fillOrder(v *view.View, m *fit.Matcher, c *view.Class, usable func(host int) bool) []int {
	f := newFilling(v, c, usable, ranks(v), nil).by(m)
	out := make([]int, 0, len(f.heap))
	slices.Sort(f.heap)
	for _, x := range f.heap {
		if m.Admits(c, x.host()) {
			out = append(out, x.host())
		}
	}
	return out
}
