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

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	plannerv1 "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1"
	"github.com/kerf-dev/kerf/services/planner/convert"
	"github.com/kerf-dev/kerf/services/planner/internal/mutate"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
)

// stream plays the client of a session: what it says is known beforehand, and the answers are kept.
type stream struct {
	grpc.ServerStream
	says    []*plannerv1.SessionRequest
	answers []*plannerv1.Plan
	open    bool
}

func (s *stream) Context() context.Context { return context.Background() }

func (s *stream) Recv() (*plannerv1.SessionRequest, error) {
	if len(s.says) == 0 {
		return nil, io.EOF
	}
	m := s.says[0]
	s.says = s.says[1:]
	return m, nil
}

func (s *stream) Send(m *plannerv1.SessionResponse) error {
	if !s.open {
		s.answers = append(s.answers, &plannerv1.Plan{})
	}
	proto.Merge(s.answers[len(s.answers)-1], m.GetPlan().GetPlan())
	s.open = !m.GetPlan().GetLast()
	return nil
}

func idOf(m protoreflect.Message) string {
	if o, ok := m.Interface().(*clusterv1.Offering); ok {
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
func lists(s *clusterv1.Snapshot, visit func(f protoreflect.FieldDescriptor, objects []protoreflect.Message)) {
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
func parts(c *mutate.Choices, s *clusterv1.Snapshot, n int) []*clusterv1.Snapshot {
	out := make([]*clusterv1.Snapshot, n)
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

func header(s *clusterv1.Snapshot) *clusterv1.Snapshot {
	return &clusterv1.Snapshot{
		Revision: s.GetRevision(), InventoryRevision: s.GetInventoryRevision(), Cluster: s.GetCluster(), ObserveTime: s.GetObserveTime(),
	}
}

// difference is what leads from a to b, as plainly as can be.
func difference(a, b *clusterv1.Snapshot) (up *clusterv1.Snapshot, gone *clusterv1.Removed) {
	up, gone = header(b), &clusterv1.Removed{}
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
				r.Mutable(r.Descriptor().Fields().ByName(f.Name())).List().Append(protoreflect.ValueOfString(idOf(o)))
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
		c := mutate.Choices(data)
		request := convert.Request(busy())
		a := request.GetSnapshot()
		mutate.Message(&c, a, c.Pick(4))
		b := proto.CloneOf(a)
		mutate.Message(&c, b, 1+c.Pick(6))
		b.Revision, b.InventoryRevision, b.Cluster, b.ObserveTime = a.GetRevision()+1, a.GetInventoryRevision(), a.GetCluster(), a.GetObserveTime()

		planner := server.New(server.Config{})
		ask := func(s *clusterv1.Snapshot) (*plannerv1.Plan, error) {
			r, err := planner.Plan(t.Context(), &plannerv1.PlanRequest{Snapshot: s, Decide: request.GetDecide()})
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
func says(c *mutate.Choices, a, b *clusterv1.Snapshot, d *plannerv1.Decide) []*plannerv1.SessionRequest {
	var out []*plannerv1.SessionRequest
	whole := parts(c, a, 1+c.Pick(3))
	for i, p := range whole {
		m := &plannerv1.SnapshotPart{Snapshot: p, Last: i == len(whole)-1}
		out = append(out, &plannerv1.SessionRequest{Message: &plannerv1.SessionRequest_Snapshot{Snapshot: m}})
	}
	decide := &plannerv1.SessionRequest{Message: &plannerv1.SessionRequest_Decide{Decide: d}}
	if c.Pick(2) == 1 {
		out = append(out, decide)
	}
	up, gone := difference(a, b)
	var deltas []*clusterv1.Delta
	for _, p := range parts(c, up, 1+c.Pick(3)) {
		deltas = append(deltas, &clusterv1.Delta{BaseRevision: a.GetRevision(), Revision: b.GetRevision(), Upserted: p})
	}
	deltas = slices.Insert(deltas, c.Pick(len(deltas)+1), &clusterv1.Delta{BaseRevision: a.GetRevision(), Revision: b.GetRevision(), Removed: gone})
	for i, p := range deltas {
		m := &plannerv1.DeltaPart{Delta: p, Last: i == len(deltas)-1}
		out = append(out, &plannerv1.SessionRequest{Message: &plannerv1.SessionRequest_Delta{Delta: m}})
	}
	return append(out, decide)
}
