package planner_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/config"
	"github.com/kerf-dev/kerf/services/planner"
)

func request() *plannerpb.PlanRequest {
	return &plannerpb.PlanRequest{
		Snapshot: &clusterpb.Snapshot{
			Revision:   3,
			PodClasses: []*clusterpb.PodClass{{Id: "c-1", Namespace: "shop"}},
			Pods:       []*clusterpb.Pod{{Id: "shop/web", ClassId: "c-1", Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE}},
		},
		Decide: &plannerpb.Decide{Now: timestamppb.New(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))},
	}
}

func TestTheServiceAnswersAsTheFunctionDoes(t *testing.T) {
	want, err := planner.Decide(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	if code := want.GetPlan().GetPending()[0].GetReason().GetCode(); code != clusterpb.ReasonCode_REASON_CODE_NO_NODE_POOL {
		t.Fatalf("got %s", code)
	}
	ctx, stop := context.WithCancel(t.Context())
	bound, done := make(chan net.Addr, 1), make(chan error, 1)
	var cfg planner.Config
	cfg.OnListen = func(a net.Addr) { bound <- a }
	go func() { done <- planner.Run(ctx, cfg) }()
	var addr net.Addr
	select {
	case addr = <-bound:
	case err := <-done:
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := plannerpb.NewPlannerServiceClient(conn).Plan(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	want.Plan.Timings, got.Plan.Timings = nil, nil
	if !proto.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTheConfigurationIsStrict(t *testing.T) {
	tests := map[string]struct{ json, want string }{
		"all defaults":      {`{}`, ""},
		"all of its own":    {`{"listen": "127.0.0.1:0", "sessions": {"max_snapshot_bytes": 1048576, "max_decides": 2}}`, ""},
		"an unknown field":  {`{"sessions": {"max_snapshots": 1}}`, "sessions.max_snapshots"},
		"a negative size":   {`{"sessions": {"max_snapshot_bytes": -1}}`, "sessions.max_snapshot_bytes: -1 is negative"},
		"a negative number": {`{"sessions": {"max_decides": -1}}`, "sessions.max_decides: -1 is negative"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var cfg planner.Config
			err := config.Decode([]byte(tc.json), &cfg)
			if tc.want == "" && err != nil {
				t.Fatal(err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
}
