// Package inventory is what the actuator streams to its watchers: claims, what can be bought for how much, and what has
// happened lately, as one immutable value with a revision.
//
// It must never know protobuf or a subscriber. Start at Inventory and Diff.
package inventory

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Inventory is one moment. Every list is sorted by what names its objects, and what a pointer in it points to never
// changes: a changed object has another pointer.
type Inventory struct {
	// Revision grows with every change, across leaders too; see Next.
	Revision    int64
	Classes     []*model.NodeClass
	Catalogs    []*model.Catalog
	Offerings   []model.Offering
	Claims      []*model.Claim
	Notices     []*model.Notice
	Disruptions []*model.DisruptionRecord
}

// revisionShift leaves a million changes between two writes to the store.
const revisionShift = 20

// FromStore is the first inventory revision that may contain the store's state at r. The store's revision grows with
// every write of every leader, the election's own included, so a new leader begins above all that the old one told.
func FromStore(r int64) int64 { return r << revisionShift }

// Next is the revision after a change: that of the store if something was written, else the next number.
func Next(last, stored int64) int64 { return max(last+1, FromStore(stored)) }

// Diff is the change from a to b. Objects behind pointers are compared by pointer.
func Diff(a, b Inventory) model.Delta {
	d := model.Delta{Upserted: model.Snapshot{InventoryRevision: b.Revision}}
	up, gone := &d.Upserted, &d.Removed
	up.NodeClasses, gone.NodeClasses = diff(a.Classes, b.Classes, func(x *model.NodeClass) string { return string(x.Name) })
	up.Catalogs, gone.Catalogs = diff(a.Catalogs, b.Catalogs, func(x *model.Catalog) string { return string(x.ID) })
	up.Claims, gone.Claims = diff(a.Claims, b.Claims, func(x *model.Claim) string { return string(x.ID) })
	up.Notices, gone.Notices = diff(a.Notices, b.Notices, func(x *model.Notice) string { return x.ID })
	up.Disruptions, gone.Disruptions = diff(a.Disruptions, b.Disruptions, func(x *model.DisruptionRecord) string { return string(x.ID) })
	up.Offerings, gone.Offerings = diffOfferings(a.Offerings, b.Offerings)
	return d
}

func diff[T any](a, b []*T, name func(*T) string) (upserted []T, removed []string) {
	merge(a, b, func(x, y *T) int { return cmp.Compare(name(x), name(y)) },
		func(x *T) { upserted = append(upserted, *x) }, func(x *T) { removed = append(removed, name(x)) })
	return upserted, removed
}

func diffOfferings(a, b []model.Offering) (upserted []model.Offering, removed []string) {
	if len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
		return nil, nil // the same list
	}
	if len(a) == 0 {
		return slices.Clip(b), nil // thousands, for who is told everything
	}
	merge(a, b, model.Offering.Compare,
		func(o model.Offering) { upserted = append(upserted, o) }, func(o model.Offering) { removed = append(removed, o.Key()) })
	return upserted, removed
}

// merge tells how b differs from a, both sorted: what is new or another there, and what is gone.
func merge[T comparable](a, b []T, compare func(x, y T) int, put, gone func(T)) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var order int
		switch {
		case i == len(a):
			order = 1
		case j == len(b):
			order = -1
		default:
			order = compare(a[i], b[j])
		}
		switch {
		case order < 0:
			gone(a[i])
			i++
		case order > 0:
			put(b[j])
			j++
		default:
			if a[i] != b[j] {
				put(b[j])
			}
			i++
			j++
		}
	}
}
