package planner_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/planner"
)

// serve runs a planner until the test ends and returns its address.
func serve(t *testing.T, cfg planner.Config) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	bound, done := make(chan net.Addr, 1), make(chan error, 1)
	cfg.OnListen = func(a net.Addr) { bound <- a }
	go func() { done <- planner.Run(ctx, cfg) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case addr := <-bound:
		return addr.String()
	case err := <-done:
		t.Fatal(err)
		return ""
	}
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// heap is what is in use once garbage is collected.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// large is a snapshot in parts that counts 11 MB.
func large() []*clusterpb.Snapshot {
	parts := []*clusterpb.Snapshot{{Revision: 1, PodClasses: []*clusterpb.PodClass{{Id: "c-1", Namespace: "shop"}}}}
	for i := range 20 {
		p := &clusterpb.Snapshot{}
		for j := range 1000 {
			p.Pods = append(p.Pods, &clusterpb.Pod{
				Id: fmt.Sprintf("shop/web-%d", 1000*i+j), ClassId: "c-1", Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE,
			})
		}
		parts = append(parts, p)
	}
	return parts
}

// converse sends a snapshot and asks for a plan.
func converse(ctx context.Context, conn *grpc.ClientConn, parts []*clusterpb.Snapshot) (plannerpb.PlannerService_SessionClient, error) {
	s, err := plannerpb.NewPlannerServiceClient(conn).Session(ctx)
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		m := &clusterpb.SnapshotPart{Snapshot: p, Last: i == len(parts)-1}
		// A stream that the planner has ended says why when something is received.
		if s.Send(&plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Snapshot{Snapshot: m}}) != nil {
			break
		}
	}
	_ = s.Send(&plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Decide{Decide: request().GetDecide()}})
	for {
		m, err := s.Recv()
		if err != nil {
			return nil, err
		}
		if m.GetPlan().GetLast() {
			return s, nil
		}
	}
}

// TestAPlannerThatIsAskedTooMuchLives opens many sessions with large snapshots: as many as fit are answered, the others
// are told what to do, and what the first ones held is free again when they end.
func TestAPlannerThatIsAskedTooMuchLives(t *testing.T) {
	const total, sessions, fit = 48 << 20, 12, 4
	var cfg planner.Config
	cfg.Log.Level = "error"
	cfg.Sessions.MaxTotalBytes = total
	address := serve(t, cfg)
	parts := large()
	before := heap()
	for round := range 2 {
		ctx, end := context.WithCancel(t.Context())
		answered := 0
		for range sessions {
			switch _, err := converse(ctx, dial(t, address), parts); status.Code(err) {
			case codes.OK:
				answered++
			case codes.ResourceExhausted:
			default:
				t.Fatal(err)
			}
		}
		if answered != fit {
			t.Errorf("round %d: %d of %d sessions were answered, want %d", round, answered, sessions, fit)
		}
		held := heap() - before
		t.Logf("round %d: %d sessions hold %d MiB", round, answered, held>>20)
		if held > 3*total {
			t.Errorf("round %d: %d bytes are held, for %d that are allowed", round, held, total)
		}
		end()
		eventually(t, "the memory is free", func() bool { return heap() < before+total/4 })
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after two minutes: %s", what)
		}
	}
}
