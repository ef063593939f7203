package market

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Item is a number of pods of one class.
type Item struct {
	Class *view.Class
	// Pods are indexes into World.Pods, in order.
	Pods []int
	// Segment is where their node must be; nil for anywhere.
	Segment *Segment
}

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
			classes = append(classes, sized{Item{Class: c}, c.Requests.Size()})
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

// ByPriority splits items by the priority of their pods, the highest first.
func ByPriority(items []Item) [][]Item {
	by := make(map[int32][]Item)
	for _, it := range items {
		by[it.Class.Priority] = append(by[it.Class.Priority], it)
	}
	var out [][]Item
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(by))) {
		out = append(out, by[p])
	}
	return out
}

// Takes says whether one pod of an item may run on an otherwise empty node of the option.
func (o *Option) Takes(it *Item, preferred bool) bool {
	admitted, c := o.admits, it.Class
	if preferred {
		admitted = o.prefers
	}
	return !o.crowded && admitted.Has(c.Profile.Index) && view.Fits(o.Free, c.Alone, 1) == 1 && !fit.PortsClash(c.HostPorts, o.Ports) && o.In(it.Segment) && o.serves(c)
}

// Share is the largest part of any resource of a node that a pod takes.
func Share(request, free view.Vector) float64 {
	s := 0.0
	for i, q := range request {
		if q > 0 {
			s = max(s, float64(q)/float64(free[i]))
		}
	}
	return s
}

// Combined is what items ask of one node together.
type Combined struct {
	sum      view.Vector
	profiles bits.Set
	ports    []model.HostPort
	segments []*Segment
	// claimants are the classes that claim devices.
	claimants []*view.Class
}

// Combine is what some items need together.
func (m *Market) Combine(items []Item) *Combined {
	l := &Combined{sum: make(view.Vector, m.World.Index.Len()), profiles: bits.New(len(m.World.Profiles))}
	var shared []string
	for _, it := range items {
		l.sum.Add(it.Class.Requested, int64(len(it.Pods)))
		for _, vol := range it.Class.Shared {
			if !slices.Contains(shared, vol.Name) {
				shared = append(shared, vol.Name)
				l.sum[vol.Limit]++
			}
		}
		l.profiles.Add(it.Class.Profile.Index)
		l.ports = append(l.ports, it.Class.HostPorts...)
		if devices.ClaimsDevices(it.Class.PodClass) {
			l.claimants = append(l.claimants, it.Class)
		}
		if it.Segment != nil && !slices.Contains(l.segments, it.Segment) {
			l.segments = append(l.segments, it.Segment)
		}
	}
	return l
}

// PreferredBy says whether no preference of the items is against a node of the option.
func (o *Option) PreferredBy(l *Combined) bool { return o.prefers.Covers(l.profiles) }

// Fits says whether one node of the option holds the burden.
func (o *Option) Fits(l *Combined) bool {
	if o.crowded || view.Fits(o.Free, l.sum, 1) == 0 || !o.admits.Covers(l.profiles) {
		return false
	}
	if slices.ContainsFunc(l.segments, func(c *Segment) bool { return !o.In(c) }) {
		return false
	}
	if slices.ContainsFunc(l.claimants, func(c *view.Class) bool { return !o.serves(c) }) {
		return false
	}
	return !fit.PortsClash(l.ports, o.Ports)
}

// PortsClash says whether items can't be on one node because of their host ports.
func (m *Market) PortsClash(items []Item) bool {
	var taken []model.HostPort
	for _, it := range items {
		if len(it.Class.HostPorts) == 0 {
			continue
		}
		if len(it.Pods) > 1 || fit.PortsClash(it.Class.HostPorts, taken) {
			return true
		}
		taken = append(taken, it.Class.HostPorts...)
	}
	return false
}
