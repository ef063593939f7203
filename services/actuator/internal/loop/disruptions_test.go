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
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// removal is a plan that removes claims and asks for replacements of the type.
func removal(id string, why model.DisruptionReason, candidates []model.ClaimID, types ...string) model.Plan {
	p := model.Plan{ID: model.PlanID("p-" + id), Disruptions: []model.Disruption{{ID: model.DisruptionID(id), Reason: why, Candidates: candidates}}}
	for i, name := range types {
		w := nodeClaim(fmt.Sprintf("%s-r%d", id, i), name)
		w.Disruption, w.Pods = model.DisruptionID(id), nil
		p.NodeClaims = append(p.NodeClaims, w)
		p.Disruptions[0].Replacements = append(p.Disruptions[0].Replacements, w.ID)
	}
	return p
}

// grow buys nodes and waits until they are Initialized.
func (r *rig) grow(ids ...model.ClaimID) {
	r.t.Helper()
	p := model.Plan{ID: model.PlanID("p-" + string(ids[0]))}
	for _, id := range ids {
		p.NodeClaims = append(p.NodeClaims, nodeClaim(string(id), "m5.large"))
	}
	r.accepted(p)
	for _, id := range ids {
		r.reaches(id, model.ClaimInitialized)
	}
}

func (r *rig) rejected(p model.Plan, want model.Code) {
	r.t.Helper()
	for _, v := range r.apply(p) {
		if v.Accepted {
			r.t.Fatalf("decision %s was accepted\n%s", v.Decision, r.dump())
		}
		if v.Decision == string(p.Disruptions[0].ID) && v.Reason.Code != want {
			r.t.Fatalf("decision %s rejected for %+v, want %d", v.Decision, v.Reason, want)
		}
	}
}

// hasEvent says whether an event of the reason, with the words, is on the object.
func (r *rig) hasEvent(kind, name, reason, words string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s %s has the event %s with %q", kind, name, reason, words), time.Minute, func() bool {
		for _, e := range r.kube.Events(kind, name) {
			if e.Reason == reason && strings.Contains(e.Message, words) {
				return true
			}
		}
		return false
	})
}

func (r *rig) record(id string) model.DisruptionRecord {
	c, _ := r.store.Load(r.t.Context())
	for _, d := range c.Disruptions {
		if string(d.ID) == id {
			return d
		}
	}
	return model.DisruptionRecord{}
}

func TestUnhealthyNodeGoesAtOnceWhateverProtectsIt(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1", "c2")
		kept := pod("kept")
		kept.DoNotDisrupt, kept.GracePeriod = true, time.Hour
		r.kube.run("c1", kept)
		r.kube.Edit(func(s *cluster.State) { s.Pools[0].Budgets = []model.DisruptionBudget{{}} })
		r.kube.change(func() { r.kube.budget, r.kube.stuck = true, true })
		r.kube.silence("c1", true)
		r.rejected(removal("d1", model.ReasonUnhealthy, []model.ClaimID{"c1"}), model.CodeInvalid)
		time.Sleep(30 * time.Minute)
		begun := time.Now()
		dead := removal("d2", model.ReasonUnhealthy, []model.ClaimID{"c1"}, "m5.large")
		dead.Disruptions[0].Explanation.Message = "its kubelet is silent"
		r.accepted(dead)
		r.reaches("c1", model.ClaimGone)
		if took := time.Since(begun); took > 3*time.Minute {
			r.t.Errorf("gone after %s", took)
		}
		if got := slices.Compact(r.kube.evictions()); !slices.Equal(got, []string{"kept force=true"}) {
			r.t.Errorf("evicted %v, want kept by force", got)
		}
		if c := r.claim("c1"); c.DisruptionReason != model.ReasonUnhealthy {
			r.t.Errorf("gone as %s", c.DisruptionReason)
		}
		if d := r.record("d2"); d.RolledBack || d.EndTime.IsZero() {
			r.t.Errorf("%+v, want that it has ended though its replacement never came up", d)
		}
		r.hasEvent("NodeClaim", "c1", "Disrupted", "Unhealthy: its kubelet is silent")
	})
}

func TestNodeThatJoinsAndNeverComesUpIsGivenUp(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"after half an hour": 0, "after as long as is asked for": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.InitializationTimeout = timeout }
				r.kube.change(func() { r.kube.neverReady = true })
				r.start()
				r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
				r.reaches("c1", model.ClaimRegistered)
				want := max(timeout, 30*time.Minute)
				time.Sleep(want - time.Minute)
				if s := r.claim("c1").State; s != model.ClaimRegistered {
					t.Fatalf("%s too early", s)
				}
				time.Sleep(2 * time.Minute)
				r.until("the claim has failed", 5*time.Minute, func() bool { return r.claim("c1").State == model.ClaimFailed })
				if why := r.claim("c1").Failure; why.Code != model.CodeNotInitialized || !strings.Contains(why.Message, "it is not ready") {
					t.Errorf("failed for %+v", why)
				}
				if s, _ := r.kube.Observe(); len(s.Nodes)+len(r.alive()) != 0 {
					t.Errorf("something is left:\n%s", r.dump())
				}
				r.hasEvent("NodeClaim", "c1", "NotInitialized", "did not become Initialized")
			})
		})
	}
}

// newImage makes the class boot something else from the next look at AWS on.
func (r *rig) newImage() {
	r.t.Helper()
	r.ec2.Publish("ami-2026")
	r.until("every claim has drifted", 10*time.Minute, func() bool {
		c, _ := r.store.Load(r.t.Context())
		return !slices.ContainsFunc(c.Claims, func(c model.Claim) bool {
			return c.State == model.ClaimInitialized && !strings.HasPrefix(c.Drifted.Message, "AMIDrift: ")
		})
	})
}

func TestNewImageGoesByCanary(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1", "c2", "c3")
		r.rejected(removal("d0", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"), model.CodeInvalid)
		r.newImage()
		r.rejected(removal("d1", model.ReasonDrifted, []model.ClaimID{"c1", "c2"}, "m5.large", "m5.large"), model.CodeCanary)
		r.accepted(removal("d2", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"))
		r.rejected(removal("d3", model.ReasonDrifted, []model.ClaimID{"c2"}, "m5.large"), model.CodeCanary)
		r.reaches("d2-r0", model.ClaimInitialized)
		r.until("the canary is ready", time.Minute, func() bool { return r.claim("d2-r0").Drifted == model.Reason{} })
		r.accepted(removal("d4", model.ReasonDrifted, []model.ClaimID{"c2", "c3"}, "m5.large", "m5.large"))
		r.reaches("c1", model.ClaimGone)
		r.reaches("c2", model.ClaimGone)
		r.reaches("c3", model.ClaimGone)
		r.launchedOnce()
	})
}

func TestDriftIsHeldWhenTheCanaryDies(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1", "c2")
		r.newImage()
		r.kube.change(func() { r.kube.neverReady = true })
		r.accepted(removal("d1", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"))
		r.until("d1 is rolled back", time.Hour, func() bool { return r.record("d1").RolledBack })
		r.hasEvent("NodePool", "default", "DriftPaused", "1 failure in a row")
		r.hasEvent("NodeClaim", "c1", "DisruptionRolledBack", "it is not ready")
		r.rejected(removal("d2", model.ReasonDrifted, []model.ClaimID{"c2"}, "m5.large"), model.CodeCanary)
		if len(r.kube.evictions()) != 0 || r.hasTaint("c2") || r.claim("c1").State != model.ClaimInitialized {
			r.t.Errorf("a node was disturbed:\n%s", r.dump())
		}
		time.Sleep(15 * time.Minute)
		r.accepted(removal("d3", model.ReasonDrifted, []model.ClaimID{"c2"}, "m5.large"))
		r.until("d3 is rolled back", time.Hour, func() bool { return r.record("d3").RolledBack })
		r.hasEvent("NodePool", "default", "DriftPaused", "2 failures in a row")
		time.Sleep(16 * time.Minute)
		r.rejected(removal("d4", model.ReasonDrifted, []model.ClaimID{"c2"}, "m5.large"), model.CodeCanary)
		r.kube.change(func() { r.kube.neverReady = false })
		time.Sleep(15 * time.Minute)
		r.accepted(removal("d5", model.ReasonDrifted, []model.ClaimID{"c2"}, "m5.large"))
		r.reaches("c2", model.ClaimGone)
	})
}

func TestNewLeaderDoesNotForgetWhatHasDrifted(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.newImage()
		r.stop()
		r.start()
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if r.claim("c1").Drifted == (model.Reason{}) {
				r.t.Fatal("the drift was cleared by one who does not know the class yet")
			}
		}
		r.ec2.Publish("ami")
		r.until("the old image is the present one again", 10*time.Minute, func() bool { return r.claim("c1").Drifted == model.Reason{} })
	})
}

// TestNodesDoNotDriftFromWhatALeaderRecalls: what is kept for the next leader can be older than the newest image.
func TestNodesDoNotDriftFromWhatALeaderRecalls(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.until("what the class selects is kept", 10*time.Minute, func() bool {
			r.recalled, _ = r.store.Recall(r.t.Context(), "market")
			return r.recalled != nil
		})
		r.newImage()
		r.accepted(removal("d1", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"))
		r.reaches("c1", model.ClaimGone)
		r.stop()
		r.cfg = func(c *Config) { c.Classes = slowClasses{c.Classes} }
		r.start()
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if why := r.claim("d1-r0").Drifted; !why.OK() {
				r.t.Fatalf("a node of the newest image has drifted: %s", why.Message)
			}
		}
	})
}

// slowClasses has AWS take its time.
type slowClasses struct{ cloud.Classes }

func (s slowClasses) Resolve(ctx context.Context, spec cloud.ClassSpec) (cloud.Class, error) {
	time.Sleep(5 * time.Second)
	return s.Classes.Resolve(ctx, spec)
}

func TestDriftThatNoLongerHoldsIsCleared(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		drifts := func(word string) {
			r.t.Helper()
			r.until("c1's drift is "+word, 10*time.Minute, func() bool {
				got, _, _ := strings.Cut(r.claim("c1").Drifted.Message, ":")
				return got == word
			})
		}
		requires := func(s *cluster.State, types ...string) {
			s.Pools[0].Requirements = []model.Requirement{{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: types}}
		}
		for _, step := range []struct {
			edit func(*cluster.State)
			word string
		}{
			{func(s *cluster.State) { s.Pools[0].Hash = "pool-2" }, "NodePoolDrifted"},
			{func(s *cluster.State) { s.Pools[0].Hash = "pool-1" }, ""},
			{func(s *cluster.State) { s.Pools[0].Hash = "kerf2-pool" }, ""},
			{func(s *cluster.State) { s.Pools[0].Hash = "kerf2-other" }, "NodePoolDrifted"},
			{func(s *cluster.State) { s.Pools[0].Hash = "kerf2-pool"; requires(s, "c5.large") }, "RequirementsDrifted"},
			{func(s *cluster.State) { requires(s, "c5.large", "m5.large") }, ""},
			{func(s *cluster.State) { s.Classes[0].Spec.Hash = "class-2" }, "NodeClassDrifted"},
			{func(s *cluster.State) { s.Classes[0].Spec.Hash = "class-1" }, ""},
		} {
			r.kube.Edit(step.edit)
			time.Sleep(time.Minute)
			drifts(step.word)
		}
		o := r.kube.Read("NodeClaim", "", "c1")
		if fmt.Sprint(o.Object["status"]) == "" || strings.Contains(fmt.Sprint(o.Object["status"]), "Drifted") {
			r.t.Errorf("its object still says so: %v", o.Object["status"])
		}
	})
}

func TestReplacementThatGoesSilentIsWaitedForAndThenGivenUp(t *testing.T) {
	for name, heals := range map[string]bool{"it comes back": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.WaitForDaemonPods = true }
				r.start()
				r.grow("c1")
				r.kube.run("c1", pod("web"))
				p := removal("d1", model.ReasonUnderutilized, []model.ClaimID{"c1"}, "c5.large")
				r.accepted(p)
				r.until("the replacement has joined", time.Minute, func() bool { return r.claim("d1-r0").State >= model.ClaimRegistered })
				slow := pod("cni")
				slow.Daemon = true
				r.kube.run("d1-r0", slow)
				r.reaches("d1-r0", model.ClaimInitialized)
				time.Sleep(time.Minute)
				r.kube.silence("d1-r0", true)
				time.Sleep(time.Minute)
				r.kube.Edit(func(s *cluster.State) {
					for i := range s.Nodes {
						for j := range s.Nodes[i].Pods {
							s.Nodes[i].Pods[j].Ready = true
						}
					}
				})
				time.Sleep(time.Minute)
				if n := len(r.kube.evictions()); n != 0 {
					t.Fatalf("%d evictions before pods can go anywhere", n)
				}
				if heals {
					r.kube.silence("d1-r0", false)
					r.reaches("c1", model.ClaimGone)
					return
				}
				r.until("d1 is rolled back", time.Hour, func() bool { return r.record("d1").RolledBack })
				r.hasEvent("NodeClaim", "c1", "DisruptionRolledBack", "its node is not ready any more")
				r.until("c1 is free again", time.Minute, func() bool { return !r.hasTaint("c1") })
				if len(r.kube.evictions()) != 0 || r.claim("c1").State != model.ClaimInitialized {
					t.Errorf("c1 was disturbed:\n%s", r.dump())
				}
			})
		})
	}
}

func TestDaemonPodsAreNotWaitedForUnlessAskedTo(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.accepted(removal("d1", model.ReasonUnderutilized, []model.ClaimID{"c1"}, "c5.large"))
		r.until("the replacement has joined", time.Minute, func() bool { return r.claim("d1-r0").State >= model.ClaimRegistered })
		slow := pod("cni")
		slow.Daemon = true
		r.kube.run("d1-r0", slow)
		r.reaches("c1", model.ClaimGone)
	})
}

// A node without pods to move is tainted and drained at once: the label of the drain must not be lost to the pause
// after the taint.
func TestLoadBalancersAreToldOfEveryDrain(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		agent := pod("agent")
		agent.Daemon = true
		r.kube.run("c1", agent)
		r.accepted(removal("d1", model.ReasonEmpty, []model.ClaimID{"c1"}))
		r.until("the agent is evicted", time.Minute, func() bool { return len(r.kube.evictions()) > 0 })
		s, err := r.kube.Observe()
		if err != nil || len(s.Nodes) != 1 || s.Nodes[0].Labels[labels.ExcludeBalancers] == "" {
			r.t.Errorf("pods leave, and load balancers do not know (%v)\n%s", err, r.dump())
		}
		r.reaches("c1", model.ClaimGone)
	})
}

func TestReplacementWithoutItsPodsYetIsNoEmptyNode(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		kept := pod("web")
		kept.GracePeriod = 10 * time.Minute
		r.kube.run("c1", kept)
		r.kube.change(func() { r.kube.budget = true })
		r.accepted(removal("d1", model.ReasonUnderutilized, []model.ClaimID{"c1"}, "c5.large"))
		r.reaches("d1-r0", model.ClaimInitialized)
		r.rejected(removal("d2", model.ReasonEmpty, []model.ClaimID{"d1-r0"}), model.CodeAlreadyDisrupted)
		r.kube.change(func() { r.kube.budget = false })
		r.reaches("c1", model.ClaimGone)
		r.until("d1 has ended", time.Minute, func() bool { return !r.record("d1").EndTime.IsZero() })
		r.accepted(removal("d3", model.ReasonEmpty, []model.ClaimID{"d1-r0"}))
		r.reaches("d1-r0", model.ClaimGone)
	})
}

// TestABudgetOfNoneStopsWhatHasNotBegun: a user who stops disruptions stops those, too, whose replacements are on their
// way, and drift is not held for it.
func TestABudgetOfNoneStopsWhatHasNotBegun(t *testing.T) {
	leads(t, func(r *rig) {
		budget := func(b ...model.DisruptionBudget) {
			r.kube.Edit(func(s *cluster.State) { s.Pools[0].Budgets = b })
		}
		r.grow("c1", "c2")
		r.newImage()
		r.accepted(removal("d1", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"))
		r.reaches("d1-r0", model.ClaimLaunched)
		budget(model.DisruptionBudget{Count: 50, IsPercent: true}, model.DisruptionBudget{Reasons: []model.DisruptionReason{model.ReasonDrifted}})
		r.until("d1 is rolled back", 2*time.Second, func() bool { return r.record("d1").RolledBack })
		r.hasEvent("NodeClaim", "c1", "DisruptionRolledBack", "a disruption budget of node pool default lets none of its nodes go now")
		r.until("c1 is open again", time.Minute, func() bool { return !r.hasTaint("c1") })
		r.reaches("d1-r0", model.ClaimInitialized)
		if c := r.claim("c1"); c.State != model.ClaimInitialized || len(r.kube.Events("NodePool", "default")) > 0 {
			r.t.Errorf("c1 is %s, the pool has the events %+v", c.State, r.kube.Events("NodePool", "default"))
		}
		budget(model.DisruptionBudget{Count: 1})
		r.accepted(removal("d2", model.ReasonDrifted, []model.ClaimID{"c1"}))
		r.reaches("c1", model.ClaimGone)
	})
}

func TestExpiryInTwoSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) {
			s.Pools[0].ExpireAfter, s.Pools[0].TerminationGracePeriod = new(time.Hour), new(10*time.Minute)
			s.Pools[0].Budgets = []model.DisruptionBudget{{}}
		})
		r.start()
		r.grow("c1")
		kept := pod("kept")
		kept.DoNotDisrupt, kept.GracePeriod = true, time.Second
		r.kube.run("c1", kept)
		r.rejected(removal("d1", model.ReasonExpired, []model.ClaimID{"c1"}, "m5.large"), model.CodeInvalid)
		time.Sleep(57 * time.Minute)
		r.rejected(removal("d2", model.ReasonExpired, []model.ClaimID{"c1"}, "m5.large"), model.CodePodDoNotDisrupt)
		r.kube.Edit(func(s *cluster.State) { s.Nodes[0].Pods[0].DoNotDisrupt = false })
		time.Sleep(time.Second)
		r.rejected(removal("d3", model.ReasonExpired, []model.ClaimID{"c1"}, "m5.large"), model.CodeBudget)
		r.kube.Edit(func(s *cluster.State) { s.Nodes[0].Pods[0].DoNotDisrupt = true })
		time.Sleep(3 * time.Minute)
		begun := time.Now()
		r.accepted(removal("d4", model.ReasonExpired, []model.ClaimID{"c1"}, "m5.large"))
		r.reaches("d4-r0", model.ClaimInitialized)
		r.reaches("c1", model.ClaimGone)
		if took := time.Since(begun); took < 9*time.Minute || took > 12*time.Minute {
			t.Errorf("gone after %s, want what the grace period allows", took)
		}
	})
}

func TestSoftExpiryLetsGoOfANodeThatIsNeededAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) {
			s.Pools[0].ExpireAfter, s.Pools[0].TerminationGracePeriod = new(time.Hour), new(time.Minute)
		})
		r.start()
		r.grow("c1")
		time.Sleep(57 * time.Minute)
		r.kube.change(func() { r.kube.stuck = true })
		r.accepted(removal("d1", model.ReasonExpired, []model.ClaimID{"c1"}, "m5.large"))
		kept := pod("kept")
		kept.DoNotDisrupt = true
		r.kube.run("c1", kept)
		r.until("d1 is rolled back", time.Minute, func() bool { return r.record("d1").RolledBack })
		r.hasEvent("NodeClaim", "c1", "DisruptionRolledBack", "pod default/kept has come")
	})
}

// impatient makes the unhappy story shorter.
func impatient(c *Config) {
	c.InitializationTimeout = time.Minute
	c.Repair.Conditions = []model.RepairCondition{{Type: "Ready", Status: "Unknown", After: 2 * time.Minute}}
}

// unhappy is a story of what goes wrong: a canary dies, an unhealthy node goes, and the next canary lives.
func (r *rig) unhappy() {
	r.t.Helper()
	r.grow("c1", "c2")
	r.kube.run("c1", pod("web"))
	r.newImage()
	r.kube.change(func() { r.kube.neverReady = true })
	r.accepted(removal("d1", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"))
	r.until("d1 is rolled back", time.Hour, func() bool { return r.record("d1").RolledBack })
	r.kube.change(func() { r.kube.neverReady = false })
	r.until("the canary is gone", time.Hour, func() bool { return r.claim("d1-r0").State == model.ClaimFailed })
	r.kube.silence("c2", true)
	time.Sleep(15 * time.Minute)
	r.accepted(removal("d2", model.ReasonUnhealthy, []model.ClaimID{"c2"}))
	r.reaches("c2", model.ClaimGone)
	r.accepted(removal("d3", model.ReasonDrifted, []model.ClaimID{"c1"}, "m5.large"))
	r.reaches("c1", model.ClaimGone)
	r.reaches("d3-r0", model.ClaimInitialized)
	r.until("all disruptions have ended", time.Minute, func() bool {
		return !r.record("d1").EndTime.IsZero() && !r.record("d2").EndTime.IsZero() && !r.record("d3").EndTime.IsZero()
	})
	if n := len(r.alive()); n != 1 {
		r.t.Errorf("%d instances are left, want one\n%s", n, r.dump())
	}
	r.launchedOnce()
}

// TestCrashAnywhereInTheUnhappyStory ends the process at calls all over a story of failures, before one and after the
// next, and wants the same end each time.
func TestCrashAnywhereInTheUnhappyStory(t *testing.T) {
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = impatient
		r.start()
		r.unhappy()
		calls = r.crash.calls
	})
	if calls < 40 {
		t.Fatalf("the story makes only %d calls: it tests little", calls)
	}
	const most = 24 // stories: each takes its time
	for n, at := 0, 0; at < calls; n, at = n+1, at+calls/most+1 {
		t.Run(fmt.Sprintf("call %d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.crash, r.cfg = &crash{at: at, after: n%2 == 0}, impatient
				r.start()
				r.unhappy()
			})
		})
	}
}
