package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/internal/loop"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

const patience = 20 * time.Second

// still is a cluster in which nothing happens.
type still struct{ state cluster.State }

func (s still) Observe() (cluster.State, error)                             { return s.state, nil }
func (s still) Claim(model.ClaimID) (model.Claim, bool, error)              { return model.Claim{}, false, nil }
func (s still) Changed() <-chan struct{}                                    { return nil }
func (s still) UpdateNode(context.Context, cluster.NodeChange) error        { return nil }
func (still) PodsOn(context.Context, model.NodeName) ([]cluster.Pod, error) { return nil, nil }

func (s still) Evict(context.Context, cluster.Eviction) error      { return nil }
func (s still) Publish(context.Context, cluster.Publication) error { return nil }

// client serves an actuator over an in-memory connection.
func client(t *testing.T, m *storetest.Memory) actuatorpb.ActuatorServiceClient {
	t.Helper()
	types, err := catalog.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	ec2 := cloudtest.New(types, time.Now, 0)
	kube := still{cluster.State{
		Pools:   []cluster.Pool{{NodePool: model.NodePool{Name: "default", NodeClass: "default"}}},
		Classes: []cluster.Class{{Spec: cloud.ClassSpec{Name: "default", UID: "u", AMIFamily: "AL2023"}}},
	}}
	l, err := loop.New(loop.Config{
		Cluster: "c", Name: "here:1", Store: m, Election: m, Cloud: ec2, Classes: ec2, Market: ec2, Kube: kube,
		Settings: func(s cloud.ClassSpec) instancetype.Settings { return instancetype.Settings{AMIFamily: s.AMIFamily} },
		Log:      slog.New(slog.DiscardHandler), Tracer: noop.NewTracerProvider().Tracer(""),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	lis := bufconn.Listen(1 << 20)
	g := grpc.NewServer()
	actuatorpb.RegisterActuatorServiceServer(g, New(l))
	go func() { _ = g.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return lis.Dial() }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		g.Stop()
		cancel()
		<-done //nolint:errcheck // only that it ended
	})
	return actuatorpb.NewActuatorServiceClient(conn)
}

func TestFollowerNamesTheLeader(t *testing.T) {
	m := storetest.New()
	if _, err := m.Campaign(t.Context(), "there:2"); err != nil {
		t.Fatal(err)
	}
	c := client(t, m)
	_, err := c.ListClaims(t.Context(), &actuatorpb.ListClaimsRequest{})
	e, ok := rpcerr.From(err)
	if !ok || e.Reason != rpcerr.ReasonNotLeader {
		t.Fatalf("error %v, want NOT_LEADER", err)
	}
	if leader, _ := e.Leader(); leader != "there:2" {
		t.Errorf("leader %q, want there:2", leader)
	}
	stream, err := c.WatchInventory(t.Context(), &actuatorpb.WatchInventoryRequest{Watcher: "w"})
	if err == nil {
		_, err = stream.Recv()
	}
	if rpcerr.Reason(err) != rpcerr.ReasonNotLeader {
		t.Errorf("error %v, want NOT_LEADER", err)
	}
}

func TestBadRequestsNameTheField(t *testing.T) {
	c := client(t, storetest.New())
	many := &plannerpb.Plan{Id: "p", Now: timestamppb.Now(), NodeClaims: make([]*plannerpb.NodeClaim, convert.MostDecisions+1)}
	for i := range many.NodeClaims {
		many.NodeClaims[i] = &plannerpb.NodeClaim{}
	}
	for name, call := range map[string]func() (string, error){
		"no plan": func() (string, error) {
			_, err := c.Apply(t.Context(), &actuatorpb.ApplyRequest{})
			return "plan", err
		},
		"a plan without an id": func() (string, error) {
			_, err := c.Apply(t.Context(), &actuatorpb.ApplyRequest{Plan: &plannerpb.Plan{}})
			return "plan.id", err
		},
		"a plan that is too large": func() (string, error) {
			_, err := c.Apply(t.Context(), &actuatorpb.ApplyRequest{Plan: many})
			return "plan", err
		},
		"a claim without an id": func() (string, error) {
			_, err := c.GetClaim(t.Context(), &actuatorpb.GetClaimRequest{})
			return "id", err
		},
		"a page of less than nothing": func() (string, error) {
			_, err := c.ListClaims(t.Context(), &actuatorpb.ListClaimsRequest{PageSize: -1})
			return "page_size", err
		},
		"a watcher without a name": func() (string, error) {
			stream, err := c.WatchInventory(t.Context(), &actuatorpb.WatchInventoryRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return "watcher", err
		},
	} {
		t.Run(name, func(t *testing.T) {
			field, err := call()
			e, ok := rpcerr.From(err)
			if !ok || e.Code != codes.InvalidArgument || len(e.Violations) == 0 || e.Violations[0].Field != field {
				t.Errorf("error %v (%+v), want one about %s", err, e, field)
			}
		})
	}
}

// TestPlanToDelete takes a claim through the whole API.
func TestPlanToDelete(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := client(t, storetest.New())
	snapshot := watch(ctx, t, c)
	if len(snapshot.GetNodeClasses()) != 1 || len(snapshot.GetCatalogs()) != 1 || len(snapshot.GetOfferings()) < 1000 {
		t.Fatalf("%d classes, %d catalogs, %d offerings", len(snapshot.GetNodeClasses()), len(snapshot.GetCatalogs()), len(snapshot.GetOfferings()))
	}
	var offer *clusterpb.RankedOffering
	for _, o := range snapshot.GetOfferings() {
		if o.GetInstanceType() == "m5.large" && o.GetCapacityType() == clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND && offer == nil {
			offer = &clusterpb.RankedOffering{
				InstanceType: o.GetInstanceType(), Zone: o.GetZone(), CapacityType: o.GetCapacityType(), PriceMicroUsdPerHour: o.GetPriceMicroUsdPerHour(),
			}
		}
	}
	plan := &plannerpb.Plan{
		Id: "p", Now: timestamppb.Now(), InventoryRevision: snapshot.GetInventoryRevision(),
		NodeClaims: []*plannerpb.NodeClaim{{Id: "c1", NodePool: "default", NodeClass: "default", Offerings: []*clusterpb.RankedOffering{offer}}},
	}
	dry, err := c.Apply(ctx, &actuatorpb.ApplyRequest{Plan: plan, DryRun: true})
	if err != nil || dry.GetVerdicts()[0].GetKind() != actuatorpb.VerdictKind_VERDICT_KIND_ACCEPTED {
		t.Fatalf("dry run: %v, %v", dry, err)
	}
	if _, err := c.GetClaim(ctx, &actuatorpb.GetClaimRequest{Id: "c1"}); rpcerr.Reason(err) != "CLAIM_NOT_FOUND" {
		t.Fatalf("after a dry run: %v, want CLAIM_NOT_FOUND", err)
	}
	wet, err := c.Apply(ctx, &actuatorpb.ApplyRequest{Plan: plan})
	if err != nil || wet.GetVerdicts()[0].GetKind() != actuatorpb.VerdictKind_VERDICT_KIND_ACCEPTED {
		t.Fatalf("apply: %v, %v", wet, err)
	}
	if wet.GetInventoryRevision() <= snapshot.GetInventoryRevision() {
		t.Errorf("revision %d after %d", wet.GetInventoryRevision(), snapshot.GetInventoryRevision())
	}
	list, err := c.ListClaims(ctx, &actuatorpb.ListClaimsRequest{NodePool: "default"})
	if err != nil || len(list.GetClaims()) != 1 || list.GetInventoryRevision() < wet.GetInventoryRevision() {
		t.Fatalf("list: %v, %v", list, err)
	}
	if page, err := c.ListClaims(ctx, &actuatorpb.ListClaimsRequest{PageSize: 1, PageToken: "c0"}); err != nil || len(page.GetClaims()) != 1 || page.GetNextPageToken() != "" {
		t.Fatalf("the only page: %v, %v", page, err)
	}
	if page, err := c.ListClaims(ctx, &actuatorpb.ListClaimsRequest{PageToken: "c1"}); err != nil || len(page.GetClaims()) != 0 {
		t.Fatalf("after the last claim: %v, %v", page, err)
	}
	gone, err := c.DeleteClaim(ctx, &actuatorpb.DeleteClaimRequest{Id: "c1"})
	if err != nil || gone.GetClaim().GetDisruptionReason() != clusterpb.DisruptionReason_DISRUPTION_REASON_DELETED {
		t.Fatalf("delete: %v, %v", gone, err)
	}
}

// watch reads the first whole inventory.
func watch(ctx context.Context, t *testing.T, c actuatorpb.ActuatorServiceClient) *clusterpb.Snapshot {
	t.Helper()
	for {
		whole, err := firstInventory(ctx, c)
		if err == nil {
			return whole
		}
		if e, ok := rpcerr.From(err); !ok || e.Reason != rpcerr.ReasonNotLeader || ctx.Err() != nil {
			t.Fatalf("watch: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond): // a real loop in real time begins to lead
		}
	}
}

var errOrder = errors.New("a stream must begin with a whole inventory")

func firstInventory(ctx context.Context, c actuatorpb.ActuatorServiceClient) (*clusterpb.Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Drive(ctx, &actuatorpb.DriveRequest{Watcher: "w"})
	if err != nil {
		return nil, err
	}
	whole := &clusterpb.Snapshot{}
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		part := m.GetInventory().GetWhole()
		if part == nil || !m.GetDriver() {
			return nil, errOrder
		}
		proto.Merge(whole, part.GetSnapshot())
		if part.GetLast() {
			return whole, nil
		}
	}
}
