package judge

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// equip gives the new node of a pool and type the driver and the features that it will have, as docs/behaviours.md
// says: the driver if a node of the pool and the type has it, or where there is none one of the pool, of which those
// that Kerf has made count alone if there are any, or where there is none of these either; the features of the pool's
// youngest, or where it has none those that any pool's youngest has, or all. Nodes that have drifted do not count.
func (t *trial) equip(n *model.Node, pool model.PoolName, typ model.TypeName) {
	if t.c.Families&gen.Needs == 0 {
		return
	}
	var alike, own []*model.Node
	youngest, drifted := make(map[string]*model.Node), rules.DriftedNodes(&t.c.Input.Snapshot, t.c.Input.Now)
	for i := range t.c.Input.Snapshot.Nodes {
		x := &t.c.Input.Snapshot.Nodes[i]
		of, _ := x.Labels.Get(labels.NodePool)
		if of == "" || drifted(x) {
			continue
		}
		if y := youngest[of]; y == nil || y.CreateTime.Before(x.CreateTime) {
			youngest[of] = x
		}
		if of != string(pool) {
			continue
		}
		own = append(own, x)
		if name, _ := x.Labels.Get(labels.InstanceType); name == string(typ) {
			alike = append(alike, x)
		}
	}
	if len(alike) == 0 {
		alike = own
	}
	if slices.ContainsFunc(alike, func(x *model.Node) bool { return x.Claim != "" }) {
		alike = slices.DeleteFunc(alike, func(x *model.Node) bool { return x.Claim == "" })
	}
	has := len(alike) == 0
	for _, x := range alike {
		has = has || len(x.Drivers) > 0
	}
	n.Drivers = []string{gen.EBS}
	if !has {
		n.Drivers, n.VolumeLimits = nil, nil
	}
	can := len(youngest) == 0
	for of, x := range youngest {
		if youngest[string(pool)] == nil || of == string(pool) {
			can = can || len(x.Features) > 0
		}
	}
	if can {
		n.Features = []string{gen.Restarts}
	}
}
