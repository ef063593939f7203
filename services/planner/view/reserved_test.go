package view_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// A claim that was bought for a reservation, and is on demand since that ended, is expected to have none of its labels.
func TestAClaimThatOutlivesItsReservationHasNoneOfItsLabels(t *testing.T) {
	left := int64(1)
	reserved := model.Offering{
		InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: "cr-1",
		ReservationRemaining: &left, ReservationBlock: true,
	}
	claim := model.Claim{
		ID: "c1", NodePool: "default", NodeClass: "default", State: model.ClaimLaunched, InstanceType: "m5.large", Zone: "us-east-1a",
		Requirements: []model.Requirement{
			{Key: labels.CapacityReservationID, Operator: model.In, Values: []string{"cr-1", "cr-2"}},
			{Key: labels.CapacityReservationType, Operator: model.In, Values: []string{"capacity-block"}},
		},
	}
	for id, want := range map[string]string{"cr-1": "capacity-block", "": ""} {
		c := claim
		c.ReservationID, c.CapacityType = id, model.OnDemand
		if id != "" {
			c.CapacityType = model.Reserved
		}
		w, err := view.NewWorld(&model.Snapshot{Offerings: []model.Offering{reserved}, Claims: []model.Claim{c}}, model.Policy{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		h := view.NewView(w).Hosts[0]
		if got, _ := h.LabelSets[0].Get(labels.CapacityReservationType); got != want {
			t.Errorf("in reservation %q its type is %q, want %q", id, got, want)
		}
		if got, _ := h.LabelSets[0].Get(labels.CapacityReservationID); got != id {
			t.Errorf("in reservation %q its id is %q", id, got)
		}
		if _, open := h.Open.Get(labels.CapacityReservationID); open {
			t.Errorf("in reservation %q its id is still to be decided", id)
		}
	}
}
