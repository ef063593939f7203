package loop

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/model"
)

// hung is an EC2 whose first list of instances never comes back.
type hung struct {
	cloud.Cloud
	once atomic.Bool
}

func (h *hung) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	if h.once.CompareAndSwap(false, true) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Cloud.Instances(ctx, some...)
}

func TestCallThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Cloud = &hung{Cloud: c.Cloud} }
		r.start()
		r.until("the loop is ready", 5*time.Minute, func() bool { _, err := r.loop.Inventory(t.Context()); return err == nil })
	})
}

// slow is an EC2 that takes its time to launch.
type slow struct {
	cloud.Cloud
	takes    time.Duration
	launched atomic.Int32
}

func (s *slow) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	time.Sleep(s.takes)
	s.launched.Add(1)
	return s.Cloud.Launch(ctx, r)
}

// TestClaimsInLineAreNotLate launches more claims than go at once, for longer than a launch may take. EC2 was never
// slow: none fails. What its user deletes meanwhile is not launched.
func TestClaimsInLineAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := &slow{takes: time.Minute}
		r.cfg = func(c *Config) { ec2.Cloud, c.Cloud, c.Launches = r.ec2, ec2, 1 }
		r.start()
		p := model.Plan{ID: "p-1"}
		for i := range 12 {
			p.NodeClaims = append(p.NodeClaims, nodeClaim(fmt.Sprintf("c%02d", i), "m5.large"))
		}
		r.accepted(p)
		time.Sleep(lifecycle.LaunchTimeout + time.Minute)
		r.kube.Delete("NodeClaim", "c11")
		r.stop() // a new leader does not know how long they have waited
		r.start()
		for _, w := range p.NodeClaims[:11] {
			r.reaches(w.ID, model.ClaimInitialized)
		}
		r.reaches("c11", model.ClaimGone)
		if n := ec2.launched.Load(); n > 12 {
			t.Errorf("%d launches, want those of eleven claims and one that a leader left", n)
		}
	})
}

func TestALaunchWithoutAnAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Cloud = &tried{Cloud: r.ec2} }
		r.start()
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large"), nodeClaim("c2", "m5.large")}})
		begun := time.Now()
		r.reaches("c1", model.ClaimFailed)
		r.reaches("c2", model.ClaimFailed)
		if took := time.Since(begun); took > lifecycle.LaunchTimeout+2*lifecycle.VisibilityDelay {
			t.Errorf("given up after %s", took)
		}
	})
}

func TestRefusalsOfPodsThatAreNoMoreAreForgotten(t *testing.T) {
	s := &claims{cluster: &observed.Cluster{}, refused: map[string]string{"default/gone": "why", "default/web": "why"}}
	s.cluster.Nodes = []*cluster.Node{{Pods: []cluster.Pod{pod("web")}}}
	s.forgetRefusals()
	if len(s.refused) != 1 || s.refused["default/web"] == "" {
		t.Errorf("%v are remembered, want that of the pod that is there", s.refused)
	}
}

func TestChangesAreForTheNodeThatWasDecidedAbout(t *testing.T) {
	c, n := model.Claim{ID: "c1", ProviderID: "aws:///a/i-1"}, &cluster.Node{Name: "n1", UID: "u1"}
	for _, kind := range []lifecycle.EffectKind{lifecycle.EffectRemoveNode, lifecycle.EffectTaintNode, lifecycle.EffectSyncNode} {
		got := nodeChange(c, n, kind)
		if got.Node != "n1" || got.UID != "u1" || got.ProviderID != "aws:///a/i-1" {
			t.Errorf("%s: %+v, want node n1 with its uid and provider id", kind, got)
		}
	}
}

func TestInvalidClassCanBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) { s.Classes[0].Invalid = model.Reason{Code: 3, Message: "spec.role: required"} })
		r.start()
		time.Sleep(time.Minute)
		r.kube.Edit(func(s *cluster.State) { s.Classes[0].Terminating = true })
		r.until("the class is gone", 5*time.Minute, func() bool {
			s, _ := r.kube.Observe()
			return len(s.Classes) == 0
		})
	})
}

func TestPoolThatIsMadeAgainGetsItsStatusAgain(t *testing.T) {
	leads(t, func(r *rig) {
		told := func() (ok bool) {
			r.kube.change(func() { _, ok = r.kube.pubs["default"] })
			return ok
		}
		r.until("the pool has its status", time.Minute, told)
		var pools []cluster.Pool
		r.kube.Edit(func(s *cluster.State) { pools, s.Pools = s.Pools, nil })
		time.Sleep(time.Minute)
		r.kube.change(func() { clear(r.kube.pubs) })
		r.kube.Edit(func(s *cluster.State) { s.Pools = pools })
		r.until("the new pool has its status", time.Minute, told)
	})
}

// planner asks for a node again and again, under another claim each time, as long as its pod has none.
func (r *rig) planner(every, d time.Duration) (claims int) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(every) {
		serving := false
		c, _ := r.store.Load(context.Background())
		for _, x := range c.Claims {
			serving = serving || x.State <= model.ClaimInitialized
		}
		if serving {
			continue
		}
		w := nodeClaim(fmt.Sprintf("c%d", time.Now().Unix()), "m5.large")
		w.Pods = []model.PodID{"default/web"}
		if v := r.apply(model.Plan{ID: model.PlanID("p-" + string(w.ID)), NodeClaims: []model.NodeClaim{w}}); v[0].Accepted {
			claims++
		}
	}
	return claims
}

func TestRefusedLaunchesAreNotRepeatedAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		join := r.ec2.OnLaunch
		r.ec2.OnLaunch = func(cloud.Request) error {
			return fmt.Errorf("launch: RequestID: %d, %w: user data is too long", time.Now().UnixNano(), cloud.ErrInvalid)
		}
		r.start()
		if n := r.planner(time.Second, 20*time.Minute); n < 5 || n > 20 {
			t.Errorf("%d claims in 20 minutes, want ever fewer", n)
		}
		inv, err := r.loop.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if why := inv.Classes[0].NotReady.Message; !strings.Contains(why, "user data is too long") || strings.Contains(why, "RequestID") {
			t.Errorf("the class is not ready because %q", why)
		}
		r.ec2.OnLaunch = join
		n := r.planner(time.Second, 5*time.Minute)
		r.until("a node has come", time.Minute, func() bool { return len(r.alive()) == 1 })
		if n != 1 {
			t.Errorf("%d claims once it works", n)
		}
	})
}

func TestInstancesThatEndAtOnceAreNotBoughtAllTheTime(t *testing.T) {
	leads(t, func(r *rig) {
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
				}
				for _, id := range r.alive() {
					r.ec2.Kill(id)
				}
			}
		}()
		if n := r.planner(time.Second, 20*time.Minute); n < 5 || n > 25 {
			r.t.Errorf("%d instances in 20 minutes, want ever fewer", n)
		}
		close(stop)
	})
}

// forgetful is an EC2 that does not know of a new instance profile for a while, and answers a token as it did before.
type forgetful struct {
	cloud.Cloud
	until  time.Time
	tokens map[string]bool
}

func (f *forgetful) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	if f.tokens[r.Token] || time.Now().Before(f.until) {
		f.tokens[r.Token] = true
		return nil, fmt.Errorf("create fleet: %w: Invalid IAM Instance Profile name", cloud.ErrNoInstance)
	}
	return f.Cloud.Launch(ctx, r)
}

func TestAnswerThatNothingWasMadeIsAskedForUnderAnotherToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := &forgetful{until: time.Now().Add(20 * time.Second), tokens: map[string]bool{}}
		r.cfg = func(c *Config) { ec2.Cloud, c.Cloud = c.Cloud, ec2 }
		r.start()
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		begun := time.Now()
		r.reaches("c1", model.ClaimInitialized)
		if took := time.Since(begun); took > time.Minute || len(ec2.tokens) > 8 {
			t.Errorf("it took %s and %d tokens", took, len(ec2.tokens))
		}
		r.launchedOnce()
	})
}

func TestShortageOfNothingInParticularIsOneOfEverythingAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.ec2.OnLaunch = func(cloud.Request) error {
			return &cloud.CapacityError{Offerings: []model.Shortage{{CapacityType: model.OnDemand}}, Message: "VcpuLimitExceeded"}
		}
		r.start()
		if n := r.planner(time.Second, 10*time.Minute); n > 4 {
			t.Errorf("%d claims in ten minutes, though a shortage is believed for three", n)
		}
	})
}

// TestAStalePlanChangesNothing hands in what a plan says beside its decisions, first of an inventory that is none of this
// leader's.
func TestAStalePlanChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a")
		r.accepted(claimFor("c1", "default/gone"))
		r.reaches("c1", model.ClaimInitialized)
		node := r.claim("c1").Node
		p := model.Plan{
			ID: "p-2", Placements: []model.Placement{{Pod: "default/a", Node: node}},
			Nodes: []model.NodeVerdict{{Node: node, Claim: "c1", Deferred: new(true)}},
		}
		says := func() bool { return r.nominated("a") == node && r.claim("c1").RemovalDeferred }
		stale := p
		stale.InventoryRevision = 1 << 60
		r.apply(stale)
		time.Sleep(10 * time.Second)
		if at, deferred := r.nominated("a"), r.claim("c1").RemovalDeferred; at != "" || deferred {
			t.Errorf("the pod is nominated to %q, the claim's removal is deferred: %v", at, deferred)
		}
		r.apply(p)
		r.until("the plan is carried out", 10*time.Second, says)
	})
}
