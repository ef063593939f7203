package snapshot

import "time"

// Event is one thing that was observed. Make it with Put, Delete or Inventory.
type Event struct {
	// Time is when it was observed; the zero time leaves the snapshot's ObserveTime alone.
	Time time.Time

	op        op
	object    Object
	inventory int64
}

type op uint8

const (
	_ op = iota
	opPut
	opDelete
	opInventory
)

// Put says that an object is there, with this content. A put of a PodClass has no effect.
func Put(at time.Time, o Object) Event {
	return Event{Time: at, op: opPut, object: o}
}

// Delete says that an object is no more. A delete of a PodClass has no effect.
func Delete(at time.Time, k Kind, id string) Event {
	return Event{Time: at, op: opDelete, object: Object{Kind: k, ID: id}}
}

// Inventory says which inventory of the actuator the snapshot contains after the events before it.
func Inventory(at time.Time, revision int64) Event {
	return Event{Time: at, op: opInventory, inventory: revision}
}

// Key names the object that the event is about; the zero Key where it is about none.
func (e Event) Key() Key { return Key{Kind: e.object.Kind, ID: e.object.ID} }

// Removes says whether the event deletes its object.
func (e Event) Removes() bool { return e.op == opDelete }

// Object is what a Put carries; the zero Object otherwise.
func (e Event) Object() Object {
	if e.op != opPut {
		return Object{}
	}
	return e.object
}

// Fold applies events in order and returns the next snapshot. The revision grows by one when anything changed; when
// nothing did, because each object put was there already and each object deleted was not, s itself is returned.
//
// Events about different objects may be folded in any order and in any number of steps: apart from the revision the
// outcome is the same.
func Fold(s Snapshot, events []Event) Snapshot {
	f := folding{next: s}
	for k := range f.tables {
		f.tables[k].table = s.tables[k]
	}
	f.classes.table = s.classes
	for _, e := range events {
		f.apply(e)
	}
	if !f.changed {
		return s
	}
	for k := range f.tables {
		f.next.tables[k] = f.tables[k].table
	}
	f.next.classes = f.classes.table
	f.next.Revision = s.Revision + 1
	return f.next
}

type folding struct {
	next    Snapshot
	tables  [kinds]draft[Object]
	classes draft[class]
	changed bool
}

func (f *folding) apply(e Event) {
	before := f.changed
	f.changed = false
	switch e.op {
	case opPut:
		f.put(e.object)
	case opDelete:
		f.remove(e.object.Kind, e.object.ID)
	case opInventory:
		f.changed = f.next.InventoryRevision != e.inventory
		f.next.InventoryRevision = e.inventory
	}
	if f.changed && e.Time.After(f.next.ObserveTime) {
		f.next.ObserveTime = e.Time
	}
	f.changed = f.changed || before
}

func (f *folding) put(o Object) {
	if !foldable(o.Kind) {
		return
	}
	old, had := f.tables[o.Kind].table.get(o.ID)
	if had && old.Hash == o.Hash && classID(old) == classID(o) {
		return
	}
	if o.Class != nil {
		o.Class = f.retain(o.Class)
	}
	if had {
		f.release(old.Class)
	}
	f.tables[o.Kind].set(o.ID, o)
	f.changed = true
}

func (f *folding) remove(k Kind, id string) {
	if !foldable(k) {
		return
	}
	old, had := f.tables[k].table.get(id)
	if !had {
		return
	}
	f.release(old.Class)
	f.tables[k].remove(id)
	f.changed = true
}

// retain counts a reference and returns the one copy of the class that all its referrers share.
func (f *folding) retain(o *Object) *Object {
	c, ok := f.classes.table.get(o.ID)
	if !ok {
		c.object = o
	}
	c.refs++
	f.classes.set(o.ID, c)
	return c.object
}

func (f *folding) release(o *Object) {
	if o == nil {
		return
	}
	c, _ := f.classes.table.get(o.ID)
	c.refs--
	if c.refs <= 0 {
		f.classes.remove(o.ID)
		return
	}
	f.classes.set(o.ID, c)
}

// Batch is what one source observed together.
type Batch struct {
	// Time is when it was observed.
	Time time.Time
	// Whole lists the kinds that the events name completely: objects of these kinds that no event puts are no more.
	Whole []Kind
	// Events are in the order in which they happened.
	Events []Event
}

// Fold is Fold with the events of the batch, and a delete for each object of its whole kinds that it does not put.
func (b Batch) Fold(s Snapshot) Snapshot {
	if len(b.Whole) == 0 {
		return Fold(s, b.Events)
	}
	keep := make(map[Key]bool, len(b.Events))
	for _, e := range b.Events {
		if e.op == opPut {
			keep[e.Key()] = true
		}
	}
	events := append([]Event(nil), b.Events...)
	for _, k := range b.Whole {
		if !foldable(k) {
			continue
		}
		for _, o := range s.Objects(k) {
			if !keep[Key{Kind: k, ID: o.ID}] {
				events = append(events, Delete(b.Time, k, o.ID))
			}
		}
	}
	return Fold(s, events)
}

func foldable(k Kind) bool { return k > PodClass && int(k) < kinds }

func classID(o Object) string {
	if o.Class == nil {
		return ""
	}
	return o.Class.ID
}
