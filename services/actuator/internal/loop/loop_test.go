package loop

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// story is the life of two claims: one is bought, runs a pod, is replaced by a cheaper one, and that is deleted by its
// user. It ends with nothing left.
func (r *rig) story() {
	r.t.Helper()
	r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large", "m5.xlarge")}})
	r.reaches("c1", model.ClaimInitialized)
	r.kube.run("c1", pod("web"))

	replacement := nodeClaim("c2", "c5.large")
	replacement.Disruption = "d1"
	r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{replacement}, Disruptions: []model.Disruption{{
		ID: "d1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c1"}, Replacements: []model.ClaimID{"c2"},
		Destinations: []model.Placement{{Pod: "default/web", Claim: "c2"}},
	}}})
	r.reaches("c2", model.ClaimInitialized)
	r.reaches("c1", model.ClaimGone)

	r.until("c2's object is there", time.Minute, func() bool { return r.kube.has("c2") })
	r.kube.Delete("NodeClaim", "c2")
	r.reaches("c2", model.ClaimGone)
	r.until("nothing is left", 10*time.Minute, func() bool {
		s, _ := r.kube.Observe()
		return len(r.alive())+len(s.Nodes)+len(s.ClaimObjects)+len(s.DeletedClaims)+len(r.ec2.Templates()) == 0
	})
	r.launchedOnce()
}

func TestStoryOfAClaim(t *testing.T) {
	leads(t, func(r *rig) {
		r.story()
		if got := slices.Compact(r.kube.evictions()); !slices.Equal(got, []string{"web force=false"}) {
			r.t.Errorf("evicted %v, want web once and not by force", got)
		}
		c, _ := r.store.Load(r.t.Context())
		if d := c.Disruptions; len(d) != 1 || d[0].EndTime.IsZero() || d[0].RolledBack || d[0].Saving != 11_000 {
			r.t.Errorf("disruptions %+v, want one that has ended and saved $0.011", d)
		}
		r.t.Logf("%d calls to the world", r.crash.calls)
	})
}

// TestCrashAnywhere ends the process before and after each of its calls to the world, starts it again, and wants the
// same end each time.
func TestCrashAnywhere(t *testing.T) {
	calls := 0
	leads(t, func(r *rig) {
		r.story()
		calls = r.crash.calls
	})
	if calls < 20 {
		t.Fatalf("the story makes only %d calls: it tests little", calls)
	}
	for at := range calls {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, after it %v", at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					r.crash = &crash{at: at, after: after}
					r.start()
					r.story()
				})
			})
		}
	}
}

func TestLaunchGoesOnWithTheNextOfferingWhenEC2HasNone(t *testing.T) {
	leads(t, func(r *rig) {
		w := nodeClaim("c1", "m5.large", "m5.xlarge")
		for _, o := range w.Offerings[:2] {
			r.ec2.Exhaust(o)
		}
		w.Offerings[2].CapacityType = model.Spot // another capacity type needs another launch
		w.Offerings[2].Price = 90_000
		w.Offerings = w.Offerings[:3]
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c1", model.ClaimInitialized)
		c := r.claim("c1")
		if c.InstanceType != "m5.xlarge" || c.CapacityType != model.Spot || c.Attempt != 2 {
			r.t.Errorf("launched as %+v in attempt %d, want the spot m5.xlarge in attempt 2", c.InstanceType, c.Attempt)
		}
		inv, err := r.loop.Inventory(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range inv.Offerings {
			short := o.InstanceType == "m5.large" && o.CapacityType == model.OnDemand && o.Zone < "us-east-1c"
			if short == o.UnavailableUntil.IsZero() {
				r.t.Errorf("offering %s: unavailable until %s", o.Key(), o.UnavailableUntil)
			}
		}
	})
}

func TestClaimFailsWhenEC2HasNothing(t *testing.T) {
	leads(t, func(r *rig) {
		w := nodeClaim("c1", "m5.large")
		for _, o := range w.Offerings {
			r.ec2.Exhaust(o)
		}
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{w}})
		r.reaches("c1", model.ClaimFailed)
		if code := r.claim("c1").Failure.Code; code != model.CodeInsufficientCapacity {
			r.t.Errorf("failed with %d, want INSUFFICIENT_CAPACITY", code)
		}
		again := nodeClaim("c2", "m5.large")
		v := r.apply(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{again}})
		if v[0].Accepted || v[0].Reason.Code != model.CodeNoOffering {
			r.t.Errorf("verdict %+v, want NO_OFFERING while the shortage is remembered", v[0])
		}
		for _, o := range w.Offerings {
			r.ec2.Restock(o)
		}
		time.Sleep(4 * time.Minute)
		r.accepted(model.Plan{ID: "p-3", NodeClaims: []model.NodeClaim{again}})
		r.reaches("c2", model.ClaimInitialized)
	})
}

func TestDisruptionIsRolledBackWhenItsReplacementFails(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.kube.run("c1", pod("web"))
		replacement := nodeClaim("c2", "c5.large")
		replacement.Disruption = "d1"
		r.kube.change(func() { r.kube.stuck = true })
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{replacement}, Disruptions: []model.Disruption{{
			ID: "d1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c1"}, Replacements: []model.ClaimID{"c2"},
		}}})
		r.until("c1 is tainted", time.Minute, func() bool { return r.hasTaint("c1") })
		r.reaches("c2", model.ClaimFailed)
		r.until("c1 is free again", time.Minute, func() bool { return !r.hasTaint("c1") && r.claim("c1").Disruption == "" })
		if code := r.claim("c2").Failure.Code; code != model.CodeRegistrationTimeout {
			r.t.Errorf("c2 failed with %d, want REGISTRATION_TIMEOUT", code)
		}
		if r.claim("c1").State != model.ClaimInitialized || len(r.kube.evictions()) != 0 || len(r.alive()) != 1 {
			r.t.Errorf("c1 was disturbed:\n%s", r.dump())
		}
		c, _ := r.store.Load(r.t.Context())
		if !c.Disruptions[0].RolledBack {
			r.t.Error("the disruption is not recorded as rolled back")
		}
	})
}

// TestANodeThatJoinedWhileNoneLedIsUsed: there was no leader to let it open, which its instance can't be blamed for.
func TestANodeThatJoinedWhileNoneLedIsUsed(t *testing.T) {
	leads(t, func(r *rig) {
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimLaunched)
		r.stop()
		time.Sleep(lifecycle.RegistrationTimeout + 5*time.Minute)
		if s, _ := r.kube.Observe(); len(s.Nodes) != 1 || r.claim("c1").State != model.ClaimLaunched {
			r.t.Fatalf("want a node that has joined and was not looked at:\n%s", r.dump())
		}
		r.start()
		r.reaches("c1", model.ClaimInitialized)
		r.launchedOnce()
	})
}

func (r *rig) hasTaint(id model.ClaimID) bool {
	s, _ := r.kube.Observe()
	for _, n := range s.Nodes {
		if n.Labels["kerf.dev/claim"] == string(id) {
			return slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == "karpenter.sh/disrupted" })
		}
	}
	return false
}

func interruption(at time.Time, instance string) string {
	return fmt.Sprintf(`{"version":"0","id":"e-%s","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2",
		"account":"1","time":%q,"region":"us-east-1","resources":[],"detail":{"instance-id":%q,"instance-action":"terminate"}}`,
		instance, at.UTC().Format(time.RFC3339), instance)
}

func TestSpotInterruptionIsDrainedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		budget, replaced bool
		most             time.Duration
		force            bool
	}{
		"with a replacement on its way the pods wait for it":           {replaced: true, most: 30 * time.Second},
		"without a plan they leave after a moment":                     {most: 15 * time.Second},
		"a budget that never allows is overridden just before the end": {budget: true, most: 116 * time.Second, force: true},
	} {
		t.Run(name, func(t *testing.T) {
			leads(t, func(r *rig) {
				r.grow("c1")
				r.kube.run("c1", pod("web"))
				r.kube.change(func() { r.kube.budget = c.budget })
				begun := time.Now()
				r.ec2.Send(`{"not":"an event"}`)
				r.ec2.Send(interruption(begun, r.claim("c1").InstanceID))
				r.reaches("c1", model.ClaimDraining)
				if c.replaced {
					w := nodeClaim("c2", "m5.large")
					w.Pods = []model.PodID{"default/web"}
					r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{w}})
					r.until("the pod is evicted", 2*time.Minute, func() bool { return len(r.kube.evictions()) > 0 })
					if s := r.claim("c2").State; s != model.ClaimInitialized {
						r.t.Errorf("the pod left while its replacement was %s", s)
					}
				}
				r.reaches("c1", model.ClaimGone)
				if d := r.claim("c1").StateTime.Sub(begun); d > c.most+5*time.Second {
					r.t.Errorf("gone after %s, want at most %s", d, c.most)
				}
				if want := fmt.Sprintf("web force=%v", c.force); r.kube.evictions()[0] != want {
					r.t.Errorf("evicted %v, want %s", r.kube.evictions(), want)
				}
				if messages, _ := r.ec2.Receive(r.t.Context()); len(messages) != 0 {
					r.t.Errorf("%d messages are still in the queue", len(messages))
				}
				r.launchedOnce()
			})
		})
	}
}

func TestInstanceThatGoesByItselfIsLost(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.ec2.Kill(r.claim("c1").InstanceID)
		r.reaches("c1", model.ClaimGone)
		if code := r.claim("c1").Failure.Code; code != model.CodeInstanceLost {
			r.t.Errorf("reason %d, want INSTANCE_LOST", code)
		}
		s, _ := r.kube.Observe()
		if len(s.Nodes) != 0 {
			r.t.Errorf("node is left: %v", s.Nodes)
		}
	})
}

func TestOrphansAreEndedButNotThoseOfALostStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		launch := func(claim string) {
			_, err := r.ec2.Launch(t.Context(), cloud.Request{
				Claim: model.ClaimID(claim), Token: claim, Offerings: nodeClaim(claim, "m5.large").Offerings,
				Class:  cloud.Class{Name: "default", Images: []cloud.Image{{ID: "ami-1"}}},
				Taints: []model.Taint{{Key: labels.TaintUnregistered, Effect: model.NoExecute}}, // as of all that Kerf launches
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		launch("of-a-lost-store")
		time.Sleep(time.Hour)
		r.start()
		r.until("the loop is ready", time.Minute, func() bool { _, err := r.loop.Inventory(t.Context()); return err == nil })
		launch("of-no-claim")
		r.until("the orphan is ended", 10*time.Minute, func() bool { return len(r.alive()) == 1 })
		time.Sleep(10 * time.Minute)
		if n := len(r.alive()); n != 1 {
			t.Errorf("%d instances are alive, want the one that is older than the store", n)
		}
	})
}

func TestFollowerSaysWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		term, err := r.store.Campaign(t.Context(), "other:7500")
		if err != nil {
			t.Fatal(err)
		}
		r.start()
		synctest.Wait()
		var follower *NotLeaderError
		if _, err := r.loop.Inventory(t.Context()); !errors.As(err, &follower) || follower.Leader != "other:7500" {
			t.Fatalf("error %v, want one that names other:7500", err)
		}
		if err := term.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.until("it leads", time.Minute, func() bool { _, err := r.loop.Inventory(t.Context()); return err == nil })
	})
}

func TestRevisionsGrowAcrossLeaders(t *testing.T) {
	leads(t, func(r *rig) {
		var last int64
		for range 3 {
			sub := r.subscribe("w", true)
			for range 2 {
				inv, driver, err := sub.Next(r.t.Context())
				if err != nil || !driver {
					r.t.Fatalf("driver %v, %v", driver, err)
				}
				if inv.Revision <= last {
					r.t.Fatalf("revision %d after %d", inv.Revision, last)
				}
				last = inv.Revision
				r.kube.Edit(func(s *cluster.State) { s.Classes[0].Spec.Generation++ }) // another spec is another inventory
			}
			r.store.Depose()
			for {
				if _, _, err := sub.Next(r.t.Context()); err != nil {
					break // told that it leads no longer
				}
			}
			sub.Close()
		}
	})
}

func (r *rig) subscribe(name string, drive bool) *Subscription {
	r.t.Helper()
	var sub *Subscription
	r.until(name+" subscribes", time.Minute, func() bool {
		s, err := r.loop.Subscribe(r.t.Context(), name, drive)
		sub = s
		return err == nil
	})
	return sub
}

func TestDriversTakeTurns(t *testing.T) {
	leads(t, func(r *rig) {
		watching, first, second := r.subscribe("tool", false), r.subscribe("first", true), r.subscribe("second", true)
		for sub, want := range map[*Subscription]bool{watching: false, first: true, second: false} {
			if _, driver, err := sub.Next(r.t.Context()); err != nil || driver != want {
				r.t.Fatalf("%s drives: %v, %v", sub.name, driver, err)
			}
		}
		first.Close()
		if _, driver, err := second.Next(r.t.Context()); err != nil || !driver {
			r.t.Fatalf("second drives: %v, %v", driver, err)
		}
	})
}

func TestReplayedPlanBuysNothing(t *testing.T) {
	leads(t, func(r *rig) {
		p := model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}}
		r.accepted(p)
		v := r.apply(p)
		if !v[0].Accepted || v[0].Reason.Code != model.CodeAlreadyAccepted {
			r.t.Errorf("verdict %+v, want ALREADY_ACCEPTED", v[0])
		}
		r.reaches("c1", model.ClaimInitialized)
		if n := len(r.alive()); n != 1 {
			r.t.Errorf("%d instances", n)
		}
	})
}

func TestLaunchWithoutAnAnswerIsNotRepeatedAsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failures := 3
		hook := r.ec2.OnLaunch
		r.ec2.OnLaunch = func(q cloud.Request) error {
			_ = hook(q)
			if failures--; failures >= 0 {
				return errors.New("connection reset")
			}
			return nil
		}
		r.start()
		r.grow("c1")
		if a := r.claim("c1").Attempt; a != 1 {
			t.Errorf("attempt %d, want the first one's token throughout", a)
		}
		r.launchedOnce()
	})
}

func TestClassThatSelectsNothingIsNotReadyAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) {
			s.Classes[0].Spec.SubnetTerms = []cloud.SelectorTerm{{Tags: model.Labels{{Key: "team", Value: "none"}}}}
		})
		r.start()
		v := r.apply(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		if v[0].Accepted || v[0].Reason.Code != model.CodeNodeClassNotReady {
			t.Errorf("verdict %+v, want NODE_CLASS_NOT_READY", v[0])
		}
		r.until("the pool says so", time.Minute, func() bool {
			r.kube.mu.Lock()
			defer r.kube.mu.Unlock()
			return r.kube.pubs["default"].NotReady.Code == model.CodeNodeClassNotReady
		})
		if n := r.ec2.Made() + len(r.ec2.Templates()); n != 0 {
			t.Errorf("%d instances and templates were made", n)
		}
	})
}

func TestDeletedClassIsReleasedOnceItsClaimsAreGone(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.kube.Edit(func(s *cluster.State) { s.Classes[0].Terminating = true })
		time.Sleep(time.Minute)
		if s, _ := r.kube.Observe(); len(s.Classes) != 1 {
			r.t.Fatal("the class was released under its claim")
		}
		if _, err := r.loop.Delete(r.t.Context(), "c1"); err != nil {
			r.t.Fatal(err)
		}
		r.reaches("c1", model.ClaimGone)
		r.until("the class is gone", 5*time.Minute, func() bool {
			s, _ := r.kube.Observe()
			return len(s.Classes) == 0
		})
	})
}

func TestPendingPodsAreToldWhy(t *testing.T) {
	leads(t, func(r *rig) {
		r.accepted(model.Plan{ID: "p-0"})
		_, err := r.loop.Apply(r.t.Context(), model.Plan{
			ID: "p-1", InventoryRevision: 1, Now: time.Now(),
			Placements: []model.Placement{{Pod: "default/soon", Node: "n1", WaitUntil: time.Now().Add(30 * time.Second)}},
		}, []Pending{{
			Pod: "default/huge", Reason: model.Reason{Code: 8, Message: "m5.xlarge comes nearest: 96 cpu asked, 3.9 there", Remedy: "allow a larger type"},
		}}, false)
		if err != nil {
			r.t.Fatal(err)
		}
		r.until("the pod has its event", time.Minute, func() bool {
			return slices.ContainsFunc(r.kube.Events("Pod", "huge"), func(e clustertest.Event) bool {
				return e.Namespace == "default" && e.Warning && e.Reason == "FailedScheduling" &&
					e.Message == "m5.xlarge comes nearest: 96 cpu asked, 3.9 there; allow a larger type"
			})
		})
		r.until("the pod that waits has its event", time.Minute, func() bool {
			return slices.ContainsFunc(r.kube.Events("Pod", "soon"), func(e clustertest.Event) bool { return !e.Warning && e.Reason == "Nominated" })
		})
	})
}
