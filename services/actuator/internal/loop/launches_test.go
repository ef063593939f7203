package loop

import (
	"testing"
	"testing/synctest"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestWhatEC2HadNoneOfIsRememberedOfALaunchThatCameToSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		w := nodeClaim("c1", "m5.large", "m5.xlarge")
		r.ec2.Exhaust(w.Offerings[0])
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c1", model.ClaimInitialized)
		if c := r.claim("c1"); c.Attempt != 1 {
			t.Errorf("it took %d attempts, want one", c.Attempt)
		}
		inv, err := r.loop.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range inv.Offerings {
			short := o.InstanceType == w.Offerings[0].InstanceType && o.Zone == w.Offerings[0].Zone && o.CapacityType == w.Offerings[0].CapacityType
			if short == o.UnavailableUntil.IsZero() {
				t.Errorf("offering %s: unavailable until %s", o.Key(), o.UnavailableUntil)
			}
		}
	})
}

func TestAdaptersAreAttachedToTheNodesOfPodsThatAskForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		ask := nodeClaim("ask", "m5.xlarge")
		ask.Requests = model.Amounts{{Resource: "vpc.amazonaws.com/efa", Value: 1}}
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("other", "m5.xlarge"), ask}})
		for id, want := range map[model.ClaimID]int64{"ask": 1, "other": 0} {
			r.reaches(id, model.ClaimLaunched)
			c := r.claim(id)
			if c.Capacity.Value("vpc.amazonaws.com/efa") != want || c.Allocatable.Value("vpc.amazonaws.com/efa") != want || c.Allocatable.Value("cpu") == 0 {
				t.Errorf("%s counts on %v", id, c.Allocatable)
			}
			if got := r.kube.launch[id].EFA; got != (want > 0) {
				t.Errorf("%s is launched with adapters: %v", id, got)
			}
		}
	})
}
