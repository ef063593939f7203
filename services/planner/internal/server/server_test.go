package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// dial serves a planner in memory, over real gRPC.
func dial(t *testing.T, cfg server.Config) plannerpb.PlannerServiceClient {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	plannerpb.RegisterPlannerServiceServer(s, server.New(cfg))
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20), grpc.MaxCallRecvMsgSize(64<<20)),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return lis.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return plannerpb.NewPlannerServiceClient(conn)
}

var now = timestamppb.New(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))

func amounts(cpu, memory, pods int64) []*clusterpb.Amount {
	return []*clusterpb.Amount{{Resource: "cpu", Value: cpu}, {Resource: "memory", Value: memory}, {Resource: "pods", Value: pods}}
}

// snapshot is a cluster with one pool and some pods that wait.
func snapshot(pods int) *clusterpb.Snapshot {
	s := &clusterpb.Snapshot{
		Revision: 1, Cluster: "kerf-demo",
		PodClasses: []*clusterpb.PodClass{{
			Id: "c-1", Namespace: "shop", Requests: amounts(500, 1<<30, 1), OwnerKind: "ReplicaSet", OwnerName: "web",
		}},
		NodePools: []*clusterpb.NodePool{{
			Name: "default", NodeClass: "default", ConsolidateAfter: durationpb.New(0),
			ConsolidationPolicy: clusterpb.ConsolidationPolicy_CONSOLIDATION_POLICY_WHEN_EMPTY,
		}},
		NodeClasses: []*clusterpb.NodeClass{{
			Name: "default", CatalogId: "k-1", Zones: []string{"r-1a"}, Images: []*clusterpb.MachineImage{{Id: "ami-1"}},
		}},
		Catalogs: []*clusterpb.Catalog{{Id: "k-1", InstanceTypes: []*clusterpb.InstanceType{
			{Name: "large", Capacity: amounts(4000, 16<<30, 58), Allocatable: amounts(3900, 15<<30, 58)},
			{Name: "small", Capacity: amounts(2000, 8<<30, 29), Allocatable: amounts(1900, 7<<30, 29)},
		}}},
		Offerings: []*clusterpb.Offering{
			{InstanceType: "large", Zone: "r-1a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND, PriceMicroUsdPerHour: 200_000},
			{InstanceType: "small", Zone: "r-1a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND, PriceMicroUsdPerHour: 100_000},
		},
	}
	for i := range pods {
		s.Pods = append(s.Pods, waiting(i))
	}
	return s
}

func waiting(i int) *clusterpb.Pod {
	return &clusterpb.Pod{Id: fmt.Sprintf("shop/web-%06d", i), ClassId: "c-1", Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE}
}

// whole asks for a plan in one call.
func whole(t *testing.T, c plannerpb.PlannerServiceClient, s *clusterpb.Snapshot, d *plannerpb.Decide) *plannerpb.Plan {
	t.Helper()
	r, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: s, Decide: d})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetPlan()
}

// client is one end of a session.
type client struct {
	plannerpb.PlannerService_SessionClient
	t *testing.T
}

func open(t *testing.T, c plannerpb.PlannerServiceClient) client {
	t.Helper()
	s, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return client{s, t}
}

func (c client) send(messages ...*plannerpb.SessionRequest) {
	c.t.Helper()
	for _, m := range messages {
		if err := c.Send(m); err != nil && !errors.Is(err, io.EOF) {
			c.t.Fatal(err)
		}
	}
}

// plan receives a plan and says in how many parts it came.
func (c client) plan() (p *plannerpb.Plan, parts int) {
	c.t.Helper()
	p = &plannerpb.Plan{}
	for {
		m, err := c.Recv()
		if err != nil {
			c.t.Fatal(err)
		}
		if n := proto.Size(m); n > 1<<20 {
			c.t.Fatalf("a message of %d bytes", n)
		}
		parts++
		proto.Merge(p, m.GetPlan().GetPlan())
		if m.GetPlan().GetLast() {
			return p, parts
		}
	}
}

// fails receives the end of the session.
func (c client) fails(code codes.Code, reason, text string) {
	c.t.Helper()
	_, err := c.Recv()
	_ = checkError(c.t, err, code, reason, text)
}

func checkError(t *testing.T, err error, code codes.Code, reason, text string) *rpcerr.Error {
	t.Helper()
	e, ok := rpcerr.From(err)
	if !ok || e.Code != code || e.Reason != reason || !strings.Contains(e.Message, text) {
		t.Fatalf("got %v, want %s %s %q", err, code, reason, text)
	}
	return e
}

func part(s *clusterpb.Snapshot, last bool) *plannerpb.SessionRequest {
	return &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Snapshot{Snapshot: &clusterpb.SnapshotPart{Snapshot: s, Last: last}}}
}

func delta(d *clusterpb.Delta, last bool) *plannerpb.SessionRequest {
	return &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Delta{Delta: &clusterpb.DeltaPart{Delta: d, Last: last}}}
}

func decide(d *plannerpb.Decide) *plannerpb.SessionRequest {
	return &plannerpb.SessionRequest{Message: &plannerpb.SessionRequest_Decide{Decide: d}}
}

func question() *plannerpb.Decide { return &plannerpb.Decide{Now: now} }

func TestPlanAnswersASnapshot(t *testing.T) {
	p := whole(t, dial(t, server.Config{}), snapshot(5), question())
	if len(p.GetNodeClaims()) == 0 || len(p.GetPlacements()) != 5 || p.GetRevision() != 1 {
		t.Fatalf("got %v", p)
	}
	var parts []string
	for _, lap := range p.GetTimings() {
		parts = append(parts, lap.GetPart())
	}
	if diff := cmp.Diff([]string{"convert", "decide", "verify"}, parts); diff != "" {
		t.Error(diff)
	}
}

func TestPlanRefusesABadRequestAndNamesTheField(t *testing.T) {
	c := dial(t, server.Config{})
	s := snapshot(1)
	s.Pods[0].ClassId = "c-9"
	_, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: s})
	e := checkError(t, err, codes.InvalidArgument, rpcerr.ReasonInvalid, `pod "shop/web-000000": class_id "c-9" is not in the snapshot`)
	want := []rpcerr.Violation{
		{Field: `snapshot.pods["shop/web-000000"].class_id`, Problem: `pod "shop/web-000000": class_id "c-9" is not in the snapshot`},
		{Field: "decide", Problem: "decide: is missing"},
	}
	if diff := cmp.Diff(want, e.Violations); diff != "" {
		t.Error(diff)
	}
}

func TestAPlanThatBreaksARuleNeverLeaves(t *testing.T) {
	liar := func(in model.Input) (model.Plan, error) {
		p, err := plan.Decide(in)
		p.CostAfter -= 1000
		return p, err
	}
	c := dial(t, server.Config{Decide: liar})
	_, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(1), Decide: question()})
	_ = checkError(t, err, codes.Internal, server.ReasonPlanInvalid, "they will cost")
	s := open(t, c)
	s.send(part(snapshot(1), true), decide(question()))
	s.fails(codes.Internal, server.ReasonPlanInvalid, "they will cost")
}

func TestAPlanWhoseDisruptionsBreakARuleIsMadeWithoutThem(t *testing.T) {
	liar := func(in model.Input) (model.Plan, error) {
		p, err := plan.Decide(in)
		if len(in.Kinds) != 1 {
			p.CostAfter -= 1000
		}
		return p, err
	}
	c := dial(t, server.Config{Decide: liar})
	r, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(1), Decide: question()})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.GetPlan(); len(p.GetNodes()) > 0 || len(p.GetDisruptions()) > 0 || len(p.GetPlacements()) == 0 {
		t.Errorf("%d placements, %d disruptions and %d verdicts, want placements alone", len(p.GetPlacements()), len(p.GetDisruptions()), len(p.GetNodes()))
	}
}

func TestADisruptionThatBreaksARuleIsLeftOutAndTold(t *testing.T) {
	liar := func(in model.Input) (model.Plan, error) {
		p, err := plan.Decide(in)
		if !slices.Contains(in.Exclude, "ghost") {
			p.Disruptions = append(p.Disruptions, model.Disruption{ID: "d-1", Reason: model.ReasonDrifted, Candidates: []model.ClaimID{"ghost"}})
		}
		return p, err
	}
	var log strings.Builder
	c := dial(t, server.Config{Decide: liar, Log: slog.New(slog.NewTextHandler(&log, nil))})
	s := open(t, c)
	s.send(part(snapshot(1), true), decide(question()))
	p, _ := s.plan()
	if len(p.GetDisruptions()) > 0 || len(p.GetPlacements()) == 0 || p.GetDisruptionSummary() == nil {
		t.Errorf("got %v, want the rest of the plan", p)
	}
	var parts []string
	for _, lap := range p.GetTimings() {
		parts = append(parts, lap.GetPart())
	}
	if diff := cmp.Diff([]string{"convert", "decide", "verify"}, parts); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"level=WARN", "revision=1", "claim ghost does not exist", "excluded=[ghost]"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("the log has %q %d times: %s", want, n, log.String())
		}
	}
}

func TestASessionEqualsTheWholeSnapshot(t *testing.T) {
	c := dial(t, server.Config{})
	s := open(t, c)
	equal := func(want *clusterpb.Snapshot, d *plannerpb.Decide) {
		t.Helper()
		s.send(decide(d))
		got, _ := s.plan()
		one := whole(t, c, want, d)
		got.Timings, one.Timings = nil, nil
		a, _ := proto.MarshalOptions{Deterministic: true}.Marshal(got)
		b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(one)
		if string(a) != string(b) {
			t.Fatal(cmp.Diff(one, got, protocmp.Transform()))
		}
	}
	// In three parts, the pods in no order.
	all := snapshot(20)
	first := proto.CloneOf(all)
	first.Pods = nil
	s.send(part(first, false), part(&clusterpb.Snapshot{Pods: all.Pods[10:]}, false), part(&clusterpb.Snapshot{Pods: all.Pods[:10]}, true))
	equal(all, question())
	equal(all, &plannerpb.Decide{Now: now, Seed: 7, Kinds: []plannerpb.DecisionKind{plannerpb.DecisionKind_DECISION_KIND_PROVISION}})

	// A delta in two parts: pods come and go, one type is sold out, another gets pricier.
	pricier := proto.CloneOf(all.Offerings[1])
	pricier.PriceMicroUsdPerHour = 150_000
	s.send(
		delta(&clusterpb.Delta{BaseRevision: 1, Revision: 5, Removed: &clusterpb.Removed{
			Pods: []string{all.Pods[0].Id, all.Pods[1].Id}, Offerings: []*clusterpb.OfferingRef{
				{InstanceType: "large", Zone: "r-1a", CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND},
			},
		}}, false),
		delta(&clusterpb.Delta{BaseRevision: 1, Revision: 5, Upserted: &clusterpb.Snapshot{
			Revision: 5, InventoryRevision: 9, Cluster: "kerf-demo", Pods: []*clusterpb.Pod{waiting(50)}, Offerings: []*clusterpb.Offering{pricier},
		}}, true))
	changed := proto.CloneOf(all)
	changed.Revision, changed.InventoryRevision = 5, 9
	changed.Pods = append(changed.Pods[2:], waiting(50))
	changed.Offerings = []*clusterpb.Offering{pricier}
	equal(changed, question())

	// A whole snapshot replaces everything.
	fresh := snapshot(2)
	fresh.Revision = 1
	s.send(part(fresh, true))
	equal(fresh, question())
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want the end", err)
	}
}

func TestALargePlanComesInParts(t *testing.T) {
	c := dial(t, server.Config{})
	s := open(t, c)
	all := snapshot(30_000)
	first := proto.CloneOf(all)
	first.Pods = nil
	s.send(part(first, false))
	for i := 0; i < len(all.Pods); i += 10_000 {
		s.send(part(&clusterpb.Snapshot{Pods: all.Pods[i : i+10_000]}, i == 20_000))
	}
	s.send(decide(question()))
	p, parts := s.plan()
	if parts < 3 || len(p.GetPlacements()) != len(all.Pods) {
		t.Fatalf("%d placements in %d parts", len(p.GetPlacements()), parts)
	}
}

func TestASessionEndsOnWhatDoesNotFit(t *testing.T) {
	wide := &clusterpb.Snapshot{Namespaces: []*clusterpb.Namespace{{Name: "a", Labels: []*clusterpb.Label{{Key: "k", Value: strings.Repeat("x", 8<<20)}}}}}
	tests := map[string]struct {
		send   []*plannerpb.SessionRequest
		code   codes.Code
		reason string
		text   string
	}{
		"a question before any snapshot": {[]*plannerpb.SessionRequest{decide(question())}, codes.InvalidArgument, server.ReasonSequence, "before any snapshot"},
		"a question amid a snapshot": {
			[]*plannerpb.SessionRequest{part(snapshot(1), false), decide(question())}, codes.InvalidArgument, server.ReasonSequence, "before the last part",
		},
		"a delta before any snapshot": {
			[]*plannerpb.SessionRequest{delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2}, true)}, codes.OutOfRange, server.ReasonGap, "has no snapshot",
		},
		"a delta on another base": {
			[]*plannerpb.SessionRequest{part(snapshot(1), true), delta(&clusterpb.Delta{BaseRevision: 2, Revision: 3}, true)},
			codes.OutOfRange, server.ReasonGap, "the session has revision 1; send a whole snapshot",
		},
		"a delta that leads nowhere": {
			[]*plannerpb.SessionRequest{part(snapshot(1), true), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 1}, true)},
			codes.InvalidArgument, rpcerr.ReasonInvalid, "must be above base_revision",
		},
		"a delta amid a snapshot": {
			[]*plannerpb.SessionRequest{part(snapshot(1), false), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2}, true)},
			codes.InvalidArgument, server.ReasonSequence, "amid a snapshot",
		},
		"a snapshot amid a delta": {
			[]*plannerpb.SessionRequest{part(snapshot(1), true), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2}, false), part(snapshot(1), true)},
			codes.InvalidArgument, server.ReasonSequence, "amid a delta",
		},
		"parts of two deltas": {
			[]*plannerpb.SessionRequest{
				part(snapshot(1), true), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2}, false), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 3}, true),
			},
			codes.InvalidArgument, server.ReasonSequence, "another delta",
		},
		"the removal of nothing": {
			[]*plannerpb.SessionRequest{
				part(snapshot(1), true), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2, Removed: &clusterpb.Removed{Nodes: []string{"ghost"}}}, true),
			},
			codes.OutOfRange, server.ReasonGap, `removes node "ghost"`,
		},
		"an object twice in a snapshot": {
			[]*plannerpb.SessionRequest{part(snapshot(1), false), part(snapshot(1), true)}, codes.InvalidArgument, rpcerr.ReasonInvalid, "is there twice",
		},
		"an empty message":            {[]*plannerpb.SessionRequest{{}}, codes.InvalidArgument, rpcerr.ReasonInvalid, "want a snapshot"},
		"a message above 8 MiB":       {[]*plannerpb.SessionRequest{part(wide, true)}, codes.InvalidArgument, server.ReasonTooLarge, "at most 8388608"},
		"a question without its time": {[]*plannerpb.SessionRequest{part(snapshot(1), true), decide(nil)}, codes.InvalidArgument, rpcerr.ReasonInvalid, "now is required"},
		"a snapshot that is too large": {
			[]*plannerpb.SessionRequest{part(snapshot(200), true)}, codes.ResourceExhausted, server.ReasonTooLarge, "sessions.max_snapshot_bytes",
		},
		"a snapshot that outgrows the limit": {
			[]*plannerpb.SessionRequest{
				part(snapshot(1), true), delta(&clusterpb.Delta{BaseRevision: 1, Revision: 2, Upserted: &clusterpb.Snapshot{Pods: snapshot(200).Pods}}, true),
			},
			codes.ResourceExhausted, server.ReasonTooLarge, "sessions.max_snapshot_bytes",
		},
	}
	c := dial(t, server.Config{Limits: server.Limits{SnapshotBytes: 20_000}})
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, c)
			s.send(tc.send...)
			s.fails(tc.code, tc.reason, tc.text)
		})
	}
}

func TestACallerThatLeavesIsNotWaitedFor(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	slow := func(in model.Input) (model.Plan, error) {
		entered <- struct{}{}
		<-release
		return plan.Decide(in)
	}
	c := dial(t, server.Config{Decide: slow, Limits: server.Limits{Decides: 1}})
	first := make(chan error, 1)
	go func() {
		_, err := c.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(1), Decide: question()})
		first <- err
	}()
	<-entered
	// The second one waits for its turn, until it is called off.
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := c.Plan(ctx, &plannerpb.PlanRequest{Snapshot: snapshot(1), Decide: question()})
		second <- err
	}()
	cancel()
	_ = checkError(t, <-second, codes.Canceled, "", "cancel")
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// leaving is the context of a caller that leaves when it has been looked at so many times.
type leaving struct {
	context.Context //nolint:containedctx // it is one itself

	left, after int
}

func (l *leaving) Err() error {
	if l.left--; l.left >= 0 {
		return nil
	}
	l.after++
	return context.Canceled
}

func TestADecisionIsGivenUpWhenItsCallerLeaves(t *testing.T) {
	s := server.New(server.Config{})
	ask := func(looks int) (*plannerpb.PlanResponse, *leaving, error) {
		ctx := &leaving{Context: t.Context(), left: looks}
		r, err := s.Plan(ctx, &plannerpb.PlanRequest{Snapshot: snapshot(300), Decide: question()})
		return r, ctx, err
	}
	const all = 1 << 20
	if _, ctx, err := ask(all); err != nil || all-ctx.left < 20 {
		t.Fatalf("%v: looked %d times whether the caller is there", err, all-ctx.left)
	}
	for looks := range 20 {
		r, ctx, err := ask(looks)
		if !errors.Is(err, context.Canceled) || r != nil {
			t.Fatalf("left at look %d: %v, %v", looks+1, r, err)
		}
		if ctx.after > 3 { // the one that saw it, and the one that tells
			t.Errorf("left at look %d, and was looked for %d times more", looks+1, ctx.after)
		}
	}
}

func TestAPlanContinuesTheTrace(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	c := dial(t, server.Config{Tracer: provider.Tracer("test")})
	d := question()
	d.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	p := whole(t, c, snapshot(3), d)
	spans := exporter.GetSpans()
	if len(spans) != 1 || spans[0].Name != "planner.Plan" {
		t.Fatalf("got %v", spans)
	}
	got := spans[0]
	if got.Parent.SpanID().String() != "b7ad6b7169203331" || !strings.Contains(p.GetTraceparent(), got.SpanContext.SpanID().String()) {
		t.Errorf("parent %s, plan's traceparent %s, span %s", got.Parent.SpanID(), p.GetTraceparent(), got.SpanContext.SpanID())
	}
	want := []attribute.KeyValue{attribute.Int64("kerf.snapshot.revision", 1), attribute.Int("kerf.pods", 3), attribute.String("kerf.plan.id", p.GetId()), attribute.Int("kerf.pods.wait_for_room", 0)}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got.Attributes)); diff != "" {
		t.Error(diff)
	}
	// Without tracing the caller's trace is passed on.
	if p := whole(t, dial(t, server.Config{}), snapshot(3), d); p.GetTraceparent() != d.GetTraceparent() {
		t.Errorf("got traceparent %q", p.GetTraceparent())
	}
}
