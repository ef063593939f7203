package snapshot

import (
	"slices"
	"time"
)

// Delta is how one snapshot differs from an earlier one.
type Delta struct {
	// Base is the revision that the delta applies to, Revision the one that it leads to.
	Base, Revision uint64
	// InventoryRevision and ObserveTime are those of the later snapshot.
	InventoryRevision int64
	ObserveTime       time.Time
	// Upserted holds objects that are new or changed, sorted by kind and id.
	Upserted []Object
	// Removed names objects that are no more, sorted by kind and id.
	Removed []Key
}

// Empty says whether the objects are the same on both sides.
func (d Delta) Empty() bool { return len(d.Upserted) == 0 && len(d.Removed) == 0 }

// Diff tells what leads from a to b. Its cost is that of the parts of the snapshots that are not shared, so that it is
// small between neighbours, and at most that of comparing everything.
func Diff(a, b Snapshot) Delta {
	d := Delta{
		Base: a.Revision, Revision: b.Revision,
		InventoryRevision: b.InventoryRevision, ObserveTime: b.ObserveTime,
	}
	changed(&a.classes, &b.classes, func(id string) {
		_, before := a.classes.get(id)
		after, now := b.classes.get(id)
		switch {
		case now && !before:
			d.Upserted = append(d.Upserted, *after.object)
		case before && !now:
			d.Removed = append(d.Removed, Key{Kind: PodClass, ID: id})
		}
	})
	for k := PodClass + 1; int(k) < kinds; k++ {
		ta, tb := &a.tables[k], &b.tables[k]
		changed(ta, tb, func(id string) {
			before, had := ta.get(id)
			after, has := tb.get(id)
			switch {
			case !has:
				d.Removed = append(d.Removed, Key{Kind: k, ID: id})
			case !had || before.Hash != after.Hash || classID(before) != classID(after):
				d.Upserted = append(d.Upserted, after)
			}
		})
	}
	slices.SortFunc(d.Upserted, compareObjects)
	slices.SortFunc(d.Removed, compareKeys)
	return d
}

// Events are the events that lead to the same objects again when they are folded into the snapshot that the delta is
// based on. Pod classes have none: they follow from the objects that refer to them.
func (d Delta) Events() []Event {
	out := make([]Event, 0, len(d.Upserted)+len(d.Removed)+1)
	for _, o := range d.Upserted {
		if o.Kind != PodClass {
			out = append(out, Put(d.ObserveTime, o))
		}
	}
	for _, k := range d.Removed {
		if k.Kind != PodClass {
			out = append(out, Delete(d.ObserveTime, k.Kind, k.ID))
		}
	}
	return append(out, Inventory(d.ObserveTime, d.InventoryRevision))
}
