package loop

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/model"
)

// lose lets the process find a store in which there is nothing but when it was first used.
func (r *rig) lose(born time.Time) {
	r.t.Helper()
	r.stop()
	r.store = storetest.New()
	term, err := r.store.Campaign(r.t.Context(), "first")
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.store.Commit(r.t.Context(), term.Fence, store.Batch{Born: born}); err != nil {
		r.t.Fatal(err)
	}
	if err := term.Resign(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.start()
}

// TestClaimsThatTheStoreHasLostAreTakenUpAgain is about an etcd that is made anew, and one that an old backup was
// restored to.
func TestClaimsThatTheStoreHasLostAreTakenUpAgain(t *testing.T) {
	for name, age := range map[string]time.Duration{"a new store": 0, "an old backup": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			leads(t, func(r *rig) {
				r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large"), nodeClaim("c2", "m5.large")}})
				r.reaches("c1", model.ClaimInitialized)
				r.reaches("c2", model.ClaimInitialized)
				time.Sleep(10 * time.Minute) // what is stored is shown
				// The disruption waits for its replacement, whose instance runs and is no node yet.
				replacement := nodeClaim("c3", "c5.large")
				replacement.Disruption, replacement.Pods = "d-1", nil
				r.kube.run("c2", pod("web"))
				r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{replacement}, Disruptions: []model.Disruption{
					{ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"c2"}, Replacements: []model.ClaimID{"c3"}},
				}})
				r.reaches("c3", model.ClaimLaunched)
				if c := r.claim("c2"); c.Disruption == "" || c.State != model.ClaimInitialized {
					r.t.Fatalf("c2 is %s, of disruption %q", c.State, c.Disruption)
				}
				r.until("EC2 shows all three", time.Minute, func() bool { return len(r.alive()) == 3 })
				before, alive := r.claim("c1"), r.alive()

				r.lose(time.Now().Add(-age))
				r.reaches("c1", model.ClaimInitialized)
				r.reaches("c3", model.ClaimInitialized)
				r.until("c2 is taken up again, and stays", time.Minute, func() bool {
					c := r.claim("c2")
					return c.State == model.ClaimInitialized && c.Disruption == ""
				})
				time.Sleep(20 * time.Minute)
				if d := cmp.Diff(alive, r.alive()); d != "" {
					r.t.Errorf("instances (-before +after the loss):\n%s", d)
				}
				s, _ := r.kube.Observe()
				if len(s.Nodes) != 3 || slices.ContainsFunc(s.Nodes, (*cluster.Node).Leaving) {
					r.t.Errorf("nodes %+v, want all three to stay", s.Nodes)
				}
				unsaid := cmpopts.IgnoreFields(model.Claim{}, "Offerings", "Pods", "PlanID", "Traceparent", "Fence", "Launch", "LaunchSize", "StateTime", "Labels", "Annotations")
				second := cmpopts.EquateApproxTime(time.Minute)
				if d := cmp.Diff(before, r.claim("c1"), unsaid, second, cmpopts.EquateEmpty()); d != "" {
					r.t.Errorf("c1 (-before +after the loss):\n%s", d)
				}
			})
		})
	}
}

func TestWhatIsLeftOfALostClaimWithoutInstanceIsRemoved(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.until("it has an object", time.Minute, func() bool { return r.kube.has("c1") })
		r.stop()
		r.ec2.Kill(r.claim("c1").InstanceID)
		time.Sleep(2 * time.Hour) // EC2 forgets it
		r.kube.Edit(func(s *cluster.State) { s.Nodes = nil })
		r.lose(time.Now())
		r.until("the object is removed", 10*time.Minute, func() bool { return !r.kube.has("c1") })
	})
}

// TestANodeThatItsUserDeletesIsDrainedThoughTheStoreHasLostItsClaim: AWS takes a while to say what a leader has to know
// before it takes the claim up again.
func TestANodeThatItsUserDeletesIsDrainedThoughTheStoreHasLostItsClaim(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.kube.run("c1", pod("web"))
		r.kube.change(func() { r.kube.budget = true })
		time.Sleep(10 * time.Minute) // what is stored is shown
		r.kube.Delete("Node", string(r.claim("c1").Node))
		r.reaches("c1", model.ClaimDraining)
		r.cfg = func(c *Config) { c.Classes = slowClasses{c.Classes} }
		r.lose(time.Now().Add(-24 * time.Hour))
		time.Sleep(time.Minute)
		if s, _ := r.kube.Observe(); len(s.Nodes) != 1 || len(s.Nodes[0].Pods) != 1 {
			r.t.Fatalf("its node is gone while a pod is on it that no budget lets go:\n%s", r.dump())
		}
		r.kube.change(func() { r.kube.budget = false })
		r.reaches("c1", model.ClaimGone)
		if got := slices.Compact(r.kube.evictions()); !slices.Contains(got, "web force=false") {
			r.t.Errorf("evicted %v, want web", got)
		}
	})
}

// withoutClaims is a cluster in which no NodeClaims can be written, as where a webhook refuses them.
type withoutClaims struct{ cluster.Cluster }

func (w withoutClaims) Publish(ctx context.Context, p cluster.Publication) error {
	p.Claims = nil
	return w.Cluster.Publish(ctx, p) //nolint:wrapcheck // the fake's own
}

// TestANodeIsReasonEnoughToKeepAnInstanceThatTheStoreHasLost has a backup that is older than the claim: by the store's age
// alone its instance would be one that no one has asked for.
func TestANodeIsReasonEnoughToKeepAnInstanceThatTheStoreHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.passedOver = nil; c.Kube = withoutClaims{c.Kube} }
		r.start()
		r.grow("c1")
		r.kube.run("c1", pod("web"))
		before := r.alive()
		r.lose(time.Now().Add(-24 * time.Hour))
		time.Sleep(30 * time.Minute)
		if d := cmp.Diff(before, r.alive()); d != "" || len(r.kube.evictions()) > 0 {
			t.Errorf("instances (-before +after):\n%s\nevictions: %v", d, r.kube.evictions())
		}
		node, _ := r.kube.Observe()
		r.kube.Delete("Node", string(node.Nodes[0].Name)) // by who wants it gone
		r.until("its instance is ended once its node is gone", 10*time.Minute, func() bool { return len(r.alive()) == 0 })
	})
}

// withoutTags is an EC2 that writes no tags after a launch, as without the right to.
type withoutTags struct{ cloud.Cloud }

func (withoutTags) Tag(context.Context, cloud.Instance) error { return cloud.ErrUnauthorized }

// TestAnInstanceWithoutATagIsItsNodeClaims is about launches of several, whose instances get their claims' tags later.
func TestAnInstanceWithoutATagIsItsNodeClaims(t *testing.T) {
	for name, age := range map[string]time.Duration{"a new store": 0, "an old backup": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.passedOver = nil; c.Cloud = withoutTags{c.Cloud} }
				r.start()
				r.grow("c1", "c2")
				r.kube.run("c1", pod("web"))
				time.Sleep(10 * time.Minute) // what is stored is shown
				before, c1, c2 := r.alive(), r.claim("c1").InstanceID, r.claim("c2").InstanceID
				r.lose(time.Now().Add(-age))
				r.reaches("c1", model.ClaimInitialized)
				r.reaches("c2", model.ClaimInitialized)
				time.Sleep(30 * time.Minute)
				if r.claim("c1").InstanceID != c1 || r.claim("c2").InstanceID != c2 || r.claim("c1").State != model.ClaimInitialized {
					t.Errorf("c1 has %s, c2 has %s, want %s and %s", r.claim("c1").InstanceID, r.claim("c2").InstanceID, c1, c2)
				}
				if d := cmp.Diff(before, r.alive()); d != "" || len(r.kube.evictions()) > 0 {
					t.Errorf("instances (-before +after):\n%s\nevictions: %v", d, r.kube.evictions())
				}
				r.kube.Delete("Node", string(r.claim("c2").Node))
				r.reaches("c2", model.ClaimGone)
			})
		})
	}
}
