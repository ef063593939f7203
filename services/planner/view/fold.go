package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// PodChange is what became of a pod.
type PodChange struct {
	ID model.PodID
	// Pod is the pod as it is now; nil where it is gone. The World keeps it.
	Pod *model.Pod
}

// Find is the place of a pod in Pods; ok is false where there is none, and then it is where the pod would be.
func (w *World) Find(id model.PodID) (at int, ok bool) {
	return slices.BinarySearchFunc(w.Pods, id, func(p Pod, id model.PodID) int { return cmp.Compare(p.ID, id) })
}

// ClassOf finds a class by id; nil when there is none.
func (w *World) ClassOf(id model.ClassID) *Class { return w.class(id) }

// Reprice looks at the prices of the snapshot's offerings again.
func (w *World) Reprice() error { return w.addOfferings() }

// Touched are the hosts, in order, whose free capacity or whose pods change with some pods.
func (v *View) Touched(changes []PodChange) []int {
	var out []int
	add := func(name model.NodeName) {
		if h := v.nodes[name]; h != nil {
			out = append(out, h.Index)
		}
	}
	for _, c := range changes {
		at, known := v.Find(c.ID)
		switch {
		case known && c.Pod != nil && sameUse(v.Pods[at].Pod, c.Pod):
		default:
			if known {
				add(v.Pods[at].Node)
			}
			if c.Pod != nil {
				add(c.Pod.Node)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sameUse says that a pod still is what its node, and other pods, take it for.
func sameUse(a, b *model.Pod) bool {
	return a.Node == b.Node && a.Class == b.Class && a.Terminating == b.Terminating && slices.Equal(a.Devices, b.Devices)
}

// Fold makes the world what it is after some pods changed, sorted by id and each there once, and fills the touched hosts
// anew; what DaemonSets take there is to be reserved again. All else is as it was: the result is that of NewWorld and
// NewView on the changed snapshot. Nothing of the view may be tried out at the time. It returns an error, and the view is
// not to be used any more, when a pod's class is not there.
func (v *View) Fold(changes []PodChange, touched []int) error {
	resized := false
	for _, c := range changes {
		at, known := v.Find(c.ID)
		resized = resized || known != (c.Pod != nil)
		if c.Pod == nil {
			continue
		}
		class := v.class(c.Pod.Class)
		if class == nil {
			return fmt.Errorf("pod %s: class_id: no pod class %s", c.ID, c.Pod.Class)
		}
		if known {
			v.Pods[at] = Pod{Pod: c.Pod, Class: class}
		}
	}
	if resized {
		v.renumber(changes)
	}
	v.rebind(changes, touched)
	for _, h := range touched {
		v.fill(h)
	}
	return nil
}

// renumber puts new pods in and takes those out that are no more, and gives all places in Pods their new numbers. The old
// list is the memory of the next one.
func (v *View) renumber(changes []PodChange) {
	const gone = -1
	old := v.Pods
	to := slices.Grow(v.places[:0], len(old))[:len(old)]
	pods := slices.Grow(v.spare[:0], len(old)+len(changes))
	from := 0
	keep := func(end int) {
		by := int32(len(pods) - from)
		pods = append(pods, old[from:end]...)
		for ; from < end; from++ {
			to[from] = int32(from) + by
		}
	}
	for _, c := range changes {
		at, known := v.Find(c.ID)
		keep(at)
		switch {
		case known && c.Pod == nil:
			to[at] = gone
			from++
		case !known && c.Pod != nil:
			pods = append(pods, Pod{Pod: c.Pod, Class: v.class(c.Pod.Class)})
		}
	}
	keep(len(old))
	clear(old)
	v.Pods, v.spare, v.places = pods, old, to
	move := func(list []int) []int {
		out := list[:0]
		for _, p := range list {
			if to[p] != gone {
				out = append(out, int(to[p]))
			}
		}
		return out
	}
	v.Unbound = move(v.Unbound)
	for _, h := range v.Hosts {
		h.Pods = move(h.Pods)
	}
}

// rebind notes where the changed pods are now.
func (v *View) rebind(changes []PodChange, touched []int) {
	changed := make(map[int]bool, len(changes))
	for _, c := range changes {
		if at, ok := v.Find(c.ID); ok {
			changed[at] = true
		}
	}
	drop := func(list []int) []int { return slices.DeleteFunc(list, func(p int) bool { return changed[p] }) }
	v.Unbound = drop(v.Unbound)
	for _, h := range touched {
		v.Hosts[h].Pods = drop(v.Hosts[h].Pods)
	}
	isTouched := make(map[int]bool, len(touched))
	for _, h := range touched {
		isTouched[h] = true
	}
	for at := range changed {
		name := v.Pods[at].Node
		if name == "" {
			v.Unbound = append(v.Unbound, at)
		} else if h := v.nodes[name]; h != nil && isTouched[h.Index] {
			h.Pods = append(h.Pods, at)
		}
	}
	slices.Sort(v.Unbound)
	for _, h := range touched {
		slices.Sort(v.Hosts[h].Pods)
	}
}
