package loop

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
)

// TestLivesAreMeasured wants the metrics of the story and of an interruption, and while nodes run what they cost.
func TestLivesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, seen := metricstest.New(t, metrics.Actuator)
		r, m := newRig(t), measure.New(recorder)
		r.cfg = func(c *Config) {
			c.Measure, c.Cloud, c.Classes, c.Market = m, m.Cloud(c.Cloud), m.Classes(c.Classes), m.Market(c.Market)
			c.Queue, c.Store, c.Kube = m.Queue(c.Queue), m.Store(c.Store), m.Cluster(c.Kube)
		}
		r.start()
		if err := m.Follow(r.loop.Shown); err != nil {
			t.Fatal(err)
		}
		r.accepted(model.Plan{ID: "p-0", NodeClaims: []model.NodeClaim{nodeClaim("c0", "m5.large")}})
		r.reaches("c0", model.ClaimInitialized)
		r.kube.run("c0", pod("stuck"))
		r.kube.change(func() { r.kube.budget = true })
		sub := r.subscribe("w1", true)
		has(t, metricstest.Series(t, seen, "kerf_", false),
			"kerf_actuator_leader: 1", "kerf_actuator_watchers: 1",
			"kerf_claim_count kerf_capacity_type=on-demand kerf_claim_state=Initialized kerf_node_pool=default: 1",
			"kerf_node_cost_per_hour kerf_capacity_type=on-demand kerf_node_pool=default: 0.096",
		)
		sub.Close()
		r.ec2.Send(interruption(time.Now().Add(-time.Second), r.claim("c0").InstanceID))
		r.reaches("c0", model.ClaimGone)
		r.kube.change(func() { r.kube.budget = false })
		r.story()

		got := metricstest.Series(t, seen, "kerf_", false)
		has(t, got,
			"kerf_claim_created_total kerf_claim_cause=Provisioned kerf_node_pool=default: 2",
			"kerf_claim_created_total kerf_claim_cause=Underutilized kerf_node_pool=default: 1",
			"kerf_claim_ended_total cloud_availability_zone=us-east-1a kerf_capacity_type=on-demand kerf_node_pool=default kerf_result=ended: 3",
			"kerf_launch_duration_seconds kerf_capacity_type=on-demand kerf_node_pool=default: 3",
			"kerf_node_registration_duration_seconds kerf_node_pool=default: 3",
			"kerf_node_startup_duration_seconds kerf_node_pool=default: 3",
			"kerf_node_termination_duration_seconds kerf_node_pool=default: 3",
			"kerf_node_disrupted_total kerf_capacity_type=on-demand kerf_disruption_reason=Deleted kerf_node_pool=default: 1",
			"kerf_node_disrupted_total kerf_capacity_type=on-demand kerf_disruption_reason=Interrupted kerf_node_pool=default: 1",
			"kerf_node_disrupted_total kerf_capacity_type=on-demand kerf_disruption_reason=Underutilized kerf_node_pool=default: 1",
			"kerf_node_drain_duration_seconds kerf_disruption_reason=Interrupted: 1",
			"kerf_disruption_ended_total kerf_disruption_reason=Underutilized kerf_result=completed: 1",
			"kerf_disruption_saved_per_hour_total kerf_disruption_reason=Underutilized: 0.011",
			"kerf_interruption_notices_total kerf_notice_kind=spot_interruption: 1",
			"kerf_interruption_lead_time_seconds kerf_notice_kind=spot_interruption: 1",
			"kerf_interruption_delay_seconds kerf_notice_kind=spot_interruption: 1",
			"kerf_pod_evictions_total kerf_result=evicted: 1", "kerf_pod_evictions_total kerf_result=deleted: 1",
			"kerf_aws_request_duration_seconds kerf_operation=launch: 3",
			"kerf_etcd_request_duration_seconds kerf_operation=load: 1",
			"kerf_actuator_leader: 1",
		)
		for _, operation := range []string{"instances", "instance_types", "resolve_class", "spot_prices", "receive_notices", "delete_notices", "terminate"} {
			if !strings.Contains(strings.Join(got, "\n"), "kerf_operation="+operation+": ") {
				t.Errorf("%s is not measured", operation)
			}
		}
		if !strings.Contains(strings.Join(got, "\n"), "kerf_pod_evictions_total kerf_result=blocked: ") {
			t.Error("blocked evictions are not measured")
		}
		r.stop()
		if d := cmp.Diff([]string{"kerf_actuator_leader: 0"}, metricstest.Series(t, seen, "kerf_actuator", true)); d != "" {
			t.Errorf("once it leads no longer (-want +got):\n%s", d)
		}
	})
}

func has(t *testing.T, got []string, want ...string) {
	t.Helper()
	there := map[string]bool{}
	for _, s := range got {
		there[s] = true
	}
	missing := false
	for _, s := range want {
		if !there[s] {
			missing = true
			t.Errorf("%s is not there", s)
		}
	}
	if missing {
		t.Logf("there is:\n%s", strings.Join(got, "\n"))
	}
}
