package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Items groups pods by class: important ones first, then large ones, then by class id.
func Items(w *view.World, pods []int) []Item {
	byClass := make(map[*view.Class][]int)
	var classes []*view.Class
	for _, p := range pods {
		c := w.Pods[p].Class
		if byClass[c] == nil {
			classes = append(classes, c)
		}
		byClass[c] = append(byClass[c], p)
	}
	slices.SortFunc(classes, func(a, b *view.Class) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(size(b), size(a)), cmp.Compare(a.Index, b.Index))
	})
	items := make([]Item, len(classes))
	for i, c := range classes {
		slices.Sort(byClass[c])
		items[i] = Item{Class: c, Pods: byClass[c]}
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

// fillHost is a host as its place in the order: its rank, the room that it has, its index.
type fillHost struct{ rank, room, host int32 }

func (a fillHost) before(b fillHost) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.room != b.room {
		return a.room < b.room
	}
	return a.host < b.host
}

// newFilling uses the memory of heap.
func newFilling(v *view.View, m *fit.Matcher, c *view.Class, usable func(host int) bool, heap []fillHost) *filling {
	f := &filling{matcher: m, class: c, heap: heap}
	for i, h := range v.Hosts {
		if !v.Open(i) {
			continue
		}
		room := view.Fits(v.Free(i), c.Requested, 1<<30)
		if room == 0 || !usable(i) {
			continue
		}
		rank := int32(0)
		switch {
		case h.Node == nil:
			rank = 2
		case !h.Initialized:
			rank = 1
		}
		f.heap = append(f.heap, fillHost{rank, int32(room), int32(i)})
	}
	for i := len(f.heap)/2 - 1; i >= 0; i-- {
		f.sink(i)
	}
	return f
}

// next is the next host; ok is false when there is none.
func (f *filling) next() (host int, ok bool) {
	for len(f.heap) > 0 {
		first, last := f.heap[0], len(f.heap)-1
		f.heap[0] = f.heap[last]
		f.heap = f.heap[:last]
		f.sink(0)
		if f.matcher.Admits(f.class, int(first.host)) {
			return int(first.host), true
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
		if right := least + 1; right < len(h) && h[right].before(h[least]) {
			least = right
		}
		if !h[least].before(h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// fillOrder lists the hosts that have room for a class, in the order in which to fill them.
func fillOrder(v *view.View, m *fit.Matcher, c *view.Class, usable func(host int) bool) []int {
	f := newFilling(v, m, c, usable, nil)
	out := make([]int, 0, len(f.heap))
	slices.SortFunc(f.heap, func(a, b fillHost) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	for _, x := range f.heap {
		if m.Admits(c, int(x.host)) {
			out = append(out, int(x.host))
		}
	}
	return out
}
