package planner_test

import (
	"context"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/mutatetest"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
)

// stream plays the client of a session: what it says is known beforehand, and the answers are kept.
type stream struct {
	grpc.ServerStream
	says    []*plannerpb.SessionRequest
	answers []*plannerpb.Plan
	open    bool
}

func (s *stream) Context() context.Context { return context.Background() }

func (s *stream) Recv() (*plannerpb.SessionRequest, error) {
	if len(s.says) == 0 {
		return nil, io.EOF
	}
	m := s.says[0]
	s.says = s.says[1:]
	return m, nil
}

func (s *stream) Send(m *plannerpb.SessionResponse) error {
	if !s.open {
		s.answers = append(s.answers, &plannerpb.Plan{})
	}
	proto.Merge(s.answers[len(s.answers)-1], m.GetPlan().GetPlan())
	s.open = !m.GetPlan().GetLast()
	return nil
}

func idOf(m protoreflect.Message) string {
	if o, ok := m.Interface().(*clusterpb.Offering); ok {
		return convert.OfferingID(o)
	}
	for _, name := range []protoreflect.Name{"id", "name"} {
		if f := m.Descriptor().Fields().ByName(name); f != nil {
			return m.Get(f).String()
		}
	}
	return ""
}

// lists visits the lists of a snapshot, one field after the other.
func lists(s *clusterpb.Snapshot, visit func(f protoreflect.FieldDescriptor, objects []protoreflect.Message)) {
	m := s.ProtoReflect()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.IsList() {
			list := m.Get(f).List()
			objects := make([]protoreflect.Message, list.Len())
			for j := range objects {
				objects[j] = list.Get(j).Message()
			}
			visit(f, objects)
		}
	}
}

// parts deals the objects of a snapshot out to a number of parts.
func parts(c *mutatetest.Choices, s *clusterpb.Snapshot, n int) []*clusterpb.Snapshot {
	out := make([]*clusterpb.Snapshot, n)
	for i := range out {
		out[i] = header(s)
	}
	lists(s, func(f protoreflect.FieldDescriptor, objects []protoreflect.Message) {
		for _, o := range objects {
			out[c.Pick(n)].ProtoReflect().Mutable(f).List().Append(protoreflect.ValueOfMessage(o))
		}
	})
	return out
}

func header(s *clusterpb.Snapshot) *clusterpb.Snapshot {
	return &clusterpb.Snapshot{
		Revision: s.GetRevision(), InventoryRevision: s.GetInventoryRevision(), Cluster: s.GetCluster(), ObserveTime: s.GetObserveTime(),
	}
}

// difference is what leads from a to b, as plainly as can be.
func difference(a, b *clusterpb.Snapshot) (up *clusterpb.Snapshot, gone *clusterpb.Removed) {
	up, gone = header(b), &clusterpb.Removed{}
	before := map[protoreflect.FieldNumber]map[string]protoreflect.Message{}
	lists(a, func(f protoreflect.FieldDescriptor, objects []protoreflect.Message) {
		before[f.Number()] = map[string]protoreflect.Message{}
		for _, o := range objects {
			before[f.Number()][idOf(o)] = o
		}
	})
	lists(b, func(f protoreflect.FieldDescriptor, objects []protoreflect.Message) {
		known := before[f.Number()]
		for _, o := range objects {
			old, ok := known[idOf(o)]
			if !ok || !proto.Equal(old.Interface(), o.Interface()) {
				up.ProtoReflect().Mutable(f).List().Append(protoreflect.ValueOfMessage(o))
			}
			delete(known, idOf(o))
		}
	})
	lists(a, func(f protoreflect.FieldDescriptor, objects []protoreflect.Message) {
		r := gone.ProtoReflect()
		for _, o := range objects {
			if _, left := before[f.Number()][idOf(o)]; left {
				removed := protoreflect.ValueOfString(idOf(o))
				field := r.Descriptor().Fields().ByName(f.Name())
				if field.Message() != nil { // offerings have no id, but what they are
					removed = protoreflect.ValueOfMessage(convert.OfferingRef(idOf(o)).ProtoReflect())
				}
				r.Mutable(field).List().Append(removed)
			}
		}
	})
	return up, gone
}

// FuzzSession leads a session from one snapshot to another by their difference, in parts of a fuzzer's making, and holds
// its answer against that to the other snapshot as a whole.
func FuzzSession(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a kerf is the width that a saw wastes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := mutatetest.Choices(data)
		request := convert.Request(busy())
		a := request.GetSnapshot()
		mutatetest.Message(&c, a, c.Pick(4))
		b := proto.CloneOf(a)
		mutatetest.Message(&c, b, 1+c.Pick(6))
		b.Revision, b.InventoryRevision, b.Cluster, b.ObserveTime = a.GetRevision()+1, a.GetInventoryRevision(), a.GetCluster(), a.GetObserveTime()

		planner := server.New(server.Config{})
		ask := func(s *clusterpb.Snapshot) (*plannerpb.Plan, error) {
			r, err := planner.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: s, Decide: request.GetDecide()})
			return r.GetPlan(), err
		}
		if _, err := ask(a); err != nil {
			return // FuzzDecide says whether it may be
		}
		want, err := ask(b)
		if err != nil {
			return
		}
		s := &stream{says: says(&c, a, b, request.GetDecide())}
		if err := planner.Session(s); err != nil {
			t.Fatalf("the session ended with %s: %v", status.Code(err), err)
		}
		got := s.answers[len(s.answers)-1]
		got.Timings, want.Timings = nil, nil
		if !proto.Equal(want, got) {
			t.Fatalf("the session's plan:\n%v\nis not that of the whole snapshot:\n%v", got, want)
		}
		if got := status.Code(planner.Session(&stream{says: says(&c, a, a, request.GetDecide())})); got != codes.InvalidArgument {
			t.Fatalf("a delta that leads nowhere: %s", got)
		}
	})
}

// says is a session about a and then about b.
func says(c *mutatetest.Choices, a, b *clusterpb.Snapshot, d *plannerpb.Decide) []*plannerpb.SessionRequest {
	var out []*plannerpb.SessionRequest
	whole := parts(c, a, 1+c.Pick(3))
	for i, p := range whole {
		m := &clusterpb.SnapshotPart{Snapshot: p, Last: i == len(whole)-1}
		out = append(out, &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Snapshot{Snapshot: m}})
	}
	decide := &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Decide{Decide: d}}
	if c.Pick(2) == 1 {
		out = append(out, decide)
	}
	up, gone := difference(a, b)
	var deltas []*clusterpb.Delta
	for _, p := range parts(c, up, 1+c.Pick(3)) {
		deltas = append(deltas, &clusterpb.Delta{BaseRevision: a.GetRevision(), Revision: b.GetRevision(), Upserted: p})
	}
	deltas = slices.Insert(deltas, c.Pick(len(deltas)+1), &clusterpb.Delta{BaseRevision: a.GetRevision(), Revision: b.GetRevision(), Removed: gone})
	for i, p := range deltas {
		m := &clusterpb.DeltaPart{Delta: p, Last: i == len(deltas)-1}
		out = append(out, &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Delta{Delta: m}})
	}
	return append(out, decide)
}
