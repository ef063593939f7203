package loop_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
)

func TestCyclesAndWhatTheySayAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pods("web-1", "lost-1")
		w.after(500 * time.Millisecond)
		want := []string{
			"kerf_cycle_delay_seconds kerf_plan_scope=pods: 1",
			"kerf_cycle_duration_seconds kerf_plan_scope=pods: 1",
			"kerf_decision_relayed_total kerf_result=accepted: 1",
			"kerf_pod_count kerf_pod_phase=unschedulable: 2",
			"kerf_pod_left_pending kerf_reason=RESOURCES: 1",
			"kerf_pod_waiting kerf_pod_waits_for=nothing: 1",
			"kerf_pod_waiting kerf_pod_waits_for=plan: 1",
			"kerf_watcher_driver: 1",
		}
		if d := cmp.Diff(want, metricstest.Series(t, w.metrics, "kerf_", false)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestCyclesThatFailAreMeasuredByWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planner.broken = errors.New("out of order")
		w.pods("web-1")
		w.after(200 * time.Millisecond)
		want := []string{"kerf_cycle_duration_seconds error_type=plan kerf_plan_scope=pods: 1"}
		if d := cmp.Diff(want, metricstest.Series(t, w.metrics, "kerf_cycle_duration", false)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestAWatcherThatDoesNotDriveShowsNothingOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pods("web-1")
		w.inventory(true, false, 2)
		if d := cmp.Diff([]string{"kerf_watcher_driver: 0"}, metricstest.Series(t, w.metrics, "kerf_watcher_driver", true)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if got := metricstest.Series(t, w.metrics, "kerf_pod", true); len(got) > 0 {
			t.Errorf("it shows %v", got)
		}
	})
}
