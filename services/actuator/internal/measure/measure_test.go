package measure_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/measure"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
)

// TestTheOldestClaimInAStateIsSeen: that there is always one that drains is how a large pool lives; that one drains for
// hours is not.
func TestTheOldestClaimInAStateIsSeen(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Actuator)
	claim := func(pool model.PoolName, state model.ClaimState, age time.Duration) *model.Claim {
		return &model.Claim{NodePool: pool, State: state, StateTime: time.Now().Add(-age)}
	}
	inv := &inventory.Inventory{Claims: []*model.Claim{
		claim("a", model.ClaimDraining, time.Minute), claim("a", model.ClaimDraining, 2*time.Hour), claim("b", model.ClaimDraining, time.Second),
		claim("a", model.ClaimLaunched, 10*time.Minute), claim("a", model.ClaimGone, 5*time.Hour),
	}}
	if err := measure.New(recorder).Follow(func() (*inventory.Inventory, int, bool) { return inv, 1, true }); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range metricstest.Series(t, seen, "kerf_claim_state_age", true) {
		name, value, _ := strings.Cut(s, ": ")
		age, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s: %.0f", name, age))
	}
	want := []string{
		"kerf_claim_state_age_seconds kerf_claim_state=Draining kerf_node_pool=a: 7200",
		"kerf_claim_state_age_seconds kerf_claim_state=Draining kerf_node_pool=b: 1",
		"kerf_claim_state_age_seconds kerf_claim_state=Launched kerf_node_pool=a: 600",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

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
