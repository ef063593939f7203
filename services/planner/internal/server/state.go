package server

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// session is what one stream holds. Messages are read once, when they come, and then forgotten: the planner's own session
// keeps the snapshot, with all that it has worked out. It belongs to the stream's goroutine.
type session struct {
	bounds *bounds
	// bytes is what the bounds know that the session holds.
	bytes int
	// now is the snapshot that questions are about; nil before the first.
	now *state
	// next is a snapshot of which parts are still to come; nil when none is under way.
	next *state
	// changing is the delta of which parts are still to come; nil when none is under way.
	changing *change
	texts    convert.Texts
}

// change is a delta as far as its parts have come.
type change struct {
	base, revision uint64
	// bytes is the size of all its objects: one that comes with each part is there as often.
	bytes int
	model.Delta
}

// snapshot takes a part of a whole snapshot.
func (s *session) snapshot(part *clusterpb.SnapshotPart) error {
	if s.changing != nil {
		return sequence("a part of a snapshot amid a delta")
	}
	if s.next == nil {
		s.next = newState()
	}
	if err := s.next.add(part.GetSnapshot()); err != nil {
		return err
	}
	if err := s.bounded(); err != nil {
		return err
	}
	s.texts.Share(part.GetSnapshot())
	if err := s.next.read(part.GetSnapshot()); err != nil {
		return err
	}
	if !part.GetLast() {
		return nil
	}
	if err := s.next.begin(); err != nil {
		return err
	}
	s.now, s.next = s.next, nil
	return s.bounded()
}

// delta takes a part of a delta. The planner's session learns of it when the last part is there.
func (s *session) delta(part *clusterpb.DeltaPart) error {
	d := part.GetDelta()
	switch {
	case s.next != nil:
		return sequence("a part of a delta amid a snapshot")
	case s.now == nil:
		return gap("delta %d to %d: the session has no snapshot", d.GetBaseRevision(), d.GetRevision())
	case s.changing != nil && (d.GetBaseRevision() != s.changing.base || d.GetRevision() != s.changing.revision):
		return sequence("a part of another delta before the last part of delta %d to %d", s.changing.base, s.changing.revision)
	case d.GetBaseRevision() != s.now.head.Revision:
		return gap("delta %d to %d: the session has revision %d", d.GetBaseRevision(), d.GetRevision(), s.now.head.Revision)
	case d.GetRevision() <= d.GetBaseRevision():
		return rpcerr.Invalid(rpcerr.Violation{Field: "delta.revision", Problem: "must be above base_revision"})
	}
	if s.changing == nil {
		s.changing = &change{base: d.GetBaseRevision(), revision: d.GetRevision()}
	}
	if err := s.now.change(d); err != nil {
		return err
	}
	s.changing.bytes += proto.Size(d.GetRemoved()) + sizeOf(d.GetUpserted())
	if err := s.bounded(); err != nil {
		return err
	}
	s.texts.Share(d.GetUpserted())
	read, err := convert.Delta(d)
	if err != nil {
		return invalid(err)
	}
	s.changing.Append(&read)
	if !part.GetLast() {
		return nil
	}
	if err := s.now.apply(s.changing); err != nil {
		return err
	}
	s.changing = nil
	return s.bounded()
}

// held is the state to plan for.
func (s *session) held() (*state, error) {
	switch {
	case s.next != nil || s.changing != nil:
		return nil, sequence("a decide before the last part of a snapshot or a delta")
	case s.now == nil:
		return nil, sequence("a decide before any snapshot")
	}
	return s.now, nil
}

// bounded lets the bounds know what the session holds, and fails where that is too much.
func (s *session) bounded() error {
	sum := 0
	for _, st := range []*state{s.now, s.next} {
		if st != nil {
			sum += st.bytes
		}
		if st != nil && st.bytes > s.bounds.limits.SnapshotBytes {
			return s.tooLarge("snapshot")
		}
	}
	if s.changing != nil {
		sum += s.changing.bytes
		if s.changing.bytes > s.bounds.limits.SnapshotBytes {
			return s.tooLarge("delta")
		}
	}
	if err := s.bounds.hold(sum - s.bytes); err != nil {
		return err
	}
	s.bytes = sum
	return nil
}

func (s *session) tooLarge(what string) error {
	return rpcerr.New(codes.ResourceExhausted, ReasonTooLarge, "the %s has more than %d bytes, which sessions.max_snapshot_bytes allows",
		what, s.bounds.limits.SnapshotBytes)
}

func sequence(what string, args ...any) error {
	return rpcerr.New(codes.InvalidArgument, ReasonSequence, what, args...)
}

func gap(what string, args ...any) error {
	return rpcerr.New(codes.OutOfRange, ReasonGap, what+"; send a whole snapshot", args...)
}

// state is a snapshot: which objects there are, and the planner's session that has them.
type state struct {
	// head is the snapshot without its objects, once it has begun; before, with those that have come.
	head   model.Snapshot
	plan   *plan.Session
	tables []table
	// bytes is the size of all objects.
	bytes int
}

// sizeOf is what the objects of a snapshot count, without its header.
func sizeOf(snap *clusterpb.Snapshot) (bytes int) {
	for _, t := range newState().tables {
		bytes += t.size(snap)
	}
	return bytes
}

// table holds the objects of one kind.
type table interface {
	// size is what the objects count.
	size(of *clusterpb.Snapshot) (bytes int)
	// add takes new objects; it names one that was there, or returns "".
	add(from *clusterpb.Snapshot) (known string, bytes int)
	// put takes objects that are new or changed.
	put(from *clusterpb.Snapshot) (bytes int)
	// drop forgets objects; it names one that was not there, or came with an earlier part of the delta, or returns "".
	drop(from *clusterpb.Removed) (unknown string, bytes int)
	// settle ends a delta.
	settle()
}

func newState() *state {
	return &state{tables: []table{
		of("pod class", (*clusterpb.PodClass).GetId, func(s *clusterpb.Snapshot) *[]*clusterpb.PodClass { return &s.PodClasses }, (*clusterpb.Removed).GetPodClasses),
		of("pod", (*clusterpb.Pod).GetId, func(s *clusterpb.Snapshot) *[]*clusterpb.Pod { return &s.Pods }, (*clusterpb.Removed).GetPods),
		of("daemon set", (*clusterpb.DaemonSet).GetId, func(s *clusterpb.Snapshot) *[]*clusterpb.DaemonSet { return &s.DaemonSets }, (*clusterpb.Removed).GetDaemonSets),
		of("node", (*clusterpb.Node).GetName, func(s *clusterpb.Snapshot) *[]*clusterpb.Node { return &s.Nodes }, (*clusterpb.Removed).GetNodes),
		of("namespace", (*clusterpb.Namespace).GetName, func(s *clusterpb.Snapshot) *[]*clusterpb.Namespace { return &s.Namespaces }, (*clusterpb.Removed).GetNamespaces),
		of("pod disruption budget", (*clusterpb.PodDisruptionBudget).GetId,
			func(s *clusterpb.Snapshot) *[]*clusterpb.PodDisruptionBudget { return &s.PodDisruptionBudgets }, (*clusterpb.Removed).GetPodDisruptionBudgets),
		of("node pool", (*clusterpb.NodePool).GetName, func(s *clusterpb.Snapshot) *[]*clusterpb.NodePool { return &s.NodePools }, (*clusterpb.Removed).GetNodePools),
		of("node class", (*clusterpb.NodeClass).GetName, func(s *clusterpb.Snapshot) *[]*clusterpb.NodeClass { return &s.NodeClasses }, (*clusterpb.Removed).GetNodeClasses),
		of("catalog", (*clusterpb.Catalog).GetId, func(s *clusterpb.Snapshot) *[]*clusterpb.Catalog { return &s.Catalogs }, (*clusterpb.Removed).GetCatalogs),
		of("offering", convert.OfferingID, func(s *clusterpb.Snapshot) *[]*clusterpb.Offering { return &s.Offerings }, convert.RemovedOfferings),
		of("claim", (*clusterpb.Claim).GetId, func(s *clusterpb.Snapshot) *[]*clusterpb.Claim { return &s.Claims }, (*clusterpb.Removed).GetClaims),
		of("notice", (*clusterpb.Notice).GetId, func(s *clusterpb.Snapshot) *[]*clusterpb.Notice { return &s.Notices }, (*clusterpb.Removed).GetNotices),
		of("disruption", (*clusterpb.DisruptionRecord).GetId,
			func(s *clusterpb.Snapshot) *[]*clusterpb.DisruptionRecord { return &s.Disruptions }, (*clusterpb.Removed).GetDisruptions),
		of("node overlay", (*clusterpb.NodeOverlay).GetName,
			func(s *clusterpb.Snapshot) *[]*clusterpb.NodeOverlay { return &s.NodeOverlays }, (*clusterpb.Removed).GetNodeOverlays),
		of("capacity buffer", (*clusterpb.CapacityBuffer).GetId,
			func(s *clusterpb.Snapshot) *[]*clusterpb.CapacityBuffer { return &s.CapacityBuffers }, (*clusterpb.Removed).GetCapacityBuffers),
	}}
}

// add takes note of a part of a whole snapshot.
func (s *state) add(part *clusterpb.Snapshot) error {
	for _, t := range s.tables {
		known, n := t.add(part)
		if known != "" {
			return rpcerr.New(codes.InvalidArgument, rpcerr.ReasonInvalid, "invalid request: %s: is there twice", known)
		}
		s.bytes += n
	}
	return nil
}

// read keeps the objects of a part.
func (s *state) read(part *clusterpb.Snapshot) error {
	m, err := convert.Part(part)
	if err != nil {
		return invalid(err)
	}
	s.head.Append(&m)
	return nil
}

// begin hands the objects over to the planner.
func (s *state) begin() (err error) {
	if err := convert.References(&s.head); err != nil {
		return invalid(err)
	}
	s.plan, err = plan.NewSession(&s.head)
	h := &s.head
	*h = model.Snapshot{Revision: h.Revision, InventoryRevision: h.InventoryRevision, Cluster: h.Cluster, ObserveTime: h.ObserveTime}
	return invalid(err)
}

// apply hands a delta over to the planner. Header fields that it does not have stay as they were.
func (s *state) apply(c *change) error {
	c.Upserted.Revision = c.revision
	s.head.Append(&model.Snapshot{
		Revision: c.revision, InventoryRevision: c.Upserted.InventoryRevision, Cluster: c.Upserted.Cluster, ObserveTime: c.Upserted.ObserveTime,
	})
	up := &c.Upserted
	up.InventoryRevision, up.Cluster, up.ObserveTime = s.head.InventoryRevision, s.head.Cluster, s.head.ObserveTime
	for _, t := range s.tables {
		t.settle()
	}
	return invalid(s.plan.Apply(&c.Delta))
}

// change folds a part of a delta in. An object that is gone and was never there shows that the two sides no longer hold
// the same.
func (s *state) change(d *clusterpb.Delta) error {
	for _, t := range s.tables {
		unknown, n := t.drop(d.GetRemoved())
		if unknown != "" {
			return gap("delta %d to %d: removes %s, which the session does not have", d.GetBaseRevision(), d.GetRevision(), unknown)
		}
		s.bytes -= n
		s.bytes += t.put(d.GetUpserted())
	}
	return nil
}

// objects is the table of one kind: the size of each by id.
type objects[T proto.Message] struct {
	kind  string
	id    func(T) string
	list  func(*clusterpb.Snapshot) *[]T
	gone  func(*clusterpb.Removed) []string
	bytes map[string]int32
	// fresh are those that came with the delta that is under way.
	fresh map[string]bool
}

func of[T proto.Message](kind string, id func(T) string, list func(*clusterpb.Snapshot) *[]T, gone func(*clusterpb.Removed) []string) table {
	return &objects[T]{kind: kind, id: id, list: list, gone: gone, bytes: make(map[string]int32), fresh: make(map[string]bool)}
}

func (o *objects[T]) name(id string) string { return fmt.Sprintf("%s %q", o.kind, id) }

func (o *objects[T]) in(s *clusterpb.Snapshot) []T {
	if s == nil {
		return nil
	}
	return *o.list(s)
}

func (o *objects[T]) size(of *clusterpb.Snapshot) (bytes int) {
	for _, x := range o.in(of) {
		bytes += proto.Size(x) + objectBytes
	}
	return bytes
}

func (o *objects[T]) add(from *clusterpb.Snapshot) (known string, bytes int) {
	for _, x := range o.in(from) {
		id, n := o.id(x), proto.Size(x)+objectBytes
		if _, ok := o.bytes[id]; ok {
			return o.name(id), bytes
		}
		o.bytes[id] = int32(n)
		bytes += n
	}
	return "", bytes
}

func (o *objects[T]) put(from *clusterpb.Snapshot) (bytes int) {
	for _, x := range o.in(from) {
		id, n := o.id(x), proto.Size(x)+objectBytes
		bytes += n - int(o.bytes[id])
		o.bytes[id] = int32(n)
		o.fresh[id] = true
	}
	return bytes
}

func (o *objects[T]) drop(from *clusterpb.Removed) (unknown string, bytes int) {
	for _, id := range o.gone(from) {
		n, ok := o.bytes[id]
		if !ok || o.fresh[id] {
			return o.name(id), bytes
		}
		bytes += int(n)
		delete(o.bytes, id)
	}
	return "", bytes
}

func (o *objects[T]) settle() { clear(o.fresh) }
