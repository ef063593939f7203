package e2e_test

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/awssim"
)

// TestOnDemandLaunchesStayOutOfOpenReservations is of a reservation that takes each launch of its type that does not
// say no.
func TestOnDemandLaunchesStayOutOfOpenReservations(t *testing.T) {
	w, _ := openClassWorld(t, func(c *awssim.Config) {
		c.CapacityReservations = []awssim.CapacityReservation{
			{ID: "cr-0a", InstanceType: "m5.large", Zone: "us-east-1a", Total: 2, Available: 2, Open: true},
		}
	})
	w.Spec.Reservations = []cloud.ReservationTerm{{ID: "cr-0a"}}
	class := resolved(t, w)
	if len(class.Reservations) != 1 || class.Reservations[0].MatchesLaunches != "open" {
		t.Fatalf("found %v", class.Reservations)
	}
	for _, o := range []model.RankedOffering{
		{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand},
		{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: "cr-0a"},
	} {
		token := o.CapacityType.String()
		_, err := w.Cloud.Launch(t.Context(), cloud.Request{
			Claim: model.ClaimID(token), Token: token, NodePool: "default", Class: class, Spec: w.Spec, Offerings: []model.RankedOffering{o},
			MaxPods: map[model.TypeName]int64{"m5.large": 29},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Minute)
		all, err := w.Cloud.Instances(t.Context(), cloud.Some{Claim: model.ClaimID(token)})
		if err != nil || len(all) != 1 {
			t.Fatal(err, all)
		}
		if all[0].ReservationID != o.ReservationID || all[0].CapacityType != o.CapacityType {
			t.Errorf("launched as %s, and is %s in reservation %q", o.CapacityType, all[0].CapacityType, all[0].ReservationID)
		}
	}
}
