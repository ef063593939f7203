package server

import (
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	plannerv1 "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/planner/convert"
)

// session is what one stream holds: messages by id, as they came. Each question sorts and reads all of them anew, which
// is the straight road; a session that keeps the planner's own picture up to date from delta to delta is a piece of work
// of its own, and would change nothing but this file. It belongs to the stream's goroutine.
type session struct {
	mostBytes int
	// now is the snapshot that questions are about; nil before the first.
	now *state
	// next is a snapshot of which parts are still to come; nil when none is under way.
	next *state
	// changing is the delta of which parts are still to come; nil when none is under way.
	changing *clusterv1.Delta
}

func newSession(mostBytes int) *session { return &session{mostBytes: mostBytes} }

// snapshot takes a part of a whole snapshot.
func (s *session) snapshot(part *plannerv1.SnapshotPart) error {
	if s.changing != nil {
		return sequence("a part of a snapshot amid a delta")
	}
	if s.next == nil {
		s.next = newState()
	}
	if err := s.next.add(part.GetSnapshot()); err != nil {
		return err
	}
	if err := s.bounded(s.next); err != nil {
		return err
	}
	if part.GetLast() {
		s.now, s.next = s.next, nil
	}
	return nil
}

// delta takes a part of a delta. What a part says is folded in at once: nobody can ask before the last part is there, and
// an error ends the session.
func (s *session) delta(part *plannerv1.DeltaPart) error {
	d := part.GetDelta()
	switch {
	case s.next != nil:
		return sequence("a part of a delta amid a snapshot")
	case s.now == nil:
		return gap("delta %d to %d: the session holds no snapshot", d.GetBaseRevision(), d.GetRevision())
	case s.changing != nil && (d.GetBaseRevision() != s.changing.GetBaseRevision() || d.GetRevision() != s.changing.GetRevision()):
		return sequence("a part of another delta before the last part of delta %d to %d", s.changing.GetBaseRevision(), s.changing.GetRevision())
	case d.GetBaseRevision() != s.now.head.GetRevision():
		return gap("delta %d to %d: the session holds revision %d", d.GetBaseRevision(), d.GetRevision(), s.now.head.GetRevision())
	case d.GetRevision() <= d.GetBaseRevision():
		return rpcerr.Invalid(rpcerr.Violation{Field: "delta.revision", Problem: "must be above base_revision"})
	}
	if s.changing == nil {
		s.changing = &clusterv1.Delta{BaseRevision: d.GetBaseRevision(), Revision: d.GetRevision(), Upserted: &clusterv1.Snapshot{}}
	}
	if err := s.now.change(d); err != nil {
		return err
	}
	proto.Merge(s.changing.GetUpserted(), header(d.GetUpserted()))
	if err := s.bounded(s.now); err != nil {
		return err
	}
	if !part.GetLast() {
		return nil
	}
	proto.Merge(s.now.head, s.changing.GetUpserted())
	s.now.head.Revision = s.changing.GetRevision()
	s.changing = nil
	return nil
}

// whole is the snapshot to plan for.
func (s *session) whole() (*clusterv1.Snapshot, error) {
	switch {
	case s.next != nil || s.changing != nil:
		return nil, sequence("a decide before the last part of a snapshot or a delta")
	case s.now == nil:
		return nil, sequence("a decide before any snapshot")
	}
	return s.now.write(), nil
}

func (s *session) bounded(st *state) error {
	if st.bytes <= s.mostBytes {
		return nil
	}
	return rpcerr.New(codes.ResourceExhausted, ReasonTooLarge, "the snapshot has more than %d bytes, which sessions.max_snapshot_bytes allows", s.mostBytes)
}

func sequence(what string, args ...any) error {
	return rpcerr.New(codes.InvalidArgument, ReasonSequence, what, args...)
}

func gap(what string, args ...any) error {
	return rpcerr.New(codes.OutOfRange, ReasonGap, what+"; send a whole snapshot", args...)
}

// header is a snapshot without its objects.
func header(s *clusterv1.Snapshot) *clusterv1.Snapshot {
	return &clusterv1.Snapshot{
		Revision: s.GetRevision(), InventoryRevision: s.GetInventoryRevision(), Cluster: s.GetCluster(), ObserveTime: s.GetObserveTime(),
	}
}

// state is a snapshot, object by object.
type state struct {
	head   *clusterv1.Snapshot
	tables []table
	// bytes is the size of all objects as they were sent.
	bytes int
}

// table holds the objects of one kind.
type table interface {
	// add takes new objects; it returns the id of one that was there, or "".
	add(from *clusterv1.Snapshot) (known string, bytes int)
	// put takes objects that are new or changed.
	put(from *clusterv1.Snapshot) (bytes int)
	// drop forgets objects; it returns the id of one that was not there, or "".
	drop(from *clusterv1.Removed) (unknown string, bytes int)
	// write lists the objects, sorted by id.
	write(to *clusterv1.Snapshot)
	// what is what one of the objects is called.
	what() string
}

func newState() *state {
	return &state{head: &clusterv1.Snapshot{}, tables: []table{
		of("pod class", (*clusterv1.PodClass).GetId, func(s *clusterv1.Snapshot) *[]*clusterv1.PodClass { return &s.PodClasses }, (*clusterv1.Removed).GetPodClasses),
		of("pod", (*clusterv1.Pod).GetId, func(s *clusterv1.Snapshot) *[]*clusterv1.Pod { return &s.Pods }, (*clusterv1.Removed).GetPods),
		of("daemon set", (*clusterv1.DaemonSet).GetId, func(s *clusterv1.Snapshot) *[]*clusterv1.DaemonSet { return &s.DaemonSets }, (*clusterv1.Removed).GetDaemonSets),
		of("node", (*clusterv1.Node).GetName, func(s *clusterv1.Snapshot) *[]*clusterv1.Node { return &s.Nodes }, (*clusterv1.Removed).GetNodes),
		of("namespace", (*clusterv1.Namespace).GetName, func(s *clusterv1.Snapshot) *[]*clusterv1.Namespace { return &s.Namespaces }, (*clusterv1.Removed).GetNamespaces),
		of("pod disruption budget", (*clusterv1.PodDisruptionBudget).GetId,
			func(s *clusterv1.Snapshot) *[]*clusterv1.PodDisruptionBudget { return &s.PodDisruptionBudgets }, (*clusterv1.Removed).GetPodDisruptionBudgets),
		of("node pool", (*clusterv1.NodePool).GetName, func(s *clusterv1.Snapshot) *[]*clusterv1.NodePool { return &s.NodePools }, (*clusterv1.Removed).GetNodePools),
		of("node class", (*clusterv1.NodeClass).GetName, func(s *clusterv1.Snapshot) *[]*clusterv1.NodeClass { return &s.NodeClasses }, (*clusterv1.Removed).GetNodeClasses),
		of("catalog", (*clusterv1.Catalog).GetId, func(s *clusterv1.Snapshot) *[]*clusterv1.Catalog { return &s.Catalogs }, (*clusterv1.Removed).GetCatalogs),
		of("offering", convert.OfferingID, func(s *clusterv1.Snapshot) *[]*clusterv1.Offering { return &s.Offerings }, (*clusterv1.Removed).GetOfferings),
		of("claim", (*clusterv1.Claim).GetId, func(s *clusterv1.Snapshot) *[]*clusterv1.Claim { return &s.Claims }, (*clusterv1.Removed).GetClaims),
		of("notice", (*clusterv1.Notice).GetId, func(s *clusterv1.Snapshot) *[]*clusterv1.Notice { return &s.Notices }, (*clusterv1.Removed).GetNotices),
		of("disruption", (*clusterv1.DisruptionRecord).GetId,
			func(s *clusterv1.Snapshot) *[]*clusterv1.DisruptionRecord { return &s.Disruptions }, (*clusterv1.Removed).GetDisruptions),
		of("node overlay", (*clusterv1.NodeOverlay).GetName,
			func(s *clusterv1.Snapshot) *[]*clusterv1.NodeOverlay { return &s.NodeOverlays }, (*clusterv1.Removed).GetNodeOverlays),
		of("capacity buffer", (*clusterv1.CapacityBuffer).GetId,
			func(s *clusterv1.Snapshot) *[]*clusterv1.CapacityBuffer { return &s.CapacityBuffers }, (*clusterv1.Removed).GetCapacityBuffers),
	}}
}

// add takes a part of a whole snapshot.
func (s *state) add(part *clusterv1.Snapshot) error {
	proto.Merge(s.head, header(part))
	for _, t := range s.tables {
		known, n := t.add(part)
		if known != "" {
			return rpcerr.New(codes.InvalidArgument, rpcerr.ReasonInvalid, "invalid request: %s %q: is there twice", t.what(), known)
		}
		s.bytes += n
	}
	return nil
}

// change folds a part of a delta in. An object that is gone and was never there shows that the two sides no longer hold
// the same.
func (s *state) change(d *clusterv1.Delta) error {
	for _, t := range s.tables {
		unknown, n := t.drop(d.GetRemoved())
		if unknown != "" {
			return gap("delta %d to %d: removes %s %q, which the session does not hold", d.GetBaseRevision(), d.GetRevision(), t.what(), unknown)
		}
		s.bytes -= n
		s.bytes += t.put(d.GetUpserted())
	}
	return nil
}

func (s *state) write() *clusterv1.Snapshot {
	out := header(s.head)
	for _, t := range s.tables {
		t.write(out)
	}
	return out
}

// objects is the table of one kind.
type objects[T proto.Message] struct {
	kind string
	id   func(T) string
	list func(*clusterv1.Snapshot) *[]T
	gone func(*clusterv1.Removed) []string
	byID map[string]T
}

func of[T proto.Message](kind string, id func(T) string, list func(*clusterv1.Snapshot) *[]T, gone func(*clusterv1.Removed) []string) table {
	return &objects[T]{kind, id, list, gone, make(map[string]T)}
}

func (o *objects[T]) what() string { return o.kind }

func (o *objects[T]) in(s *clusterv1.Snapshot) []T {
	if s == nil {
		return nil
	}
	return *o.list(s)
}

func (o *objects[T]) add(from *clusterv1.Snapshot) (known string, bytes int) {
	for _, x := range o.in(from) {
		id := o.id(x)
		if _, ok := o.byID[id]; ok {
			return id, bytes
		}
		o.byID[id] = x
		bytes += proto.Size(x)
	}
	return "", bytes
}

func (o *objects[T]) put(from *clusterv1.Snapshot) (bytes int) {
	for _, x := range o.in(from) {
		id := o.id(x)
		if old, ok := o.byID[id]; ok {
			bytes -= proto.Size(old)
		}
		o.byID[id] = x
		bytes += proto.Size(x)
	}
	return bytes
}

func (o *objects[T]) drop(from *clusterv1.Removed) (unknown string, bytes int) {
	for _, id := range o.gone(from) {
		old, ok := o.byID[id]
		if !ok {
			return id, bytes
		}
		bytes += proto.Size(old)
		delete(o.byID, id)
	}
	return "", bytes
}

func (o *objects[T]) write(to *clusterv1.Snapshot) {
	list := o.list(to)
	for _, id := range slices.Sorted(maps.Keys(o.byID)) {
		*list = append(*list, o.byID[id])
	}
}
