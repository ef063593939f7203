package devices

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/lacks"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Templates tells which devices nodes will have that have not published them yet: until their drivers' time is over
// (lacks.DriverTimeout) what it says counts, after that what is there. That a driver which never comes, or a template that
// is wrong, buys one node and not one after the other, is for lacks.Nodes to see to. Make it with NewTemplates; it is not
// changed afterwards.
type Templates struct {
	now     time.Time
	learned map[shape][]model.NodeDevice
}

// shape is what decides which devices a node has: its type, and the class that its image and drivers come from.
type shape struct {
	class model.NodeClassName
	typ   model.TypeName
}

// NewTemplates learns from the nodes that are there. Of the nodes of a type and class, the youngest that is settled shows
// what the next one will have; where none is settled, the oldest that has devices. Those that have drifted show what was:
// they count where no other does, and where they have devices.
func NewTemplates(s *model.Snapshot, now time.Time) *Templates {
	t := &Templates{now: now, learned: make(map[shape][]model.NodeDevice)}
	drifted := rules.DriftedNodes(s, now)
	var known []*model.Node
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Ready && shapeOf(n).typ != "" && (len(n.Devices) > 0 || t.settled(n) && !drifted(n)) {
			known = append(known, n)
		}
	}
	slices.SortStableFunc(known, func(a, b *model.Node) int {
		if da, db := drifted(a), drifted(b); da != db {
			return cmp.Compare(rank(da), rank(db))
		}
		if sa, sb := t.settled(a), t.settled(b); sa != sb {
			return cmp.Compare(rank(sb), rank(sa))
		} else if sa {
			return cmp.Or(b.CreateTime.Compare(a.CreateTime), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(a.CreateTime.Compare(b.CreateTime), cmp.Compare(a.Name, b.Name))
	})
	for _, n := range known {
		if _, ok := t.learned[shapeOf(n)]; !ok {
			t.learned[shapeOf(n)] = ofAnother(n.Devices)
		}
	}
	return t
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *Templates) settled(n *model.Node) bool {
	return t.now.Sub(n.CreateTime) >= lacks.DriverTimeout
}

func shapeOf(n *model.Node) shape {
	class, _ := n.Labels.Get(labels.NodeClass)
	typ, _ := n.Labels.Get(labels.InstanceType)
	return shape{model.NodeClassName(class), model.TypeName(typ)}
}

// ofAnother are a node's devices as another node of its shape will have them: without what makes them its own.
func ofAnother(list []model.NodeDevice) []model.NodeDevice {
	out := make([]model.NodeDevice, len(list))
	for i, d := range list {
		// Two pools of one driver may have a device of one name each.
		d.Pool, d.Name = "", d.Pool+d.Name
		if len(d.OwnSelectors) > 0 {
			own := d.OwnSelectors
			d.Selectors = slices.DeleteFunc(slices.Clone(d.Selectors), func(s string) bool { return slices.Contains(own, s) })
			d.OwnSelectors = nil
		}
		out[i] = d
	}
	return out
}

// Of is what a new node of a pool and a type will have: what such a node has, or, where there is none, what the pool's
// owner says.
func (t *Templates) Of(pool *model.NodePool, typ model.TypeName) []model.NodeDevice {
	if list, ok := t.learned[shape{pool.NodeClass, typ}]; ok {
		return list
	}
	var out []model.NodeDevice
	for i := range pool.Devices {
		d := &pool.Devices[i]
		if len(d.InstanceTypes) == 0 || slices.Contains(d.InstanceTypes, typ) {
			out = append(out, d.Devices...)
		}
	}
	return ofAnother(out)
}

// Node is what a node has, and, while it is not settled, what drivers that have not published anything yet will add.
// pool is nil for a node that is of none.
func (t *Templates) Node(n *model.Node, pool *model.NodePool) []model.NodeDevice {
	if t.settled(n) || pool == nil {
		return n.Devices
	}
	out := slices.Clone(n.Devices)
	for _, d := range t.Of(pool, shapeOf(n).typ) {
		if !slices.ContainsFunc(n.Devices, func(x model.NodeDevice) bool { return x.Driver == d.Driver }) {
			out = append(out, d)
		}
	}
	// The scheduler looks at pools by driver and name; drivers come whole, so that the order within each stays.
	slices.SortStableFunc(out, func(a, b model.NodeDevice) int { return cmp.Compare(a.Driver, b.Driver) })
	return out
}
