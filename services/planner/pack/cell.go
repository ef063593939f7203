package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/model"
)

// Cell is a part of the cluster: nodes that have the same value of each label on which pods that mind other pods depend.
// A claim for such pods must be in one Cell, whatever it is launched as.
type Cell struct {
	// labels are sorted by key. A label that nodes of the cell do not have is left out; keys has it all the same.
	labels model.Labels
	keys   []string
}

// newCell is the cell of nodes with these values of some labels.
func newCell(keys []string, label func(key string) (string, bool)) *Cell {
	c := &Cell{keys: keys}
	for _, k := range keys {
		if v, ok := label(k); ok {
			c.labels = append(c.labels, model.Label{Key: k, Value: v})
		}
	}
	return c
}

// name tells cells of the same keys apart.
func (c *Cell) name() string {
	out := ""
	for _, l := range c.labels {
		out += l.Key + "=" + l.Value + ","
	}
	return out
}

// in says whether nodes of the option are in a cell; every node is in the nil Cell.
func (o *Option) in(c *Cell) bool {
	if c == nil {
		return true
	}
	for _, k := range c.keys {
		want, has := c.labels.Get(k)
		if v, ok := o.Label(k); ok != has || v != want || o.leavesOpen(k) {
			return false
		}
	}
	return true
}

// leavesOpen says whether nodes of the option will have a label of which the value is not decided yet.
func (o *Option) leavesOpen(key string) bool {
	r, open := o.variant.open.Get(key)
	if _, has := o.Label(key); has || !open {
		return false
	}
	return !r.AllowsAbsent()
}

// key is the option's values of some labels, to tell apart options that differ on one of them.
func (o *Option) key(keys []string) string {
	out := ""
	for _, k := range keys {
		switch v, ok := o.Label(k); {
		case ok:
			out += k + "=" + v
		case o.leavesOpen(k):
			out += "?"
		}
		out += ","
	}
	return out
}

// sameOn says whether nodes of two options have the same value of each of some labels.
func sameOn(keys []string, o, p *Option) bool {
	return !slices.ContainsFunc(keys, func(k string) bool {
		v, ok := o.Label(k)
		w, has := p.Label(k)
		return ok != has || v != w || o.leavesOpen(k) != p.leavesOpen(k)
	})
}
