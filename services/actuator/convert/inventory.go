package convert

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
)

// MaxPart is about how large a part of an inventory becomes, in bytes. An object larger than that travels alone.
const MaxPart = 512 << 10

// Whole cuts an inventory into messages of about MaxPart bytes. There is always at least one.
func Whole(inv inventory.Inventory) []*actuatorpb.InventoryPart {
	var out []*actuatorpb.InventoryPart
	p := cut(inventory.Diff(inventory.Inventory{}, inv))
	for i, s := range p.out {
		part := &clusterpb.SnapshotPart{Snapshot: s, Last: i == len(p.out)-1}
		out = append(out, &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Whole{Whole: part}})
	}
	return out
}

// Change cuts a change into messages of about MaxPart bytes. There is always at least one.
func Change(c inventory.Change) []*actuatorpb.InventoryPart {
	var out []*actuatorpb.InventoryPart
	p := cut(c)
	for i, s := range p.out {
		part := &clusterpb.DeltaPart{Delta: &clusterpb.Delta{Upserted: s}, Last: i == len(p.out)-1}
		if part.Last {
			part.Delta.Removed = removed(c.Removed)
		}
		out = append(out, &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Change{Change: part}})
	}
	return out
}

func cut(c inventory.Change) parts {
	p := parts{revision: c.Upserted.Revision}
	for _, x := range c.Upserted.Classes {
		m := NodeClass(x)
		s := p.room(m)
		s.NodeClasses = append(s.NodeClasses, m)
	}
	for _, x := range c.Upserted.Catalogs {
		m := Catalog(x)
		s := p.room(m)
		s.Catalogs = append(s.Catalogs, m)
	}
	for _, x := range c.Upserted.Offerings {
		m := Offering(x)
		s := p.room(m)
		s.Offerings = append(s.Offerings, m)
	}
	for _, x := range c.Upserted.Claims {
		m := Claim(*x)
		s := p.room(m)
		s.Claims = append(s.Claims, m)
	}
	for _, x := range c.Upserted.Notices {
		m := Notice(*x)
		s := p.room(m)
		s.Notices = append(s.Notices, m)
	}
	for _, x := range c.Upserted.Disruptions {
		m := Disruption(*x)
		s := p.room(m)
		s.Disruptions = append(s.Disruptions, m)
	}
	if len(p.out) == 0 {
		p.next()
	}

	return p
}

func removed(r inventory.Removed) *clusterpb.Removed {
	m := &clusterpb.Removed{
		NodeClasses: r.Classes, Catalogs: r.Catalogs, Offerings: r.Offerings, Claims: r.Claims, Notices: r.Notices,
		Disruptions: r.Disruptions,
	}
	if proto.Size(m) == 0 {
		return nil
	}

	return m
}

// parts fills one message after the other.
type parts struct {
	revision int64
	out      []*clusterpb.Snapshot
	size     int
}

func (p *parts) next() {
	p.out = append(p.out, &clusterpb.Snapshot{InventoryRevision: p.revision})
	p.size = 0
}

// room returns the part that the message goes into.
func (p *parts) room(m proto.Message) *clusterpb.Snapshot {
	n := proto.Size(m)
	if len(p.out) == 0 || (p.size > 0 && p.size+n > MaxPart) {
		p.next()
	}
	p.size += n

	return p.out[len(p.out)-1]
}

// NodeClass translates a node class.
func NodeClass(c *inventory.NodeClass) *clusterpb.NodeClass {
	m := &clusterpb.NodeClass{
		Name: c.Name, CatalogId: c.CatalogID, Zones: c.Zones, Hash: c.Hash, NotReady: Reason(c.NotReady), Generation: c.Generation,
	}
	for _, i := range c.Images {
		m.Images = append(m.Images, &clusterpb.MachineImage{
			Id: i.ID, Name: i.Name, Requirements: requirements(i.Requirements), CreateTime: timestamp(i.CreateTime),
		})
	}

	return m
}

// Catalog translates a catalogue.
func Catalog(c *inventory.Catalog) *clusterpb.Catalog {
	m := &clusterpb.Catalog{Id: c.ID}
	for _, t := range c.Types {
		m.InstanceTypes = append(m.InstanceTypes, &clusterpb.InstanceType{
			Name: t.Name, Labels: labels(t.Labels), Capacity: amounts(t.Capacity), Allocatable: amounts(t.Allocatable),
		})
	}

	return m
}

// Offering translates an offering.
func Offering(o inventory.Offering) *clusterpb.Offering {
	m := &clusterpb.Offering{
		InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: CapacityType(o.CapacityType),
		PriceMicroUsdPerHour: o.Price, PriceEstimated: o.PriceEstimated,
	}
	if !o.UnavailableUntil.IsZero() {
		m.UnavailableUntil = timestamppb.New(o.UnavailableUntil)
	}

	return m
}
