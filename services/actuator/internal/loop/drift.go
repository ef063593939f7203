package loop

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// compared compares a claim that has an instance with what its pool and class ask for now, by the rules that a plan's
// word is checked by.
func (l *leader) compared(c model.Claim) model.Claim {
	if c.State < model.ClaimLaunched || c.State > model.ClaimInitialized {
		return c
	}
	p := apply.Present{Now: l.now, Node: l.nodeOf(c), Offerings: l.world.prices, MarketKnown: l.world.known()}
	pools := l.seen.Pools
	if i, ok := slices.BinarySearchFunc(pools, c.NodePool, func(p cluster.Pool, name model.PoolName) int { return cmp.Compare(p.Name, name) }); ok {
		p.Pool = &pools[i]
		c.PoolHash = rules.Rehash(c.PoolHash, p.Pool.Hash)
	}
	if class, ok := l.present[c.NodeClass]; ok {
		p.Class = class
		c.ClassHash = rules.Rehash(c.ClassHash, class.Hash)
	}
	if i, ok := l.shown(c); ok {
		p.Instance = &i
		if c.ImageID == "" { // EC2 did not say so when it launched it
			c.ImageID = i.ImageID
		}
	}
	// What is not known is no reason to believe that a drift is over: a new leader has not resolved any class yet.
	if drifted := apply.Drift(c, p); drifted != (model.Reason{}) || l.comparable(p) {
		c.Drifted = drifted
	}
	return c
}

// comparable says that all is known that claims are compared with.
func (l *leader) comparable(p apply.Present) bool {
	return l.ready && p.Pool != nil && p.Pool.NotReady == (model.Reason{}) && p.Class != nil && len(p.Class.Images) > 0
}

// shown is what EC2 shows of the claim's instance while it is alive.
func (l *leader) shown(c model.Claim) (rules.Placement, bool) {
	i := slices.IndexFunc(l.byClaim[c.ID], func(i cloud.Instance) bool { return i.ID == c.InstanceID && i.State.Alive() })
	if i < 0 {
		return rules.Placement{}, false
	}
	is := l.byClaim[c.ID][i]
	out := rules.Placement{ImageID: is.ImageID, SecurityGroups: is.SecurityGroups}
	if is.SubnetID != "" {
		out.Subnets = []string{is.SubnetID}
	}
	return out, true
}

// known says that all that EC2 sells was told, prices included: what has none is not offered.
func (w *world) known() bool { return !w.typesAt.IsZero() && !w.unpriced && !w.spotAt.IsZero() }

// presentClasses are the node classes as plans and claims are checked against.
func (w *world) presentClasses() map[model.NodeClassName]*apply.Class {
	out := make(map[model.NodeClassName]*apply.Class, len(w.classes))
	for name, c := range w.classes {
		p := c.present()
		out[name] = &p
	}
	return out
}

// present is what the class asks for now. What it selects is left out while it is not whole.
func (c *class) present() apply.Class {
	out := apply.Class{
		NodeClass: model.NodeClass{Name: c.spec.Name, Hash: c.spec.Hash, NotReady: c.notReady()}, ZoneIDs: c.zones, Shapes: c.shapes(),
	}
	if c.resolved.IsZero() || c.class.NotReady != (model.Reason{}) {
		return out
	}
	for _, i := range c.class.Images {
		out.Images = append(out.Images, model.MachineImage{ID: i.ID, Requirements: i.Requirements})
	}
	for _, s := range c.class.Subnets {
		out.Subnets = append(out.Subnets, s.ID)
	}
	for _, g := range c.class.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, g.ID)
	}
	slices.Sort(out.Subnets)
	slices.Sort(out.SecurityGroups)
	return out
}
