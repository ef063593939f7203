package facts

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

// Market is what can be launched, and what it has and costs.
type Market struct {
	now time.Time
	// overlays are what users say that some offerings cost and have.
	overlays *offer.Overlays
	classes  map[model.NodeClassName]*model.NodeClass
	types    map[typeKey]*model.InstanceType
	// attach are the highest attach limits that ready nodes tell, by type and CSI driver.
	attach map[model.TypeName]map[model.Resource]int64
	// offerings are sorted by what tells them apart, and have of several reservations of one kind the cheapest that is
	// available.
	offerings []*model.Offering
	// zoneIDs are the ids of zones, by name, as far as they are known.
	zoneIDs map[string]string
	// reservations are those that are offered, by id.
	reservations map[string]model.Reservation
	// Shifted are the zones that the cluster is shifted away from.
	Shifted map[string]bool
}

// OfferingKey is what tells offerings apart but for reservations.
type OfferingKey struct {
	InstanceType model.TypeName
	Zone         string
	CapacityType model.CapacityType
}

func keyOf(o *model.Offering) OfferingKey { return OfferingKey{o.InstanceType, o.Zone, o.CapacityType} }

func (k OfferingKey) compare(l OfferingKey) int {
	return cmp.Or(strings.Compare(string(k.InstanceType), string(l.InstanceType)), strings.Compare(k.Zone, l.Zone),
		cmp.Compare(k.CapacityType, l.CapacityType))
}

type typeKey struct {
	catalog model.CatalogID
	name    model.TypeName
}

func newMarket(in *model.Input) *Market {
	s := &in.Snapshot
	m := &Market{
		now: in.Now, overlays: offer.NewOverlays(s),
		classes: index(s.NodeClasses, func(x *model.NodeClass) model.NodeClassName { return x.Name }),
		types:   make(map[typeKey]*model.InstanceType), attach: toldLimits(s.Nodes),
		zoneIDs: model.ZoneIDs(s.Offerings), Shifted: model.ShiftedZones(s.Offerings), reservations: make(map[string]model.Reservation),
	}
	for i := range s.Offerings {
		if r := s.Offerings[i].Reservation(); r.ID != "" {
			m.reservations[r.ID] = r
		}
	}
	for i := range s.Catalogs {
		cat := &s.Catalogs[i]
		for j := range cat.InstanceTypes {
			m.types[typeKey{cat.ID, cat.InstanceTypes[j].Name}] = &cat.InstanceTypes[j]
		}
	}
	m.offerings = m.distinct(s.Offerings)
	return m
}

// distinct sorts offerings, and drops all but one of each kind.
func (m *Market) distinct(offerings []model.Offering) []*model.Offering {
	list := make([]*model.Offering, len(offerings))
	for i := range offerings {
		list[i] = &offerings[i]
	}
	slices.SortStableFunc(list, func(a, b *model.Offering) int { return keyOf(a).compare(keyOf(b)) })
	out := list[:0]
	for _, o := range list {
		last := len(out) - 1
		switch {
		case last < 0 || keyOf(out[last]) != keyOf(o):
			out = append(out, o)
		case !m.Available(out[last]) || (m.Available(o) && o.Price < out[last].Price):
			out[last] = o
		}
	}
	return out
}

// Type is an instance type of a node class's catalog; nil when there is none.
func (m *Market) Type(class model.NodeClassName, name model.TypeName) *model.InstanceType {
	if nc := m.classes[class]; nc != nil {
		return m.types[typeKey{nc.Catalog, name}]
	}
	return nil
}

// Offering looks an offering up, whether it is available or not.
func (m *Market) Offering(key OfferingKey) (model.Offering, bool) {
	at, ok := slices.BinarySearchFunc(m.offerings, key, func(o *model.Offering, k OfferingKey) int { return keyOf(o).compare(k) })
	if !ok {
		return model.Offering{}, false
	}
	return *m.offerings[at], true
}

// ZoneID is the id of a zone; "" where it is not known.
func (m *Market) ZoneID(zone string) string { return m.zoneIDs[zone] }

// Reservation is one that is offered, by its id; the zero value where none is.
func (m *Market) Reservation(id string) model.Reservation { return m.reservations[id] }

// Available says whether an offering can be launched now, where its price is known.
func (m *Market) Available(o *model.Offering) bool {
	left := o.CapacityType != model.Reserved || (o.ReservationRemaining != nil && *o.ReservationRemaining > 0)
	unavailable, _ := rules.Unavailable(o, m.now)
	return left && !unavailable
}

// Becomes lists what a claim is or, before its launch, may be launched as.
func Becomes(c *model.Claim) []model.RankedOffering {
	if c.InstanceType == "" {
		return c.Offerings
	}
	return []model.RankedOffering{{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, ReservationID: c.ReservationID,
	}}
}

// With is what a node of a pool has when overlays have their say: the amounts, and what they add or replace.
func (m *Market) With(has model.Amounts, pool model.PoolName, o *model.RankedOffering) model.Amounts {
	said, _ := m.overlays.For(pool, o.InstanceType).Capacity(o.Zone, o.CapacityType, o.ReservationID)
	return offer.With(has, said)
}

// Allocatable is what the node of a claim will have: what the claim says, and what overlays do.
func (m *Market) Allocatable(c *model.Claim) model.Amounts {
	return offer.With(c.Allocatable, m.overlays.Claim(c))
}

// Overlaid is an offering's price as overlays have it, and which of them says so; "" when none does.
func (m *Market) Overlaid(pool model.PoolName, o *model.Offering) (price int64, overlay string) {
	return m.overlays.For(pool, o.InstanceType).Price(o)
}

// Price is what a claim costs per hour: what its offering costs today, else what it did at launch, else what the first of
// its offerings would.
func (m *Market) Price(c *model.Claim) int64 {
	if c.InstanceType == "" && len(c.Offerings) > 0 {
		return c.Offerings[0].Price
	}
	if o, ok := m.Offering(OfferingKey{c.InstanceType, c.Zone, c.CapacityType}); ok && o.Price > 0 {
		return o.Price
	}
	return c.Price
}

// Weighed is the price as overlays have it, where they say something of the claim.
func (m *Market) Weighed(c *model.Claim) int64 {
	if c.InstanceType == "" && len(c.Offerings) > 0 {
		return c.Offerings[0].Weighed()
	}
	price, _ := m.Overlaid(c.NodePool, &model.Offering{
		InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, ReservationID: c.ReservationID, Price: m.Price(c),
	})
	return price
}

// Complete takes from expected what reported has nothing of.
func Complete(reported, expected model.Amounts) model.Amounts {
	sum := make(map[model.Resource]int64)
	for _, a := range slices.Concat(expected, reported) {
		if a.Value != 0 {
			sum[a.Resource] = a.Value
		}
	}
	return Amounts(sum)
}

// Amounts lists sums by resource, without those that are zero.
func Amounts(m map[model.Resource]int64) model.Amounts {
	var out model.Amounts
	for _, r := range slices.Sorted(maps.Keys(m)) {
		if m[r] != 0 {
			out = append(out, model.Amount{Resource: r, Value: m[r]})
		}
	}
	return out
}

// LabelMap is a node's labels by key.
func LabelMap(ls model.Labels) map[string]string {
	m := make(map[string]string, len(ls))
	for _, l := range ls {
		m[l.Key] = l.Value
	}
	return m
}
