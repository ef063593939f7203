package measure_test

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
)

// TestAClaimThatEndsIsCountedByHowFarItCame tells what never had an instance from what had one that was of no use.
func TestAClaimThatEndsIsCountedByHowFarItCame(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to model.ClaimState
		instance string
		want     string
	}{
		"EC2 has no capacity for it":   {model.ClaimLaunching, model.ClaimFailed, "", "not_launched"},
		"its instance has not joined":  {model.ClaimLaunched, model.ClaimFailed, "i-1", "failed"},
		"its node has done its work":   {model.ClaimTerminating, model.ClaimGone, "i-1", "ended"},
		"it was planned and not asked": {model.ClaimPlanned, model.ClaimGone, "", "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder, seen := metricstest.New(t, metrics.Actuator)
			old := model.Claim{ID: "c", NodePool: "default", CapacityType: model.Spot, State: tt.from, InstanceID: tt.instance}
			ended := old
			ended.State = tt.to
			measure.New(recorder).Claim(&old, &ended, nil)
			want := "kerf_claim_ended_total cloud_availability_zone= kerf_capacity_type=spot kerf_node_pool=default kerf_result=" + tt.want + ": 1"
			if got := metricstest.Series(t, seen, "kerf_claim_ended", false); !slices.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
