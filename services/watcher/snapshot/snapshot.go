// Package snapshot holds the watcher's one value: everything that is known about a cluster, under one revision.
//
// A Snapshot never changes. Fold makes the next one from it and a list of events, and Diff tells how two of them differ.
// Both are functions of their arguments: there is no lock, no clock and no goroutine here, and any number of readers may
// hold any number of snapshots. Neighbouring snapshots share all that they have in common, so that one event among
// 100,000 pods copies a few kilobytes.
//
// The package never looks into an object. It knows an object's kind and id, a hash that changes with its content, and
// the pod class that it refers to; the payload belongs to the caller that put it there. A pod class is part of a
// snapshot for as long as an object of the snapshot refers to it.
//
// Start reading at Snapshot, then Fold, then Diff.
package snapshot

import (
	"slices"
	"strings"
	"time"
)

// Kind is what an object is. The numbers order objects in a Delta.
type Kind uint8

// The kinds of objects. The zero Kind is none of them, and events that carry it are ignored.
const (
	_ Kind = iota
	// PodClass objects come and go with the references to them; they are never put or deleted by an event.
	PodClass
	Pod
	DaemonSet
	Node
	Namespace
	PodDisruptionBudget
	NodePool
	NodeClass
	Catalog
	Offering
	Claim
	Notice
	Disruption
	NodeOverlay
	CapacityBuffer

	kinds = int(CapacityBuffer) + 1
)

// Hash tells contents apart: two objects of one kind and id with equal hashes are the same.
type Hash [16]byte

// Object is one object of a snapshot. It is immutable, its payload included.
type Object struct {
	Kind Kind
	// ID is unique among the objects of the kind.
	ID string
	// Hash changes whenever the payload or the class does.
	Hash Hash
	// Payload is not looked at here.
	Payload any
	// Class is the pod class that a Pod, a DaemonSet or a CapacityBuffer refers to; nil for every other kind.
	Class *Object
}

// Key names an object.
type Key struct {
	Kind Kind
	ID   string
}

// Snapshot is one immutable value. The zero Snapshot is empty and has revision 0. Safe for concurrent use.
type Snapshot struct {
	// Revision grows by one with each Fold that changes something.
	Revision uint64
	// InventoryRevision is the actuator's number for the inventory that this value contains; 0 before any.
	InventoryRevision int64
	// ObserveTime is the latest time of all events that made this value.
	ObserveTime time.Time

	tables  [kinds]table[Object]
	classes table[class]
}

// class is a pod class and how many objects refer to it.
type class struct {
	object *Object
	refs   int
}

// Len is the number of objects of a kind.
func (s *Snapshot) Len(k Kind) int {
	if int(k) >= kinds {
		return 0
	}
	if k == PodClass {
		return s.classes.size
	}
	return s.tables[k].size
}

// Get finds an object.
func (s *Snapshot) Get(k Kind, id string) (Object, bool) {
	if int(k) >= kinds {
		return Object{}, false
	}
	if k == PodClass {
		c, ok := s.classes.get(id)
		if !ok {
			return Object{}, false
		}
		return *c.object, true
	}
	return s.tables[k].get(id)
}

// Objects lists the objects of a kind, sorted by id.
func (s *Snapshot) Objects(k Kind) []Object {
	if int(k) >= kinds {
		return nil
	}
	out := make([]Object, 0, s.Len(k))
	s.Each(k, func(o Object) { out = append(out, o) })
	slices.SortFunc(out, compareObjects)
	return out
}

// Each visits the objects of a kind in no particular order, for what does not depend on one.
func (s *Snapshot) Each(k Kind, visit func(Object)) {
	switch {
	case int(k) >= kinds:
	case k == PodClass:
		s.classes.each(func(_ string, c class) { visit(*c.object) })
	default:
		s.tables[k].each(func(_ string, o Object) { visit(o) })
	}
}

// Refs is the number of objects that refer to a pod class.
func (s *Snapshot) Refs(classID string) int {
	c, _ := s.classes.get(classID)
	return c.refs
}

// Kinds lists every kind in order.
func Kinds() []Kind {
	out := make([]Kind, 0, kinds-1)
	for k := PodClass; int(k) < kinds; k++ {
		out = append(out, k)
	}
	return out
}

func compareObjects(a, b Object) int {
	if a.Kind != b.Kind {
		return int(a.Kind) - int(b.Kind)
	}
	return strings.Compare(a.ID, b.ID)
}

func compareKeys(a, b Key) int {
	if a.Kind != b.Kind {
		return int(a.Kind) - int(b.Kind)
	}
	return strings.Compare(a.ID, b.ID)
}
