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

// fillOrder lists the hosts that have room for a class, in the order in which to fill them.
func fillOrder(v *view.View, m *fit.Matcher, c *view.Class, usable func(host int) bool) []int {
	type candidate struct{ host, rank, room int }
	var cs []candidate
	for i, h := range v.Hosts {
		room := view.Fits(v.Free(i), c.Requested, 1<<30)
		if room == 0 || !v.Open(i) || !usable(i) || !m.Admits(c, i) {
			continue
		}
		rank := 0
		switch {
		case h.Node == nil:
			rank = 2
		case !h.Initialized:
			rank = 1
		}
		cs = append(cs, candidate{i, rank, room})
	}
	slices.SortFunc(cs, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.room, b.room), cmp.Compare(a.host, b.host))
	})
	out := make([]int, len(cs))
	for i, x := range cs {
		out[i] = x.host
	}
	return out
}
