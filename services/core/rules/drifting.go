package rules

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Drifting finds in a snapshot what Drifted asks of its claims. It looks at nothing before it is asked, and is not safe for
// concurrent use.
type Drifting struct {
	s      *model.Snapshot
	now    time.Time
	listed map[listedKey]bool
	sold   map[soldKey]bool
}

type listedKey struct {
	catalog model.CatalogID
	typ     model.TypeName
}

type soldKey struct {
	typ      model.TypeName
	zone     string
	capacity model.CapacityType
}

// DriftingOf is for the claims of a snapshot.
func DriftingOf(s *model.Snapshot, now time.Time) *Drifting {
	return &Drifting{s: s, now: now, listed: make(map[listedKey]bool)}
}

// Drifted says how a claim and its node no longer are what its pool or class asks for, or the zero Reason, and when time
// alone changes that: what the actuator found in AWS, or else what the snapshot tells. Nothing drifts without a
// pool, or before it has a node.
func (d *Drifting) Drifted(claim *model.Claim, n *model.Node) (model.Reason, time.Time) {
	pool := find(d.s.NodePools, func(p *model.NodePool) bool { return p.Name == claim.NodePool })
	switch {
	case pool == nil || n == nil || claim.State < model.ClaimLaunched:
		return model.Reason{}, time.Time{}
	case !claim.Drifted.OK():
		r := claim.Drifted
		r.Code = model.CodeDrifted
		return r, time.Time{}
	}
	f := DriftFacts{
		Claim: claim, Pool: pool, Sold: d.isSold,
		Label: func(key string) (string, bool) {
			if value, ok := claim.Labels.Get(key); ok {
				return value, true
			}
			return n.Labels.Get(key)
		},
	}
	if claim.NodeClass == pool.NodeClass {
		f.Class = find(d.s.NodeClasses, func(c *model.NodeClass) bool { return c.Name == claim.NodeClass })
	}
	if f.Class != nil {
		d.listTypes(&f)
	}
	return Drifted(f, d.now)
}

func (d *Drifting) listTypes(f *DriftFacts) {
	catalog := find(d.s.Catalogs, func(c *model.Catalog) bool { return c.ID == f.Class.Catalog })
	if catalog == nil {
		return
	}
	f.HasType = func(t model.TypeName) bool {
		k := listedKey{catalog.ID, t}
		has, known := d.listed[k]
		if !known {
			has = find(catalog.InstanceTypes, func(x *model.InstanceType) bool { return x.Name == t }) != nil
			d.listed[k] = has
		}
		return has
	}
}

// isSold says so of all where nothing is known of any offering.
func (d *Drifting) isSold(t model.TypeName, zone string, c model.CapacityType) bool {
	if d.sold == nil {
		d.sold = make(map[soldKey]bool, len(d.s.Offerings))
		for i := range d.s.Offerings {
			o := &d.s.Offerings[i]
			d.sold[soldKey{o.InstanceType, o.Zone, o.CapacityType}] = true
		}
	}
	return d.sold[soldKey{t, zone, c}] || len(d.sold) == 0
}

// find is for lists of what is large to copy.
func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// DriftedNodes says of a snapshot's nodes whether they have drifted.
func DriftedNodes(s *model.Snapshot, now time.Time) func(*model.Node) bool {
	byID, byNode := make(map[model.ClaimID]*model.Claim, len(s.Claims)), make(map[model.NodeName]*model.Claim, len(s.Claims))
	for i := range s.Claims {
		c := &s.Claims[i]
		byID[c.ID], byNode[c.Node] = c, c
	}
	facts, drifted := DriftingOf(s, now), make(map[*model.Node]bool)
	return func(n *model.Node) bool {
		has, known := drifted[n]
		claim := byID[n.Claim]
		if claim == nil {
			claim = byNode[n.Name]
		}
		if !known && claim != nil {
			r, _ := facts.Drifted(claim, n)
			has = !r.OK()
			drifted[n] = has
		}
		return has
	}
}
