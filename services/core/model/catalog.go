package model

import (
	"cmp"
	"time"
)

// Catalog holds the shapes of instance types under one set of node-class settings.
type Catalog struct {
	ID CatalogID
	// InstanceTypes are sorted by name.
	InstanceTypes []InstanceType
}

// InstanceType is a shape that EC2 sells.
type InstanceType struct {
	Name TypeName
	// Labels are those that every node of this type carries.
	Labels Labels
	// Capacity is all that the machine has.
	Capacity Amounts
	// Allocatable is what pods can use.
	Allocatable Amounts
}

// CapacityType is how an instance is paid for.
type CapacityType int

// The capacity types. The zero CapacityType means unknown where a claim was not launched yet, else it is invalid.
const (
	OnDemand CapacityType = iota + 1
	Spot
	Reserved
)

// String is the value of the label karpenter.sh/capacity-type.
func (c CapacityType) String() string {
	switch c {
	case OnDemand:
		return "on-demand"
	case Spot:
		return "spot"
	case Reserved:
		return "reserved"
	}
	return ""
}

// ParseCapacityType is the capacity type that the label has as s, and false where there is none.
func ParseCapacityType(s string) (CapacityType, bool) { return parse(s, OnDemand, Reserved) }

// Offering is an instance type in a zone under a capacity type, with its price.
type Offering struct {
	InstanceType TypeName
	Zone         string
	CapacityType CapacityType
	// Price is in micro-dollars per hour; that of a Reserved offering is next to nothing.
	Price          int64
	PriceEstimated bool
	// UnavailableUntil is set when EC2 lately had none of it; zero means that it is believed to be available.
	UnavailableUntil time.Time
	// ReservationID is "" unless the capacity type is Reserved.
	ReservationID string
	// ReservationRemaining is nil unless the capacity type is Reserved.
	ReservationRemaining *int64
	// ZoneID names the same zone in every AWS account, for example "use1-az1"; "" where it is not known.
	ZoneID string
	// Reclaimed is how often AWS takes such instances back; spot only.
	Reclaimed ReclaimBand
	// ZoneShifted says that the cluster is shifted away from the zone.
	ZoneShifted bool
	// ReservationBlock says that the reservation is a block of capacity with an end, ReservationInterruptible that AWS
	// may take its instances back.
	ReservationBlock, ReservationInterruptible bool
}

// Key names the offering among all: "instance-type/zone/capacity-type/reservation".
func (o Offering) Key() string {
	return string(o.InstanceType) + "/" + o.Zone + "/" + o.CapacityType.String() + "/" + o.ReservationID
}

// Compare orders offerings by what Key names, which no other offering has.
func (o Offering) Compare(p Offering) int {
	return cmp.Or(
		cmp.Compare(o.InstanceType, p.InstanceType),
		cmp.Compare(o.Zone, p.Zone),
		cmp.Compare(o.CapacityType, p.CapacityType),
		cmp.Compare(o.ReservationID, p.ReservationID),
	)
}

// Reservation is a capacity reservation as nodes in it tell; the zero value for none.
type Reservation struct {
	ID string
	// Block says that it is a block of capacity with an end. Of an interruptible one AWS may take instances back.
	Block, Interruptible bool
}

// Reservation is the one that the offering is of.
func (o Offering) Reservation() Reservation {
	return Reservation{ID: o.ReservationID, Block: o.ReservationBlock, Interruptible: o.ReservationInterruptible}
}

// ZoneIDs are the ids of the zones of some offerings, by name, as far as they are known.
func ZoneIDs(offerings []Offering) map[string]string {
	ids := make(map[string]string)
	for i := range offerings {
		if o := &offerings[i]; o.ZoneID != "" {
			ids[o.Zone] = o.ZoneID
		}
	}
	return ids
}

// ShiftedZones are the zones that the cluster is shifted away from, as some offerings say.
func ShiftedZones(offerings []Offering) map[string]bool {
	shifted := make(map[string]bool)
	for i := range offerings {
		if offerings[i].ZoneShifted {
			shifted[offerings[i].Zone] = true
		}
	}
	return shifted
}

// RankedOffering is one of the offerings that a claim may be launched as.
type RankedOffering struct {
	InstanceType TypeName
	Zone         string
	CapacityType CapacityType
	// Price is in micro-dollars per hour, when the plan was made.
	Price          int64
	PriceEstimated bool
	// Overlaid says that it was weighed at OverlaidPrice, because a NodeOverlay says another price than the list.
	Overlaid      bool
	OverlaidPrice int64
	// ReservationID is "" unless the capacity type is Reserved.
	ReservationID string
}

// Weighed is the price that the offering was weighed at.
func (o RankedOffering) Weighed() int64 {
	if o.Overlaid {
		return o.OverlaidPrice
	}
	return o.Price
}

// Compare orders offerings by the price that they were weighed at, then by type, zone, capacity type and reservation.
func (o RankedOffering) Compare(p RankedOffering) int {
	return cmp.Or(
		cmp.Compare(o.Weighed(), p.Weighed()),
		cmp.Compare(o.InstanceType, p.InstanceType),
		cmp.Compare(o.Zone, p.Zone),
		cmp.Compare(o.CapacityType, p.CapacityType),
		cmp.Compare(o.ReservationID, p.ReservationID),
	)
}
