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
