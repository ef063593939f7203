package server_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
	"github.com/kerf-dev/kerf/services/planner/internal/server"
)

func TestPlansAndSessionsAreMeasured(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Planner)
	srv := server.New(server.Config{})
	if err := srv.Measure(recorder); err != nil {
		t.Fatal(err)
	}
	pods := &plannerpb.Decide{Now: now, Kinds: []plannerpb.DecisionKind{plannerpb.DecisionKind_DECISION_KIND_PROVISION}}
	for _, d := range []*plannerpb.Decide{pods, {Now: now}} {
		if _, err := srv.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(2), Decide: d}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := srv.Plan(t.Context(), &plannerpb.PlanRequest{Snapshot: snapshot(2), Decide: &plannerpb.Decide{}}); err == nil {
		t.Fatal("a question without a time is answered")
	}
	err := srv.Session(during{t: t, f: func() {
		want := []string{
			"kerf_plan_duration_seconds error_type=InvalidArgument kerf_plan_scope=everything: 1",
			"kerf_plan_duration_seconds kerf_plan_scope=everything: 1",
			"kerf_plan_duration_seconds kerf_plan_scope=pods: 1",
			"kerf_session_open: 1",
		}
		if d := cmp.Diff(want, metricstest.Series(t, seen, "kerf_", false)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}})
	if err == nil {
		t.Error("the session ended in order")
	}
}

// during is a stream that does something while it is open, and ends.
type during struct {
	grpc.BidiStreamingServer[plannerpb.SessionRequest, plannerpb.SessionResponse]
	t *testing.T
	f func()
}

func (d during) Recv() (*plannerpb.SessionRequest, error) {
	d.f()
	return nil, context.Canceled
}
