package session_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/internal/session"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// planner folds what it is sent, as a planner must, and answers each question in three parts. It notes what it got.
type planner struct {
	plannerpb.UnimplementedPlannerServiceServer

	mu      sync.Mutex
	log     []string
	largest int
	// answer, if set, is what becomes of the n-th question of all, from 0 on.
	answer   func(ctx context.Context, n int) error
	question int
}

func (p *planner) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

func (p *planner) Session(s plannerpb.PlannerService_SessionServer) error {
	p.note("open")
	nodes, revision, parts := map[string]bool{}, uint64(0), 0
	whole := &clusterpb.Snapshot{}
	for {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		p.largest = max(p.largest, proto.Size(m))
		switch m := m.GetMessage().(type) {
		case *plannerpb.SessionRequest_Snapshot:
			proto.Merge(whole, m.Snapshot.GetSnapshot())
			parts++
			if m.Snapshot.GetLast() {
				for _, n := range whole.GetNodes() {
					nodes[n.GetName()] = true
				}
				revision = whole.GetRevision()
				p.note("snapshot %d in several parts: %t", revision, parts > 1)
			}
		case *plannerpb.SessionRequest_Delta:
			d := m.Delta.GetDelta()
			if d.GetBaseRevision() != revision && parts > 0 {
				return status.Errorf(codes.OutOfRange, "delta from %d, session at %d", d.GetBaseRevision(), revision)
			}
			for _, n := range d.GetRemoved().GetNodes() {
				delete(nodes, n)
			}
			for _, n := range d.GetUpserted().GetNodes() {
				nodes[n.GetName()] = true
			}
			if m.Delta.GetLast() {
				revision = d.GetRevision()
				p.note("delta to %d", revision)
			}
		case *plannerpb.SessionRequest_Decide:
			if err := p.decide(s, m.Decide, revision, len(nodes)); err != nil {
				return err
			}
		}
	}
}

func (p *planner) decide(s plannerpb.PlannerService_SessionServer, d *plannerpb.Decide, revision uint64, nodes int) error {
	p.mu.Lock()
	n := p.question
	p.question++
	p.mu.Unlock()
	if p.answer != nil {
		if err := p.answer(s.Context(), n); err != nil {
			return err
		}
	}
	p.note("decide %d nodes, trace %s", nodes, d.GetTraceparent())
	for i, part := range []*plannerpb.Plan{
		{Revision: revision, Id: "p"}, {NodeClaims: []*plannerpb.NodeClaim{{Id: "a"}}}, {NodeClaims: []*plannerpb.NodeClaim{{Id: "b"}}},
	} {
		m := &plannerpb.SessionResponse{Message: &plannerpb.SessionResponse_Plan{Plan: &plannerpb.PlanPart{Plan: part, Last: i == 2}}}
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// serve runs the planner on an in-memory listener for the length of the test.
func serve(t *testing.T, p *planner) *session.Client {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	srv := grpc.NewServer()
	plannerpb.RegisterPlannerServiceServer(srv, p)
	go srv.Serve(lis) //nolint:errcheck // ends with Stop
	conn, err := grpc.NewClient("passthrough:///planner", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	c := session.New(session.Config{Planner: plannerpb.NewPlannerServiceClient(conn), PartBytes: 512})
	t.Cleanup(func() {
		c.Close()
		_ = conn.Close()
		srv.Stop()
	})
	return c
}

func nodes(s snapshot.Snapshot, from, to int) snapshot.Snapshot {
	var events []snapshot.Event
	for i := from; i < to; i++ {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-with-a-long-name-%03d", i)}}
		events = append(events, snapshot.Put(time.Time{}, convert.Node(n, convert.NodeFacts{})))
	}
	return snapshot.Fold(s, events)
}

func TestSession(t *testing.T) {
	one := nodes(snapshot.Snapshot{}, 0, 100)
	two := nodes(one, 100, 101)
	gone := status.Error(codes.Unavailable, "going away")
	for name, tc := range map[string]struct {
		answer func(context.Context, int) error
		ask    []snapshot.Snapshot
		want   []string
		errs   []string
	}{
		"a whole snapshot first, then what changed": {
			ask: []snapshot.Snapshot{one, two},
			want: []string{
				"open", "snapshot 1 in several parts: true", "decide 100 nodes, trace tp",
				"delta to 2", "decide 101 nodes, trace tp",
			},
			errs: []string{"", ""},
		},
		"the same revision needs no delta": {
			ask:  []snapshot.Snapshot{one, one},
			want: []string{"open", "snapshot 1 in several parts: true", "decide 100 nodes, trace tp", "decide 100 nodes, trace tp"},
			errs: []string{"", ""},
		},
		"a session that has gone is replaced by a whole snapshot": {
			answer: func(_ context.Context, n int) error {
				if n == 1 {
					return gone
				}
				return nil
			},
			ask: []snapshot.Snapshot{one, two},
			want: []string{
				"open", "snapshot 1 in several parts: true", "decide 100 nodes, trace tp",
				"delta to 2", "open", "snapshot 2 in several parts: true", "decide 101 nodes, trace tp",
			},
			errs: []string{"", ""},
		},
		"an error on a new session is the caller's, and the next question begins anew": {
			answer: func(_ context.Context, n int) error {
				if n == 0 {
					return status.Error(codes.InvalidArgument, "node x: bad")
				}
				return nil
			},
			ask: []snapshot.Snapshot{one, one},
			want: []string{
				"open", "snapshot 1 in several parts: true", "open", "snapshot 1 in several parts: true", "decide 100 nodes, trace tp",
			},
			errs: []string{"node x: bad", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &planner{answer: tc.answer}
			c := serve(t, p)
			for i, s := range tc.ask {
				plan, err := c.Plan(t.Context(), s, &plannerpb.Decide{Traceparent: "tp"})
				if tc.errs[i] != "" {
					if err == nil || !strings.Contains(err.Error(), tc.errs[i]) {
						t.Fatalf("question %d: error %v, want %s", i, err, tc.errs[i])
					}
					continue
				}
				if err != nil {
					t.Fatalf("question %d: %v", i, err)
				}
				if len(plan.GetNodeClaims()) != 2 || plan.GetRevision() != s.Revision {
					t.Errorf("question %d: plan %v", i, plan)
				}
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if diff := cmp.Diff(tc.want, p.log); diff != "" {
				t.Errorf("what the planner saw (-want +got):\n%s", diff)
			}
			if p.largest > 600 {
				t.Errorf("a message of %d bytes, want about 512 at most", p.largest)
			}
		})
	}
}

func TestPlannerThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &planner{answer: func(ctx context.Context, n int) error {
			if n == 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		c := serve(t, p)
		s := nodes(snapshot.Snapshot{}, 0, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := c.Plan(ctx, s, &plannerpb.Decide{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline's", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %s, want the deadline", took)
		}
		if _, err := c.Plan(t.Context(), s, &plannerpb.Decide{}); err != nil {
			t.Errorf("the next question: %v", err)
		}
	})
}
