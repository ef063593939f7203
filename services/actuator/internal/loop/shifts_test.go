package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// shifted says whether planners are told that nothing is to be bought in the zone.
func (r *rig) shifted(zone string) bool {
	inv, err := r.loop.Inventory(r.t.Context())
	if err != nil {
		return false
	}
	found, all := false, true
	for _, o := range inv.Offerings {
		if o.Zone == zone {
			found, all = true, all && o.ZoneShifted
		}
	}
	return found && all
}

// shifting starts a loop that looks at zonal shifts, with a node in us-east-1a.
func shifting(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.cfg = func(c *Config) { c.Shifts = r.ec2 }
	r.start()
	r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{only(nodeClaim("c1", "m5.large"), "us-east-1a")}})
	r.reaches("c1", model.ClaimInitialized)
	return r
}

// only leaves a claim the offerings of one zone.
func only(w model.NodeClaim, zone string) model.NodeClaim {
	var kept []model.RankedOffering
	for _, o := range w.Offerings {
		if o.Zone == zone {
			kept = append(kept, o)
		}
	}
	w.Offerings = kept
	return w
}

func TestAZoneThatIsShiftedAwayFromIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shifting(t)
		r.ec2.Shift("us-east-1a")
		r.until("planners are told of the shift", time.Minute, func() bool { return r.shifted("us-east-1a") })
		if r.shifted("us-east-1b") {
			t.Error("us-east-1b is told as shifted away from")
		}
		for _, why := range []model.DisruptionReason{model.ReasonEmpty, model.ReasonUnderutilized, model.ReasonDrifted} {
			v := r.apply(model.Plan{ID: "p-" + model.PlanID(why.String()), Disruptions: []model.Disruption{{ID: "d1", Reason: why, Candidates: []model.ClaimID{"c1"}}}})
			if v[0].Accepted || v[0].Reason.Code != model.CodeZoneShifted {
				t.Errorf("%s: accepted %v, %+v; want that the node is left alone", why, v[0].Accepted, v[0].Reason)
			}
		}
		v := r.apply(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{only(nodeClaim("c2", "m5.large"), "us-east-1a")}})
		if v[0].Accepted || v[0].Reason.Code != model.CodeNoOffering || !strings.Contains(v[0].Reason.Message, "shifted away") {
			t.Errorf("a launch there: accepted %v, %+v", v[0].Accepted, v[0].Reason)
		}
		r.accepted(model.Plan{ID: "p-3", NodeClaims: []model.NodeClaim{nodeClaim("c3", "m5.large")}})
		r.reaches("c3", model.ClaimInitialized)
		if c := r.claim("c3"); c.Zone != "us-east-1b" {
			t.Errorf("launched in %s", c.Zone)
		}
		r.ec2.Shift()
		r.until("planners are told that it is over", 35*time.Second, func() bool { return !r.shifted("us-east-1a") })
		r.accepted(model.Plan{ID: "p-4", Disruptions: []model.Disruption{{ID: "d1", Reason: model.ReasonEmpty, Candidates: []model.ClaimID{"c1"}}}})
		r.reaches("c1", model.ClaimGone)
	})
}

// TestAClaimThatWasPlannedBeforeAShift is launched elsewhere: EC2 is not asked for the zone again.
func TestAClaimThatWasPlannedBeforeAShift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shifting(t)
		refused := false
		launch := r.ec2.OnLaunch
		r.ec2.OnLaunch = func(q cloud.Request) error {
			if !refused { // and meanwhile the cluster is shifted away
				refused = true
				r.ec2.Shift("us-east-1a")
				time.Sleep(40 * time.Second)
				return &cloud.CapacityError{Offerings: []model.Shortage{{InstanceType: "m5.xlarge", Zone: "us-east-1b", CapacityType: model.OnDemand}}}
			}
			for _, o := range q.Offerings {
				if o.Zone == "us-east-1a" {
					t.Errorf("EC2 is asked for %+v", o)
				}
			}
			return launch(q)
		}
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{nodeClaim("c2", "m5.large", "m5.xlarge")}})
		r.reaches("c2", model.ClaimInitialized)
		if c := r.claim("c2"); c.Zone != "us-east-1b" || !refused {
			t.Errorf("launched in %s", c.Zone)
		}
	})
}

// TestALaunchThatMadeNothingIsNotRepeatedInAShiftedZone: an outage answers so, and is what zones are shifted away from for.
func TestALaunchThatMadeNothingIsNotRepeatedInAShiftedZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shifting(t)
		launch, began := r.ec2.OnLaunch, time.Now()
		r.ec2.OnLaunch = func(q cloud.Request) error {
			if time.Since(began) < time.Minute {
				return fmt.Errorf("create fleet: %w: InternalError", cloud.ErrNoInstance)
			}
			for _, o := range q.Offerings {
				if o.Zone == "us-east-1a" {
					t.Errorf("EC2 is asked for %+v", o)
				}
			}
			return launch(q)
		}
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{nodeClaim("c2", "m5.large"), only(nodeClaim("c3", "m5.large"), "us-east-1a")}})
		r.ec2.Shift("us-east-1a")
		r.reaches("c2", model.ClaimInitialized)
		if c := r.claim("c2"); c.Zone != "us-east-1b" {
			t.Errorf("launched in %s", c.Zone)
		}
		r.reaches("c3", model.ClaimFailed)
		if why := r.claim("c3").Failure; why.Code != model.CodeInsufficientCapacity || !strings.Contains(why.Message, "InternalError") {
			t.Errorf("failed because of %+v", why)
		}
	})
}

type noShifts struct{ err error }

func (x noShifts) ShiftedZones(context.Context) ([]string, error) { return nil, x.err }

// TestPlansAreTakenWithoutAWordOnShifts has AWS refuse to tell of any.
func TestPlansAreTakenWithoutAWordOnShifts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Shifts = noShifts{errors.New("no")} }
		r.start()
		r.grow("c1")
		if r.shifted("us-east-1a") {
			t.Error("a zone is told as shifted away from")
		}
	})
}
