package loop

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// inReservation starts a loop with a node c1 in a reservation for two instances.
func (r *rig) inReservation(has cloud.Reservation) {
	r.t.Helper()
	has.ID, has.InstanceType, has.Zone, has.Free = "cr-1", "m5.large", "us-east-1a", 2
	r.ec2.Reserve(has)
	r.start()
	w := nodeClaim("c1", "m5.large")
	w.Offerings = []model.RankedOffering{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: "cr-1", Price: 1}}
	r.until("it is offered", time.Minute, func() bool { return r.left() == 2 })
	r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
	r.reaches("c1", model.ClaimInitialized)
	c := r.claim("c1")
	if c.CapacityType != model.Reserved || c.ReservationID != "cr-1" || labelOf(c, labels.CapacityReservationID) != "cr-1" {
		r.t.Fatalf("it was launched as %s %q with %v", c.CapacityType, c.ReservationID, c.Labels)
	}
	if n := r.left(); n != 1 {
		r.t.Errorf("%d are left of the reservation, want one", n)
	}
}

func labelOf(c model.Claim, key string) string {
	value, _ := c.Labels.Get(key)
	return value
}

// left is how many instances planners may still plan into the reservation; -1 where it is not offered.
func (r *rig) left() int64 {
	inv, err := r.loop.Inventory(r.t.Context())
	if err != nil {
		return -1
	}
	for _, o := range inv.Offerings {
		if o.ReservationID == "cr-1" {
			return *o.ReservationRemaining
		}
	}
	return -1
}

func TestNodesOfABlockThatEndsAreDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		end := time.Now().Add(2 * time.Hour)
		r.inReservation(cloud.Reservation{Block: true, EndTime: end})
		time.Sleep(time.Until(end.Add(-42 * time.Minute)))
		if c := r.claim("c1"); c.State != model.ClaimInitialized {
			t.Fatalf("%s 42 minutes before the end", c.State)
		}
		time.Sleep(3 * time.Minute)
		if c := r.claim("c1"); c.State <= model.ClaimInitialized {
			t.Errorf("%s 39 minutes before the end", c.State)
		}
		r.reaches("c1", model.ClaimGone)
		if n := r.left(); n != 0 {
			t.Errorf("%d may be planned into a block that ends", n)
		}
	})
}

func TestAnInstanceThatOutlivesItsReservationIsOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inReservation(cloud.Reservation{})
		r.ec2.EndReservation("cr-1")
		r.until("the claim is on-demand", 10*time.Minute, func() bool { return r.claim("c1").CapacityType == model.OnDemand })
		c := r.claim("c1")
		if c.State != model.ClaimInitialized || c.ReservationID != "" || c.Price != 96_000 {
			t.Errorf("%s in %q for %d", c.State, c.ReservationID, c.Price)
		}
		if labelOf(c, labels.CapacityType) != "on-demand" || labelOf(c, labels.CapacityReservationID) != "" || labelOf(c, labels.CapacityReservationType) != "" {
			t.Errorf("the claim has %v", c.Labels)
		}
		node := func() *cluster.Node {
			s, err := r.kube.Observe()
			if err != nil || len(s.Nodes) != 1 {
				t.Fatal(err, len(s.Nodes))
			}
			return s.Nodes[0]
		}
		r.until("its node too", time.Minute, func() bool {
			return node().Labels[labels.CapacityType] == "on-demand" && !slices.ContainsFunc(labels.Reservation(), func(key string) bool { return node().Labels[key] != "" })
		})
	})
}

func TestANodeInAReservationThatItsClassDoesNotSelectAnyMoreDrifts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inReservation(cloud.Reservation{})
		time.Sleep(20 * time.Minute)
		if c := r.claim("c1"); !c.Drifted.OK() {
			t.Fatalf("it has drifted: %s", c.Drifted.Message)
		}
		r.ec2.Unselect("cr-1")
		r.until("it has drifted", 10*time.Minute, func() bool { return strings.HasPrefix(r.claim("c1").Drifted.Message, "CapacityReservationDrift") })
		for range 20 { // and stays so, however often the class is asked
			time.Sleep(time.Minute)
			if c := r.claim("c1"); c.Drifted.OK() || c.State != model.ClaimInitialized {
				t.Fatalf("%s, drifted: %q", c.State, c.Drifted.Message)
			}
		}
	})
}

func TestAReservationThatEndsDriftsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inReservation(cloud.Reservation{})
		r.ec2.EndReservation("cr-1")
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
			if c := r.claim("c1"); !c.Drifted.OK() {
				t.Fatalf("it has drifted: %s", c.Drifted.Message)
			}
		}
	})
}

func TestWhatAReservationTakesBackIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inReservation(cloud.Reservation{Interruptible: true})
		begun := time.Now()
		r.ec2.Send(strings.Replace(interruption(begun, r.claim("c1").InstanceID), "EC2 Spot Instance", "EC2 Capacity Reservation Instance", 1))
		r.until("it is drained", time.Minute, func() bool { return r.claim("c1").State > model.ClaimInitialized })
		if n := r.left(); n != 0 {
			t.Errorf("%d may be planned into a reservation that takes its instances back", n)
		}
		r.reaches("c1", model.ClaimGone)
		if d := r.claim("c1").StateTime.Sub(begun); d > 2*time.Minute {
			t.Errorf("gone after %s, want before the two minutes of the warning are over", d)
		}
		r.until("EC2 is asked again", 10*time.Minute, func() bool { return r.left() == 2 })
	})
}

func TestAReservationThatEC2HasNoMoreOfIsNotPlannedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.inReservation(cloud.Reservation{})
		o := model.RankedOffering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: "cr-1", Price: 1}
		r.ec2.Exhaust(o)
		w := nodeClaim("c2", "m5.large")
		w.Offerings = []model.RankedOffering{o}
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{w}})
		r.until("the claim has failed", time.Minute, func() bool { return r.claim("c2").State.Ended() })
		if n := r.left(); n != 0 {
			t.Errorf("%d may be planned into it", n)
		}
		r.until("EC2 is asked again", 10*time.Minute, func() bool { return r.left() == 1 })
	})
}

func TestALaunchIsIntoOneReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.ec2.Reserve(cloud.Reservation{ID: "cr-2", InstanceType: "m5.large", Zone: "us-east-1a", Free: 2, Block: true, EndTime: time.Now().Add(24 * time.Hour)})
		r.inReservation(cloud.Reservation{})
		into := func(id string) model.RankedOffering {
			return model.RankedOffering{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: id, Price: 1}
		}
		w := nodeClaim("c2", "m5.large")
		w.Offerings = append([]model.RankedOffering{into("cr-2"), into("cr-1")}, w.Offerings...)
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c2", model.ClaimLaunched)
		if got := r.kube.launch["c2"].Offerings; len(got) != 1 || got[0].ReservationID != "cr-2" {
			t.Errorf("launched as one of %v, want into one reservation alone", got)
		}
	})
}

func TestEC2IsAskedForTheReservationThenSpotThenOnDemand(t *testing.T) {
	kinds := []model.RankedOffering{
		{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Reserved, ReservationID: "cr-1", Price: 1},
		{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.Spot, Price: 40_000},
		{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand, Price: 96_000},
	}
	for i, want := range kinds {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.inReservation(cloud.Reservation{})
			for _, o := range kinds[:i] {
				r.ec2.Exhaust(o)
			}
			w := nodeClaim("c2", "m5.large")
			w.Offerings = kinds
			r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{w}})
			r.reaches("c2", model.ClaimInitialized)
			if c := r.claim("c2"); c.CapacityType != want.CapacityType || c.ReservationID != want.ReservationID {
				t.Errorf("launched as %s in %q, want %s", c.CapacityType, c.ReservationID, want.CapacityType)
			}
		})
	}
}
