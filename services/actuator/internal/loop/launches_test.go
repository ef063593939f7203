package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestWhatEC2HadNoneOfIsRememberedOfALaunchThatCameToSomething(t *testing.T) {
	leads(t, func(r *rig) {
		w := nodeClaim("c1", "m5.large", "m5.xlarge")
		r.ec2.Exhaust(w.Offerings[0])
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c1", model.ClaimInitialized)
		if c := r.claim("c1"); c.Attempt != 1 {
			r.t.Errorf("it took %d attempts, want one", c.Attempt)
		}
		inv, err := r.loop.Inventory(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range inv.Offerings {
			short := o.InstanceType == w.Offerings[0].InstanceType && o.Zone == w.Offerings[0].Zone && o.CapacityType == w.Offerings[0].CapacityType
			if short == o.UnavailableUntil.IsZero() {
				r.t.Errorf("offering %s: unavailable until %s", o.Key(), o.UnavailableUntil)
			}
		}
	})
}

func TestAdaptersAreAttachedToTheNodesOfPodsThatAskForThem(t *testing.T) {
	leads(t, func(r *rig) {
		ask := nodeClaim("ask", "m5.xlarge")
		ask.Requests = model.Amounts{{Resource: "vpc.amazonaws.com/efa", Value: 1}}
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("other", "m5.xlarge"), ask}})
		for id, want := range map[model.ClaimID]int64{"ask": 1, "other": 0} {
			r.reaches(id, model.ClaimLaunched)
			c := r.claim(id)
			if c.Capacity.Value("vpc.amazonaws.com/efa") != want || c.Allocatable.Value("vpc.amazonaws.com/efa") != want || c.Allocatable.Value("cpu") == 0 {
				r.t.Errorf("%s counts on %v", id, c.Allocatable)
			}
			if got := r.kube.launch[id].EFA; got != (want > 0) {
				r.t.Errorf("%s is launched with adapters: %v", id, got)
			}
		}
	})
}

func TestInstancesOfPodsThatAskForEnclavesMayRunThem(t *testing.T) {
	leads(t, func(r *rig) {
		ask := nodeClaim("ask", "m5.xlarge")
		ask.Requests = model.Amounts{{Resource: "eks.amazonaws.com/nitro-sandbox", Value: 1}}
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("other", "m5.xlarge"), ask}})
		for id, want := range map[model.ClaimID]bool{"ask": true, "other": false} {
			r.reaches(id, model.ClaimLaunched)
			if got := r.kube.launch[id].Enclaves; got != want {
				r.t.Errorf("%s is launched with enclaves: %v", id, got)
			}
		}
	})
}

// TestAPlacementGroupThatIsFullSaysNothingOfOtherLaunches has EC2 have no m5.large in a placement group.
func TestAPlacementGroupThatIsFullSaysNothingOfOtherLaunches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) {
			class, pool := s.Classes[0], s.Pools[0]
			class.Spec.Name, class.Spec.UID, class.Spec.PlacementGroup = "packed", "u-2", cloud.PlacementGroupTerm{ID: "pg-1"}
			pool.Name, pool.NodeClass = "packed", "packed"
			s.Classes, s.Pools = append(s.Classes, class), append(s.Pools, pool)
		})
		join := r.ec2.OnLaunch
		r.ec2.OnLaunch = func(q cloud.Request) error {
			if o := q.Offerings[0]; q.Class.PlacementGroup.ID != "" && o.InstanceType == "m5.large" {
				return &cloud.CapacityError{Offerings: []model.Shortage{{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType}}, Message: "none"}
			}
			return join(q)
		}
		r.start()
		one := func(id string, pool model.PoolName, types ...string) model.Plan {
			w := nodeClaim(id, types...)
			w.NodePool, w.NodeClass = pool, model.NodeClassName(pool)
			w.Offerings = slices.DeleteFunc(w.Offerings, func(o model.RankedOffering) bool { return o.Zone != "us-east-1a" })
			return model.Plan{ID: model.PlanID("p-" + id), NodeClaims: []model.NodeClaim{w}}
		}
		r.accepted(one("c1", "packed", "m5.large"))
		r.reaches("c1", model.ClaimFailed)
		r.accepted(one("c2", "default", "m5.large"))
		r.reaches("c2", model.ClaimInitialized)
		if v := r.apply(one("c3", "packed", "m5.large")); v[0].Accepted || v[0].Reason.Code != model.CodeNoOffering {
			t.Errorf("%+v, want that the group is said to have none", v[0])
		}
		r.accepted(one("c4", "packed", "m5.large", "c5.large"))
		r.reaches("c4", model.ClaimInitialized)
		for id, want := range map[model.ClaimID]string{"c2": "", "c4": "pg-1"} {
			if got, _ := r.claim(id).Labels.Get("karpenter.k8s.aws/placement-group-id"); got != want {
				t.Errorf("%s says that its node is in group %q, want %q", id, got, want)
			}
		}
	})
}

// both are a type's offerings in a zone, spot first.
func both(id, name string) model.NodeClaim {
	w := nodeClaim(id, name)
	spot := w.Offerings[0]
	spot.CapacityType, spot.Price = model.Spot, spot.Price/2
	w.Offerings = []model.RankedOffering{spot, w.Offerings[0]}
	return w
}

// TestWhereSpotCanNotBeAskedForOnDemandIsTaken has EC2 answer each launch on spot that it made nothing, and not why.
func TestWhereSpotCanNotBeAskedForOnDemandIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		join, asked := r.ec2.OnLaunch, 0
		r.ec2.OnLaunch = func(q cloud.Request) error {
			if q.Offerings[0].CapacityType == model.Spot {
				asked++
				return fmt.Errorf("create fleet: %w: InternalError", cloud.ErrNoInstance)
			}
			return join(q)
		}
		r.start()
		begun := time.Now()
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{both("c1", "m5.large")}})
		r.reaches("c1", model.ClaimInitialized)
		if c := r.claim("c1"); c.CapacityType != model.OnDemand || asked != 6 || time.Since(begun) > 2*time.Minute {
			t.Errorf("launched on %s after %d launches on spot and %s, want on demand after six", c.CapacityType, asked, time.Since(begun))
		}
		r.launchedOnce()
	})
}

// TestAnAccountWithoutSpotBuysOnDemand has EC2 say that the account has no role for spot. All spot is short then, and
// on demand is as it was.
func TestAnAccountWithoutSpotBuysOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		join, asked := r.ec2.OnLaunch, 0
		r.ec2.OnLaunch = func(q cloud.Request) error {
			if q.Offerings[0].CapacityType == model.Spot {
				asked++
				return &cloud.CapacityError{Offerings: []model.Shortage{{InstanceType: shortage.Everything, CapacityType: model.Spot}}, Message: "no role"}
			}
			return join(q)
		}
		r.start()
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{both("c1", "m5.large")}})
		r.reaches("c1", model.ClaimInitialized)
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{both("c2", "c5.large")}})
		r.reaches("c2", model.ClaimInitialized)
		if c := r.claim("c2"); c.CapacityType != model.OnDemand || asked != 1 {
			t.Errorf("launched on %s, and spot was asked for %d times; want once", c.CapacityType, asked)
		}
		inv, err := r.loop.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range inv.Offerings {
			if short := time.Now().Before(o.UnavailableUntil); short != (o.CapacityType == model.Spot) {
				t.Errorf("%s %s on %s is short: %v", o.InstanceType, o.Zone, o.CapacityType, short)
			}
		}
	})
}

// tardy is an API server that takes a minute and a half for each write of objects.
type tardy struct{ cluster.Cluster }

func (k tardy) Publish(ctx context.Context, p cluster.Publication) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(90 * time.Second):
		return k.Cluster.Publish(ctx, p)
	}
}

// TestASlowAPIServerEndsNoInstance launches while objects of claims are written long after their instances are there.
func TestASlowAPIServerEndsNoInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Kube = tardy{c.Kube} }
		r.start()
		r.grow("c1")
		time.Sleep(10 * time.Minute)
		if c := r.claim("c1"); c.State != model.ClaimInitialized || len(r.alive()) != 1 {
			t.Errorf("the claim is %s with %d instances", c.State, len(r.alive()))
		}
		r.launchedOnce()
	})
}

// TestAShortageIsOneForAllClasses has a claim of one class find that EC2 has none, and one of another class ask for the
// same.
func TestAShortageIsOneForAllClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) {
			class, pool := s.Classes[0], s.Pools[0]
			class.Spec.Name, class.Spec.UID, pool.Name, pool.NodeClass = "other", "u-2", "other", "other"
			s.Classes, s.Pools = append(s.Classes, class), append(s.Pools, pool)
		})
		r.start()
		w := nodeClaim("c1", "m5.large")
		w.Offerings = w.Offerings[:1]
		r.ec2.Exhaust(w.Offerings[0])
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c1", model.ClaimFailed)
		w.ID, w.NodePool, w.NodeClass = "c2", "other", "other"
		if v := r.apply(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{w}}); v[0].Accepted || v[0].Reason.Code != model.CodeNoOffering {
			t.Errorf("%+v, want that EC2 is said to have none", v[0])
		}
	})
}

func TestAnInstanceThatEC2HasNoCapacityForAfterAllIsAShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.change(func() { r.kube.stuck = true })
		r.start()
		w := nodeClaim("c1", "m5.large")
		w.Offerings = w.Offerings[:1]
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c1", model.ClaimLaunched)
		r.ec2.Unfill(r.claim("c1").InstanceID)
		r.reaches("c1", model.ClaimFailed)
		if c := r.claim("c1"); c.Failure.Code != model.CodeInsufficientCapacity || !strings.Contains(c.Failure.Message, "InsufficientInstanceCapacity") {
			t.Errorf("it failed with %+v, want EC2's words", c.Failure)
		}
		w.ID = "c2"
		other := nodeClaim("c3", "m5.large")
		other.Offerings = other.Offerings[1:]
		v := r.apply(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{w, other}})
		if v[0].Accepted || v[0].Reason.Code != model.CodeNoOffering || !v[1].Accepted {
			t.Errorf("%+v, want that EC2 is said to have none in that zone, and launches in another", v)
		}
	})
}

func TestAnInstanceWithoutCapacityMayBeOfAClaimThatTheStoreHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.change(func() { r.kube.stuck = true })
		r.start()
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimLaunched)
		r.until("it has an object", time.Minute, func() bool { return r.kube.has("c1") })
		time.Sleep(time.Minute) // what is stored is shown
		r.lose(time.Now())
		r.reaches("c1", model.ClaimLaunched)
		r.ec2.Unfill(r.claim("c1").InstanceID)
		r.reaches("c1", model.ClaimFailed)
		if c := r.claim("c1"); c.Failure.Code != model.CodeInsufficientCapacity {
			t.Errorf("it failed with %+v, want that EC2 has no capacity", c.Failure)
		}
	})
}
