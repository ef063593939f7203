package loop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
	"github.com/kerf-dev/kerf/services/internal/boot/telemetry"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/internal/inventory"
	"github.com/kerf-dev/kerf/services/watcher/internal/loop"
	"github.com/kerf-dev/kerf/services/watcher/internal/measure"
	"github.com/kerf-dev/kerf/services/watcher/internal/pace"
	"github.com/kerf-dev/kerf/services/watcher/internal/session"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// planner asks for one claim for all unschedulable pods together, but for those named "lost-…", which it leaves pending.
type planner struct {
	plannerpb.UnimplementedPlannerServiceServer

	mu       sync.Mutex
	asked    []*plannerpb.Decide
	broken   error
	sweeps   error // what plans for everything fail with
	took     time.Duration
	ends     []string // where the next searches for nodes to disrupt end, "" at the end of all
	when     []time.Time
	problems []*clusterpb.Reason // what each plan for everything says of users' objects
	// reconsider is the time that plans made before it ask to be reconsidered at.
	reconsider time.Time
	place      string // the node of pods called placed
	large      int    // how many claims of 4 KB the plan has beside
}

func (p *planner) Session(s plannerpb.PlannerService_SessionServer) error {
	pods, header := map[string]*clusterpb.Pod{}, &clusterpb.Snapshot{}
	fold := func(up *clusterpb.Snapshot, gone []string) {
		for _, id := range gone {
			delete(pods, id)
		}
		for _, m := range up.GetPods() {
			pods[m.GetId()] = m
		}
		if up.GetRevision() != 0 {
			header = up
		}
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		switch m := m.GetMessage().(type) {
		case *plannerpb.SessionRequest_Snapshot:
			fold(m.Snapshot.GetSnapshot(), nil)
		case *plannerpb.SessionRequest_Delta:
			fold(m.Delta.GetDelta().GetUpserted(), m.Delta.GetDelta().GetRemoved().GetPods())
		case *plannerpb.SessionRequest_Decide:
			plan, err := p.decide(m.Decide, pods, header)
			if err != nil {
				return err
			}
			rest := plan.GetNodeClaims()
			for last := false; !last; { // in parts that a message has room for
				n := min(len(rest), 500)
				plan.NodeClaims, rest, last = rest[:n], rest[n:], n == len(rest)
				r := &plannerpb.SessionResponse{Message: &plannerpb.SessionResponse_Plan{Plan: &plannerpb.PlanPart{Plan: plan, Last: last}}}
				if err := s.Send(r); err != nil {
					return err
				}
				plan = new(plannerpb.Plan)
			}
		}
	}
}

func (p *planner) decide(d *plannerpb.Decide, pods map[string]*clusterpb.Pod, header *clusterpb.Snapshot) (*plannerpb.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return nil, p.broken
	}
	p.asked, p.when = append(p.asked, d), append(p.when, time.Now())
	if len(d.GetKinds()) == 0 && p.sweeps != nil {
		return nil, p.sweeps
	}
	time.Sleep(p.took) // of the bubble's time
	plan := &plannerpb.Plan{
		Id: fmt.Sprintf("p-%d", len(p.asked)), Revision: header.GetRevision(), InventoryRevision: header.GetInventoryRevision(),
	}
	if len(d.GetKinds()) == 0 && len(p.ends) > 0 {
		plan.DisruptionSummary = &plannerpb.DisruptionSummary{ResumeAfter: p.ends[0]}
		p.ends = p.ends[1:]
	}
	if len(d.GetKinds()) == 0 {
		plan.Problems = p.problems
	}
	if p.reconsider.After(d.GetNow().AsTime()) {
		plan.ReconsiderTime = timestamppb.New(p.reconsider)
	}
	claim := &plannerpb.NodeClaim{Id: fmt.Sprintf("claim-%d", header.GetRevision())}
	for _, id := range sortedPods(pods) {
		if id[:len("shop/lost")] == "shop/lost" {
			plan.Pending = append(plan.Pending, &plannerpb.PendingPod{Pod: id, Reason: &clusterpb.Reason{
				Code: clusterpb.ReasonCode_REASON_CODE_RESOURCES, Message: "too large",
			}})
			continue
		}
		if strings.HasPrefix(id, "shop/placed") {
			plan.Placements = append(plan.Placements, &plannerpb.Placement{Pod: id, Target: &plannerpb.Placement_Node{Node: p.place}})
			continue
		}
		claim.Pods = append(claim.Pods, id)
	}
	if len(claim.GetPods()) > 0 {
		plan.NodeClaims = []*plannerpb.NodeClaim{claim}
	}
	for i := range p.large {
		plan.NodeClaims = append(plan.NodeClaims, &plannerpb.NodeClaim{
			Id: fmt.Sprintf("large-%04d", i), Reason: &clusterpb.Reason{Message: strings.Repeat("m", 4<<10)},
		})
	}
	return plan, nil
}

func (p *planner) set(broken error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// actuator records plans; its inventory is what the test says.
type actuator struct {
	actuatorpb.UnimplementedActuatorServiceServer
	say chan *actuatorpb.DriveResponse

	mu       sync.Mutex
	plans    []*plannerpb.Plan
	applied  []time.Time
	revision int64
	reject   bool
}

func (a *actuator) Drive(_ *actuatorpb.DriveRequest, s grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
	for {
		select {
		case m := <-a.say:
			if err := s.Send(m); err != nil {
				return err
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func (a *actuator) Apply(_ context.Context, r *actuatorpb.ApplyRequest) (*actuatorpb.ApplyResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plans, a.applied = append(a.plans, r.GetPlan()), append(a.applied, time.Now())
	out := &actuatorpb.ApplyResponse{InventoryRevision: a.revision}
	for _, c := range r.GetPlan().GetNodeClaims() {
		v := &actuatorpb.Verdict{Decision: c.GetId(), Kind: actuatorpb.VerdictKind_VERDICT_KIND_ACCEPTED}
		if a.reject {
			v.Kind = actuatorpb.VerdictKind_VERDICT_KIND_REJECTED
			v.Reason = &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_LIMIT, Message: "limit of pool default reached"}
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	return out, nil
}

func (a *actuator) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.plans)
}

// world is one running loop with its neighbours, over real gRPC in memory.
type world struct {
	t        *testing.T
	planner  *planner
	actuator *actuator
	client   *inventory.Client
	cluster  chan snapshot.Batch
	log      *syncBuffer
	spans    *tracetest.SpanRecorder
	metrics  prometheus.Gatherer
	relayed  []*plannerpb.Plan
	trouble  []string
	start    time.Time
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func dial(t *testing.T, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	lis, srv := bufconn.Listen(1<<20), grpc.NewServer(grpc.WaitForHandlers(true), grpc.MaxRecvMsgSize(rpc.DefaultMaxMessageBytes))
	register(srv)
	go srv.Serve(lis) //nolint:errcheck // ends with Stop
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// policy is what the loop of a world plans by.
func policy() *clusterpb.Policy {
	return &clusterpb.Policy{
		PerNodeOverheadMicroUsdPerHour: new(int64(2000)), Preferences: clusterpb.PreferencePolicy_PREFERENCE_POLICY_IGNORED,
		DefaultSpread: []*clusterpb.TopologySpread{{TopologyKey: "zone", MaxSkew: 1}},
	}
}

// newWorld starts a loop that drives an empty cluster. It ends with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, planner: &planner{}, actuator: &actuator{say: make(chan *actuatorpb.DriveResponse)},
		cluster: make(chan snapshot.Batch), log: &syncBuffer{}, spans: tracetest.NewSpanRecorder(), start: time.Now(),
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	recorder, seen := metricstest.New(t, metrics.Watcher)
	measured, err := measure.New(recorder, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w.metrics = seen
	conn := dial(t, func(s *grpc.Server) { plannerpb.RegisterPlannerServiceServer(s, w.planner) })
	client := inventory.New(inventory.Config{
		Addresses: []string{"a"}, Watcher: "w1", Log: log, Now: time.Now,
		Dial: func(string) (inventory.Conn, error) {
			return dial(t, func(s *grpc.Server) { actuatorpb.RegisterActuatorServiceServer(s, w.actuator) }), nil
		},
	})
	w.client = client
	tracing := telemetry.NewTracing(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)))
	l := loop.New(loop.Config{
		Planner:  session.New(session.Config{Planner: plannerpb.NewPlannerServiceClient(conn)}),
		Actuator: client,
		Pace: pace.Config{
			Idle: 50 * time.Millisecond, Max: 500 * time.Millisecond, SweepIdle: time.Second, SweepEvery: 10 * time.Second, SweepQuiet: time.Minute,
			RetryMin: 250 * time.Millisecond, RetryMax: 10 * time.Second,
		},
		Policy:      policy(),
		PlanTimeout: time.Minute, ApplyTimeout: time.Minute,
		Seen: func() {}, Publish: func(snapshot.Snapshot) {}, Relayed: func(p *plannerpb.Plan, _ []*actuatorpb.Verdict) { w.relayed = append(w.relayed, p) },
		Trouble:        func(words string) { w.trouble = append(w.trouble, words) },
		PlannerAddress: "planner:1", ActuatorAddresses: []string{"actuator:1"},
		Log: log, Tracer: tracing.Tracer("test"), Now: time.Now, Measure: measured,
	})
	ctx, cancel := context.WithCancel(t.Context())
	updates, done := make(chan inventory.Update), make(chan error, 2)
	go func() { done <- client.Run(ctx, updates) }()
	go func() { done <- l.Run(ctx, loop.Inputs{Cluster: w.cluster, Inventory: updates}) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
		}
		_ = conn.Close()
	})
	w.cluster <- snapshot.Batch{Whole: wire.KubernetesKinds()}
	w.inventory(true, true, 1)
	return w
}

// inventory makes the actuator say that its inventory now has this revision: a whole one, or a change.
func (w *world) inventory(whole, driver bool, revision int64) {
	s := &clusterpb.Snapshot{InventoryRevision: revision}
	if whole {
		part := &clusterpb.SnapshotPart{Snapshot: s, Last: true}
		w.say(driver, &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Whole{Whole: part}})
		return
	}
	w.say(driver, changed(s))
}

// claim puts a claim into the actuator's inventory.
func (w *world) claim(revision int64, c *clusterpb.Claim) {
	w.say(true, changed(&clusterpb.Snapshot{InventoryRevision: revision, Claims: []*clusterpb.Claim{c}}))
}

func changed(s *clusterpb.Snapshot) *actuatorpb.InventoryPart {
	part := &clusterpb.DeltaPart{Delta: &clusterpb.Delta{Upserted: s}, Last: true}
	return &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Change{Change: part}}
}

func (w *world) say(driver bool, part *actuatorpb.InventoryPart) {
	w.actuator.say <- &actuatorpb.DriveResponse{Driver: driver, Inventory: part}
	synctest.Wait()
}

// sweeps are the questions about everything: how long after the world began, and where each is to go on.
func (w *world) sweeps() []string {
	w.planner.mu.Lock()
	defer w.planner.mu.Unlock()
	var out []string
	for i, d := range w.planner.asked {
		if len(d.GetKinds()) == 0 {
			out = append(out, strings.TrimSpace(w.planner.when[i].Sub(w.start).String()+" "+d.GetResumeAfter()))
		}
	}
	return out
}

// pods makes pods unschedulable, by name.
func (w *world) pods(names ...string) {
	var b snapshot.Batch
	for _, name := range names {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}}
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		o, _ := convert.Pod(p, &manifests.Cluster{})
		b.Events = append(b.Events, snapshot.Put(time.Now(), o))
	}
	w.cluster <- b
	synctest.Wait()
}

func (w *world) gone(name string) {
	w.cluster <- snapshot.Batch{Events: []snapshot.Event{snapshot.Delete(time.Now(), snapshot.Pod, "shop/"+name)}}
	synctest.Wait()
}

// after lets the bubble's time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
