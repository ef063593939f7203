package watcher_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	watcherpb "github.com/kerf-dev/kerf/proto/gen/kerf/watcher/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeclient/kubeclienttest"
	"github.com/kerf-dev/kerf/services/watcher"
)

func TestConfig(t *testing.T) {
	const good = `"cluster": "c", "planner": {"target": "127.0.0.1:1"}, "actuator": {"addresses": ["127.0.0.1:2"]}`
	for name, tc := range map[string]struct {
		json string
		want []string // all of them; none means that the config is valid
	}{
		"the least that works":    {`{` + good + `}`, nil},
		"all knobs":               {`{` + good + `, "kubeconfig": "k", "batch": {"idle": "10ms", "max": "1s"}, "disruption": {"idle": "2s", "interval": "1m", "quiet": "5m"}, "timeouts": {"plan": "5s"}, "queues": {"changes": 10}}`, nil},
		"nothing":                 {`{}`, []string{"cluster: required", "planner.target: required", "actuator.addresses: required"}},
		"an unknown field":        {`{` + good + `, "batsh": {}}`, []string{"batsh: unknown field"}},
		"a batch the wrong way":   {`{` + good + `, "batch": {"idle": "2s"}}`, []string{"batch.max: 1s is shorter than idle, which is 2s"}},
		"a long interval alone":   {`{` + good + `, "disruption": {"interval": "5m"}}`, nil},
		"a quiet time too short":  {`{` + good + `, "disruption": {"quiet": "5s"}}`, []string{"disruption.quiet: 5s is shorter than interval, which is 10s"}},
		"a duration without unit": {`{` + good + `, "batch": {"idle": 50}}`, []string{"batch.idle: 50 is not a duration"}},
		"an actuator without TLS": {`{"cluster": "c", "planner": {"target": "127.0.0.1:1"}, "actuator": {"addresses": ["10.0.0.1:2"]}}`, []string{"actuator.tls: required: target 10.0.0.1:2"}},
		"a negative queue":        {`{` + good + `, "queues": {"subscriber": -1}}`, []string{"queues.subscriber: -1 is negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg watcher.Config
			err := config.Decode([]byte(tc.json), &cfg)
			if (err == nil) != (len(tc.want) == 0) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestRunRefusesAConfigThatCantWork(t *testing.T) {
	if err := watcher.Run(t.Context(), watcher.Config{}); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("error %v", err)
	}
}

// neighbours are a planner and an actuator in one server: each unschedulable pod gets a claim.
type neighbours struct {
	plannerpb.UnimplementedPlannerServiceServer
	actuatorpb.UnimplementedActuatorServiceServer
	plans  chan *plannerpb.Plan
	drives atomic.Int32
	policy chan *clusterpb.Policy // of the first question
}

func (n *neighbours) Session(s plannerpb.PlannerService_SessionServer) error {
	var pods []string
	var revision uint64
	see := func(up *clusterpb.Snapshot) {
		for _, p := range up.GetPods() {
			pods = append(pods, p.GetId())
		}
		revision = max(revision, up.GetRevision())
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		see(m.GetSnapshot().GetSnapshot())
		see(m.GetDelta().GetDelta().GetUpserted())
		if m.GetDecide() == nil {
			continue
		}
		select {
		case n.policy <- m.GetDecide().GetPolicy():
		default:
		}
		plan := &plannerpb.Plan{Id: "p", Revision: revision, NodeClaims: []*plannerpb.NodeClaim{{Id: "c", Pods: pods}}}
		r := &plannerpb.SessionResponse{Message: &plannerpb.SessionResponse_Plan{Plan: &plannerpb.PlanPart{Plan: plan, Last: true}}}
		if err := s.Send(r); err != nil {
			return err
		}
	}
}

func (n *neighbours) Drive(_ *actuatorpb.DriveRequest, s grpc.ServerStreamingServer[actuatorpb.DriveResponse]) error {
	n.drives.Add(1)
	whole := &clusterpb.SnapshotPart{Snapshot: &clusterpb.Snapshot{InventoryRevision: 1}, Last: true}
	part := &actuatorpb.InventoryPart{Message: &actuatorpb.InventoryPart_Whole{Whole: whole}}
	if err := s.Send(&actuatorpb.DriveResponse{Driver: true, Inventory: part}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func (n *neighbours) Apply(_ context.Context, r *actuatorpb.ApplyRequest) (*actuatorpb.ApplyResponse, error) {
	select {
	case n.plans <- r.GetPlan():
	default:
	}
	return &actuatorpb.ApplyResponse{InventoryRevision: 1}, nil
}

// serve starts neighbours, which end with the test, and says where.
func serve(t *testing.T) (*neighbours, string) {
	t.Helper()
	n := &neighbours{plans: make(chan *plannerpb.Plan, 1), policy: make(chan *clusterpb.Policy, 1)}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	plannerpb.RegisterPlannerServiceServer(srv, n)
	actuatorpb.RegisterActuatorServiceServer(srv, n)
	go srv.Serve(lis) //nolint:errcheck // ends with Stop
	t.Cleanup(srv.Stop)
	return n, lis.Addr().String()
}

// custom are the kinds that users order nodes with; there are no objects of them.
func custom() *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		karpenterv1.NodePoolGVR(): "NodePoolList", karpenterv1.NodeClaimGVR(): "NodeClaimList", awsv1.EC2NodeClassGVR(): "EC2NodeClassList",
		karpenterv1alpha1.NodeOverlayGVR(): "NodeOverlayList", autoscalingv1beta1.CapacityBufferGVR(): "CapacityBufferList",
	})
}

// A watcher that drives and can't see the cluster would make no plans, and keep one that can from making them.
func TestAWatcherThatHasNotReadTheClusterIsNotReadyAndDoesNotDrive(t *testing.T) {
	n, address := serve(t)
	var allowed atomic.Bool
	objects := custom()
	objects.PrependReactor("list", "nodepools", func(k8stesting.Action) (bool, runtime.Object, error) {
		return !allowed.Load(), nil, apierrors.NewForbidden(karpenterv1.NodePoolGVR().GroupResource(), "", errors.New("no role for it"))
	})
	bound := make(chan net.Addr, 1)
	cfg := watcher.Config{
		Cluster: "demo", Client: kubeclienttest.Reader{Clientset: fake.NewClientset()}, Dynamic: objects,
		Actuator: watcher.ActuatorConfig{Addresses: []string{address}},
	}
	cfg.Planner.Target = address
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.OnListen = func(a net.Addr) { bound <- a }
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watcher.Run(ctx, cfg) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	}()
	conn, err := grpc.NewClient((<-bound).String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test is over
	health := func(service string) string {
		r, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		return r.GetStatus().String()
	}
	time.Sleep(500 * time.Millisecond)
	if live, ready := health(""), health("readiness"); live != "SERVING" || ready != "NOT_SERVING" || n.drives.Load() > 0 {
		t.Errorf("it is alive: %s, ready: %s, and asked %d times to drive", live, ready, n.drives.Load())
	}
	allowed.Store(true)
	for end := time.Now().Add(20 * time.Second); health("readiness") != "SERVING" || n.drives.Load() != 1; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it has read the cluster and is %s, and asked %d times to drive", health("readiness"), n.drives.Load())
		}
	}
}

func TestRunTakesAPodFromTheAPIServerToTheActuator(t *testing.T) {
	n, address := serve(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop"}, Status: corev1.PodStatus{
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}},
	}}
	bound := make(chan net.Addr, 1)
	cfg := watcher.Config{
		Cluster: "demo", Client: kubeclienttest.Reader{Clientset: fake.NewClientset(pod)}, Dynamic: custom(),
		Actuator: watcher.ActuatorConfig{Addresses: []string{address}},
	}
	cfg.Policy.MaxPodsOfWorkloadPerNode = new(int32(7))
	cfg.Planner.Target = address
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.OnListen = func(a net.Addr) { bound <- a }
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watcher.Run(ctx, cfg) }()

	select {
	case plan := <-n.plans:
		if pods := plan.GetNodeClaims()[0].GetPods(); len(pods) != 1 || pods[0] != "shop/web-0" {
			t.Errorf("the actuator was asked for a claim for %v", pods)
		}
	case err := <-done:
		t.Fatalf("Run ended early: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("no plan reached the actuator")
	}
	told := <-n.policy
	if told.GetMaxPodsOfWorkloadPerNode() != 7 || told.PerNodeOverheadMicroUsdPerHour != nil {
		t.Errorf("the planner got the policy %v", told)
	}
	conn, err := grpc.NewClient((<-bound).String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test is over
	client := watcherpb.NewWatcherServiceClient(conn)
	snap, err := client.GetSnapshot(t.Context(), &watcherpb.GetSnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	part, err := snap.Recv()
	if s := part.GetSnapshot().GetSnapshot(); err != nil || s.GetCluster() != "demo" || len(s.GetPods()) != 1 {
		t.Errorf("snapshot %v, %v", part, err)
	}
	if !proto.Equal(told, part.GetPolicy()) {
		t.Errorf("tools get the policy %v, the planner %v", part.GetPolicy(), told)
	}
	stop()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
}
