package server_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/internal/server"
	"github.com/kerf-dev/kerf/services/watcher/internal/stream"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// readers is how many calls may read the snapshot of a test.
const readers = 2

type fixture struct {
	hub    *stream.Hub[snapshot.Snapshot]
	server *server.Server
	client watcherpb.WatcherServiceClient
}

// policy is what the watcher of the tests asks for plans with.
func policy() *clusterpb.Policy {
	return &clusterpb.Policy{PerNodeOverheadMicroUsdPerHour: new(int64(7)), Repair: &clusterpb.RepairPolicy{Off: true}}
}

func serve(t *testing.T, queue int) fixture {
	t.Helper()
	f := fixture{hub: stream.New[snapshot.Snapshot](queue)}
	f.server = server.New(f.hub, wire.Header{Cluster: "demo"}, policy(), readers)
	lis, srv := bufconn.Listen(1<<20), grpc.NewServer()
	watcherpb.RegisterWatcherServiceServer(srv, f.server)
	go srv.Serve(lis) //nolint:errcheck // ends with Stop
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); srv.Stop() })
	f.client = watcherpb.NewWatcherServiceClient(conn)
	return f
}

// nodes puts n nodes, each with a label of some size.
func nodes(s snapshot.Snapshot, n int, label string) snapshot.Snapshot {
	var events []snapshot.Event
	for i := range n {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%05d", i), Labels: map[string]string{"l": label}}}
		events = append(events, snapshot.Put(time.Time{}, convert.Node(node, convert.NodeFacts{})))
	}
	return snapshot.Fold(s, events)
}

func reasonOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Error("no error")
	}
	return rpcerr.Reason(err)
}

func TestNothingIsServedBeforeTheFirstSync(t *testing.T) {
	f := serve(t, 0)
	snap, err := f.client.GetSnapshot(t.Context(), &watcherpb.GetSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = snap.Recv(); reasonOf(t, err) != server.ReasonNotSynced {
		t.Errorf("GetSnapshot: %v", err)
	}
	watch, err := f.client.WatchSnapshot(t.Context(), &watcherpb.WatchSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = watch.Recv(); reasonOf(t, err) != server.ReasonNotSynced {
		t.Errorf("WatchSnapshot: %v", err)
	}
	if _, err = f.client.GetPlan(t.Context(), &watcherpb.GetPlanRequest{}); reasonOf(t, err) != server.ReasonNoPlan {
		t.Errorf("GetPlan: %v", err)
	}
}

func TestGetSnapshotStreamsThePartsOfTheWhole(t *testing.T) {
	f := serve(t, 0)
	s := nodes(snapshot.Snapshot{}, 5000, strings.Repeat("x", 1000))
	f.hub.Publish(s)
	f.server.SetTrouble("no actuator leads")
	stream, err := f.client.GetSnapshot(t.Context(), &watcherpb.GetSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got, parts := &clusterpb.Snapshot{}, 0
	for last := false; !last; parts++ {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(m); size > 1<<20 {
			t.Errorf("part %d has %d bytes", parts, size)
		}
		if first := parts == 0; first && !proto.Equal(policy(), m.GetPolicy()) || !first && m.GetPolicy() != nil {
			t.Errorf("part %d has the policy %v, want the first part alone to have it", parts, m.GetPolicy())
		}
		if (m.GetTrouble() == "no actuator leads") != (parts == 0) {
			t.Errorf("part %d says %q, want the first part alone to say what is in the way", parts, m.GetTrouble())
		}
		proto.Merge(got, m.GetSnapshot().GetSnapshot())
		last = m.GetSnapshot().GetLast()
	}
	if !proto.Equal(wire.Whole(s, wire.Header{Cluster: "demo"}), got) || parts < 5 {
		t.Errorf("%d parts hold %d nodes of revision %d", parts, len(got.GetNodes()), got.GetRevision())
	}
}

func TestWatchSnapshotStreamsChanges(t *testing.T) {
	f := serve(t, 0)
	one := nodes(snapshot.Snapshot{}, 2, "a")
	f.hub.Publish(one)
	watch, err := f.client.WatchSnapshot(t.Context(), &watcherpb.WatchSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := watch.Recv()
	if err != nil || !first.GetSnapshot().GetLast() || len(first.GetSnapshot().GetSnapshot().GetNodes()) != 2 {
		t.Fatalf("first message %v, %v", first, err)
	}
	two := snapshot.Fold(one, []snapshot.Event{snapshot.Delete(time.Time{}, snapshot.Node, "n-00000")})
	f.hub.Publish(two)
	second, err := watch.Recv()
	if err != nil {
		t.Fatal(err)
	}
	d := second.GetDelta().GetDelta()
	got := []any{d.GetBaseRevision(), d.GetRevision(), d.GetRemoved().GetNodes()[0], second.GetDelta().GetLast()}
	if diff := cmp.Diff([]any{one.Revision, two.Revision, "n-00000", true}, got); diff != "" {
		t.Errorf("the change (-want +got):\n%s", diff)
	}
}

func TestSubscriberThatDoesNotReadIsCutOff(t *testing.T) {
	f := serve(t, 2)
	s := nodes(snapshot.Snapshot{}, 1, "")
	f.hub.Publish(s)
	watch, err := f.client.WatchSnapshot(t.Context(), &watcherpb.WatchSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	for i := range 8 { // each far larger than what the connection buffers
		s = nodes(s, 500, strings.Repeat(string(rune('a'+i)), 1000))
		f.hub.Publish(s)
	}
	for {
		if _, err = watch.Recv(); err != nil {
			break
		}
	}
	if reasonOf(t, err) != server.ReasonTooSlow {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestGetPlanReturnsTheLastOne(t *testing.T) {
	f := serve(t, 0)
	f.server.SetPlan(&plannerpb.Plan{Id: "p-1"}, nil)
	f.server.SetPlan(&plannerpb.Plan{Id: "p-2"}, []*actuatorpb.Verdict{{Decision: "c-1"}})
	large := &plannerpb.Plan{Id: strings.Repeat("x", 16<<20)}
	f.server.SetPlan(large, nil)
	if _, err := f.client.GetPlan(t.Context(), &watcherpb.GetPlanRequest{}); reasonOf(t, err) != server.ReasonTooLarge {
		t.Errorf("a plan that is larger than a message: %v", err)
	}
	f.server.SetPlan(&plannerpb.Plan{Id: "p-2"}, []*actuatorpb.Verdict{{Decision: "c-1"}})
	r, err := f.client.GetPlan(t.Context(), &watcherpb.GetPlanRequest{})
	if err != nil || r.GetPlan().GetId() != "p-2" || r.GetVerdicts()[0].GetDecision() != "c-1" {
		t.Errorf("plan %v, %v", r, err)
	}
}

func TestMoreReadersThanAllowedAreRefused(t *testing.T) {
	f := serve(t, 0)
	f.hub.Publish(nodes(snapshot.Snapshot{}, 1, "x"))
	watch := func(ctx context.Context) error {
		s, err := f.client.WatchSnapshot(ctx, &watcherpb.WatchSnapshotRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}
	ctx, end := context.WithCancel(t.Context())
	for range readers {
		if err := watch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := watch(t.Context()); reasonOf(t, err) != server.ReasonBusy || !strings.Contains(err.Error(), "queues.readers") {
		t.Errorf("one more watches: %v", err)
	}
	snap, err := f.client.GetSnapshot(t.Context(), &watcherpb.GetSnapshotRequest{})
	if err == nil {
		_, err = snap.Recv()
	}
	if reasonOf(t, err) != server.ReasonBusy {
		t.Errorf("one more asks: %v", err)
	}
	end()
	for last := time.Now().Add(time.Minute); watch(t.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(last) {
			t.Fatal("readers that have gone still count")
		}
	}
}
