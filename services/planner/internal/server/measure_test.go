package server_test

import (
	"context"
	"strconv"
	"strings"
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
	err := srv.Session(&during{t: t, f: func() {
		want := []string{
			"kerf_plan_duration_seconds error_type=InvalidArgument kerf_plan_scope=everything: 1",
			"kerf_plan_duration_seconds kerf_plan_scope=everything: 1",
			"kerf_plan_duration_seconds kerf_plan_scope=pods: 1",
			"kerf_session_open: 1", "kerf_session_size_bytes: thousands",
		}
		if d := cmp.Diff(want, rounded(metricstest.Series(t, seen, "kerf_", false))); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}})
	if err == nil {
		t.Error("the session ended in order")
	}
}

// rounded has the size of a session, which depends on how much objects are counted with, as a word.
func rounded(series []string) []string {
	for i, s := range series {
		text, is := strings.CutPrefix(s, "kerf_session_size_bytes: ")
		if n, err := strconv.ParseFloat(text, 64); is && err == nil && n > 1000 && n < 100_000 {
			series[i] = "kerf_session_size_bytes: thousands"
		}
	}
	return series
}

// during is a stream that sends a snapshot, does something while it is open, and ends.
type during struct {
	grpc.BidiStreamingServer[plannerpb.SessionRequest, plannerpb.SessionResponse]
	t    *testing.T
	f    func()
	sent bool
}

func (d *during) Recv() (*plannerpb.SessionRequest, error) {
	if !d.sent {
		d.sent = true
		return part(snapshot(2), true), nil
	}
	d.f()
	return nil, context.Canceled
}
