package offer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

func reserved(id string, left int64) model.Offering {
	return model.Offering{InstanceType: "m5.large", Zone: "a", CapacityType: model.Reserved, ReservationID: id, ReservationRemaining: &left}
}

func into(state model.ClaimState, ids ...string) model.Claim {
	c := model.Claim{State: state}
	for _, id := range ids {
		c.Offerings = append(c.Offerings, model.RankedOffering{CapacityType: model.Reserved, ReservationID: id}, model.RankedOffering{CapacityType: model.OnDemand})
	}
	return c
}

func TestUnitsOfReservations(t *testing.T) {
	s := &model.Snapshot{
		Offerings: []model.Offering{reserved("cr-1", 2), reserved("cr-2", 5), {InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}},
		Claims: []model.Claim{
			into(model.ClaimLaunching, "cr-2"), into(model.ClaimPlanned, "cr-2", "cr-2"), into(model.ClaimInitialized, "cr-2"), into(model.ClaimFailed, "cr-2"),
		},
	}
	u := offer.NewReservationUnits(s)
	if u.Left("cr-1") != 2 || u.Left("cr-2") != 3 || u.Left("cr-9") != 0 {
		t.Errorf("left: %d, %d, %d; want 2, and 5 less the two that are not launched yet, and none of what is not there", u.Left("cr-1"), u.Left("cr-2"), u.Left("cr-9"))
	}
	if u.Remaining() != 0 || u.Remaining("cr-1", "cr-2") != 2 {
		t.Errorf("capacity %d, want that of the scarcest", u.Remaining("cr-1", "cr-2"))
	}
	try := u.Clone()
	for i := range 3 { // case 82: two slots and three pods
		if got, want := try.Remaining("cr-1") > 0, i < 2; got != want {
			t.Errorf("claim %d finds capacity: %v", i, got)
		}
		try.Take(1, "cr-1")
	}
	if u.Left("cr-1") != 2 || try.Left("cr-1") != 0 {
		t.Error("a copy is not a copy")
	}
	try.Take(-2, "cr-1")
	if try.Left("cr-1") != 1 {
		t.Errorf("what was returned is not there: %d", try.Left("cr-1"))
	}
}

func TestPoolsThatShareAReservationShareItsUnits(t *testing.T) {
	s := &model.Snapshot{Offerings: []model.Offering{reserved("cr-1", 2), reserved("cr-1", 1)}} // case 83
	if got := offer.NewReservationUnits(s).Left("cr-1"); got != 1 {
		t.Errorf("%d left, want the least that anybody says", got)
	}
}

func TestReservationsOfAClaim(t *testing.T) {
	c := into(model.ClaimPlanned, "cr-2", "cr-1", "cr-2")
	if diff := cmp.Diff([]string{"cr-2", "cr-1"}, offer.Reservations(c.Offerings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnnotationsOfAClaim(t *testing.T) {
	want := model.Labels{
		{Key: "karpenter.sh/capacity-overlay-applied", Value: "a,b"},
		{Key: "karpenter.sh/nodeclaim-min-values-relaxed", Value: "true"},
		{Key: "karpenter.sh/price-overlay-applied", Value: "c"},
	}
	if diff := cmp.Diff(want, offer.Annotations(true, "c", "a,b")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := offer.Annotations(false, "", ""); got != nil {
		t.Errorf("got %v, want none", got)
	}
}
