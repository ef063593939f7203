package rules

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// DriftedNodes says of a snapshot's nodes whether they have drifted: what the actuator found in AWS, or else what the
// snapshot tells. It looks at a node once it is asked about it.
func DriftedNodes(s *model.Snapshot, now time.Time) func(*model.Node) bool {
	return newDrifting(s, now).has
}

// drifting is what DriftedNodes knows.
type drifting struct {
	s      *model.Snapshot
	now    time.Time
	claims map[model.ClaimID]*model.Claim
	byNode map[model.NodeName]*model.Claim
	nodes  map[model.NodeName]bool
	sold   map[soldKey]bool
}

type soldKey struct {
	typ      model.TypeName
	zone     string
	capacity model.CapacityType
}

func newDrifting(s *model.Snapshot, now time.Time) *drifting {
	d := &drifting{
		s: s, now: now, claims: make(map[model.ClaimID]*model.Claim, len(s.Claims)), nodes: make(map[model.NodeName]bool),
		byNode: make(map[model.NodeName]*model.Claim, len(s.Claims)),
	}
	for i := range s.Claims {
		c := &s.Claims[i]
		d.claims[c.ID] = c
		if c.Node != "" {
			d.byNode[c.Node] = c
		}
	}
	return d
}

func (d *drifting) has(n *model.Node) bool {
	drifted, known := d.nodes[n.Name]
	if !known {
		drifted = d.look(n)
		d.nodes[n.Name] = drifted
	}
	return drifted
}

func (d *drifting) look(n *model.Node) bool {
	claim := d.claims[n.Claim]
	if claim == nil {
		claim = d.byNode[n.Name]
	}
	if claim == nil || !claim.Drifted.OK() {
		return claim != nil
	}
	at := slices.IndexFunc(d.s.NodePools, func(p model.NodePool) bool { return p.Name == claim.NodePool })
	if at < 0 {
		return false
	}
	f := DriftFacts{
		Claim: claim, Pool: &d.s.NodePools[at], Sold: d.isSold,
		Label: func(key string) (string, bool) {
			if value, ok := claim.Labels.Get(key); ok {
				return value, true
			}
			return n.Labels.Get(key)
		},
	}
	at = slices.IndexFunc(d.s.NodeClasses, func(c model.NodeClass) bool { return c.Name == claim.NodeClass })
	if at >= 0 && claim.NodeClass == f.Pool.NodeClass {
		f.Class = &d.s.NodeClasses[at]
		d.listTypes(&f)
	}
	r, _ := Drifted(f, d.now)
	return !r.OK()
}

func (d *drifting) listTypes(f *DriftFacts) {
	at := slices.IndexFunc(d.s.Catalogs, func(c model.Catalog) bool { return c.ID == f.Class.Catalog })
	if at < 0 {
		return
	}
	f.HasType = func(t model.TypeName) bool {
		return slices.ContainsFunc(d.s.Catalogs[at].InstanceTypes, func(x model.InstanceType) bool { return x.Name == t })
	}
}

// isSold says so of all where nothing is known of any offering.
func (d *drifting) isSold(t model.TypeName, zone string, c model.CapacityType) bool {
	if d.sold == nil {
		d.sold = make(map[soldKey]bool, len(d.s.Offerings))
		for i := range d.s.Offerings {
			o := &d.s.Offerings[i]
			d.sold[soldKey{o.InstanceType, o.Zone, o.CapacityType}] = true
		}
	}
	return d.sold[soldKey{t, zone, c}] || len(d.sold) == 0
}
