// Package inventory is what the actuator tells everybody: claims, what can be bought for how much, and what has happened
// lately, as one immutable value with a revision.
//
// It must never know protobuf or a subscriber. Start at Inventory and Diff.
package inventory

import (
	"cmp"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/model"
)

// Inventory is one moment. Every list is sorted by what names its objects, and what a pointer in it points to never
// changes: a changed object has another pointer.
type Inventory struct {
	// Revision grows with every change, across leaders too; see Next.
	Revision    int64
	Classes     []*NodeClass
	Catalogs    []*Catalog
	Offerings   []Offering
	Claims      []*model.Claim
	Notices     []*model.Notice
	Disruptions []*model.Disruption
}

// NodeClass is a resolved node class.
type NodeClass struct {
	Name       string
	CatalogID  string
	Zones      []string
	Images     []Image
	Hash       string
	NotReady   model.Reason
	Generation int64
}

// Image is a machine image that a class may boot.
type Image struct {
	ID, Name     string
	Requirements []model.Requirement
	CreateTime   time.Time
}

// Catalog is the shapes of all types under one set of settings.
type Catalog struct {
	ID    string
	Types []Type
}

// Type is the shape of an instance type.
type Type struct {
	Name                  string
	Labels                []model.Label
	Capacity, Allocatable []model.Amount
}

// Offering is what can be bought. Price is micro-dollars per hour.
type Offering struct {
	InstanceType, Zone string
	CapacityType       model.CapacityType
	Price              int64
	PriceEstimated     bool
	UnavailableUntil   time.Time
}

// Key names the offering, as kerf.cluster.v1alpha1.Removed does.
func (o Offering) Key() string {
	return o.InstanceType + "/" + o.Zone + "/" + string(o.CapacityType) + "/"
}

// Compare orders offerings by type, zone and capacity type.
func (o Offering) Compare(p Offering) int {
	return cmp.Or(cmp.Compare(o.InstanceType, p.InstanceType), cmp.Compare(o.Zone, p.Zone), cmp.Compare(o.CapacityType, p.CapacityType))
}

// revisionShift leaves a million changes between two writes to the store.
const revisionShift = 20

// FromStore is the first inventory revision that may contain the store's state at r. The store's revision grows with
// every write of every leader, the election's own included, so a new leader begins above all that the old one told.
func FromStore(r int64) int64 { return r << revisionShift }

// Next is the revision after a change: that of the store if something was written, else the next number.
func Next(last, stored int64) int64 { return max(last+1, FromStore(stored)) }

// Change is what is new between two inventories. Whole objects are in Upserted, names in Removed.
type Change struct {
	Upserted Inventory
	Removed  Removed
}

// Removed names what is no more, sorted.
type Removed struct {
	Classes, Catalogs, Offerings, Claims, Notices, Disruptions []string
}

// Empty says that nothing changed but the revision.
func (c Change) Empty() bool {
	u, r := c.Upserted, c.Removed
	n := len(u.Classes) + len(u.Catalogs) + len(u.Offerings) + len(u.Claims) + len(u.Notices) + len(u.Disruptions) +
		len(r.Classes) + len(r.Catalogs) + len(r.Offerings) + len(r.Claims) + len(r.Notices) + len(r.Disruptions)

	return n == 0
}

// Diff is the change from a to b. Objects behind pointers are compared by pointer.
func Diff(a, b Inventory) Change {
	c := Change{Upserted: Inventory{Revision: b.Revision}}
	c.Upserted.Classes, c.Removed.Classes = diff(a.Classes, b.Classes, func(x *NodeClass) string { return x.Name })
	c.Upserted.Catalogs, c.Removed.Catalogs = diff(a.Catalogs, b.Catalogs, func(x *Catalog) string { return x.ID })
	c.Upserted.Claims, c.Removed.Claims = diff(a.Claims, b.Claims, func(x *model.Claim) string { return string(x.ID) })
	c.Upserted.Notices, c.Removed.Notices = diff(a.Notices, b.Notices, func(x *model.Notice) string { return x.ID })
	c.Upserted.Disruptions, c.Removed.Disruptions = diff(a.Disruptions, b.Disruptions,
		func(x *model.Disruption) string { return x.ID })
	c.Upserted.Offerings, c.Removed.Offerings = diffOfferings(a.Offerings, b.Offerings)

	return c
}

// diff merges two lists that are sorted by name.
func diff[T any](a, b []*T, name func(*T) string) (upserted []*T, removed []string) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var order int
		switch {
		case i == len(a):
			order = 1
		case j == len(b):
			order = -1
		default:
			order = cmp.Compare(name(a[i]), name(b[j]))
		}
		switch {
		case order < 0:
			removed = append(removed, name(a[i]))
			i++
		case order > 0:
			upserted = append(upserted, b[j])
			j++
		default:
			if a[i] != b[j] {
				upserted = append(upserted, b[j])
			}
			i++
			j++
		}
	}

	return upserted, removed
}

func diffOfferings(a, b []Offering) (upserted []Offering, removed []string) {
	if len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
		return nil, nil // the same list
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var order int
		switch {
		case i == len(a):
			order = 1
		case j == len(b):
			order = -1
		default:
			order = a[i].Compare(b[j])
		}
		switch {
		case order < 0:
			removed = append(removed, a[i].Key())
			i++
		case order > 0:
			upserted = append(upserted, b[j])
			j++
		default:
			if a[i] != b[j] {
				upserted = append(upserted, b[j])
			}
			i++
			j++
		}
	}

	return upserted, removed
}
