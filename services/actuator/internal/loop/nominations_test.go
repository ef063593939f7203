package loop

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// nominates starts a loop that nominates, with pods that wait for nodes. They have a host port, so that they are the
// scheduler's to bind.
func nominates(t *testing.T, pods ...string) *rig {
	t.Helper()
	return withPods(t, "containers: [{name: main, ports: [{containerPort: 80, hostPort: 80}]}]", pods...)
}

func withPods(t *testing.T, spec string, pods ...string) *rig {
	t.Helper()
	r := newRig(t)
	r.cfg = func(c *Config) { c.Nominator, c.Unbound = r.kube, r.kube.Unbound }
	for _, name := range pods {
		manifest := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: default}\nspec: {%s}", name, spec)
		if err := r.kube.Apply(manifest); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	return r
}

func (r *rig) nominated(pod string) model.NodeName {
	p, _ := r.kube.Unbound(model.PodID("default/" + pod))
	return p.Nominated
}

// claimFor is a plan that buys one node for pods.
func claimFor(id string, pods ...model.PodID) model.Plan {
	c := nodeClaim(id, "m5.large")
	c.Pods, c.Requests = pods, model.Amounts{{Resource: model.CPU, Value: 1000}}
	p := model.Plan{ID: model.PlanID("p-" + id), NodeClaims: []model.NodeClaim{c}}
	for _, pod := range pods {
		p.Placements = append(p.Placements, model.Placement{Pod: pod, Claim: c.ID})
	}
	return p
}

func TestPodsAreBoundBeforeTheirNodeOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withPods(t, "containers: [{name: main, resources: {requests: {cpu: 100m}}}]", "a", "b", "c")
		r.kube.OnNominate = func(_ context.Context, n cluster.Nomination) error {
			t.Errorf("pod %s is nominated", n.Pod.ID)
			return nil
		}
		r.kube.Preempt("default/c", "elsewhere")
		r.accepted(claimFor("c1", "default/a", "default/b", "default/c"))
		r.until("pods are bound", time.Minute, func() bool {
			s, err := r.kube.Observe()
			return err == nil && len(s.Nodes) == 1 && len(s.Nodes[0].Pods) == 2 && s.Nodes[0].Open()
		})
		if _, unbound := r.kube.Unbound("default/c"); !unbound {
			t.Error("the pod that preemption has nominated is bound")
		}
	})
}

// An API server that writes 50 nominations a second is asked for no more than it can do in time, however many nodes
// join at once.
func TestNodesThatJoinAtOnceTakeTurns(t *testing.T) {
	const nodes = 60
	synctest.Test(t, func(t *testing.T) {
		var pods []string
		plan := model.Plan{ID: "p"}
		for i := range nodes {
			a, b := fmt.Sprintf("a%02d", i), fmt.Sprintf("b%02d", i)
			one := claimFor(fmt.Sprintf("c%02d", i), model.PodID("default/"+a), model.PodID("default/"+b))
			pods = append(pods, a, b)
			plan.NodeClaims, plan.Placements = append(plan.NodeClaims, one.NodeClaims...), append(plan.Placements, one.Placements...)
		}
		r := nominates(t, pods...)
		server := make(chan struct{}, 1)
		r.kube.OnNominate = func(ctx context.Context, n cluster.Nomination) error {
			select {
			case server <- struct{}{}:
				defer func() { <-server }()
			case <-ctx.Done():
				t.Errorf("the nomination of %s is late", n.Pod.ID)
				return ctx.Err()
			}
			time.Sleep(20 * time.Millisecond)
			return nil
		}
		r.accepted(plan)
		r.until("all nodes are open", 10*time.Minute, func() bool {
			s, err := r.kube.Observe()
			return err == nil && len(s.Nodes) == nodes && !slices.ContainsFunc(s.Nodes, func(n *cluster.Node) bool { return !n.Open() })
		})
		for _, p := range pods {
			if r.nominated(p) == "" {
				t.Errorf("pod %s is not nominated, and its node is open", p)
			}
		}
	})
}

// spreading are pods of which no domain may have more than one before there are two domains.
const spreading = `topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
  labelSelector: {matchExpressions: [{key: none, operator: DoesNotExist}]}}], containers: [{name: main}]`

// zonal is a plan that buys one node of a zone for pods.
func zonal(id, zone string, pods ...model.PodID) model.Plan {
	p := claimFor(id, pods...)
	p.NodeClaims[0].Offerings = slices.DeleteFunc(p.NodeClaims[0].Offerings, func(o model.RankedOffering) bool { return o.Zone != zone })
	return p
}

func TestPodsThatSpreadWaitForTheOtherZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withPods(t, spreading, "a1", "a2", "b1", "b2")
		r.kube.OnNominate = func(_ context.Context, n cluster.Nomination) error {
			t.Errorf("pod %s is nominated", n.Pod.ID)
			return nil
		}
		both := zonal("c1", "us-east-1a", "default/a1", "default/a2")
		other := zonal("c2", "us-east-1b", "default/b1", "default/b2")
		both.NodeClaims, both.Placements = append(both.NodeClaims, other.NodeClaims...), append(both.Placements, other.Placements...)
		r.kube.change(func() { r.kube.late = map[model.ClaimID]time.Time{"c2": time.Now().Add(6 * time.Second)} })
		r.accepted(both)
		r.until("a pod of the first zone is bound", time.Minute, func() bool { return r.pods("c1") == 1 })
		if n := r.node("c1"); n.Open() || r.claim("c2").Node != "" {
			t.Errorf("the first node is open: %v, and the second is there: %q", n.Open(), r.claim("c2").Node)
		}
		r.until("all are bound, and the nodes open", time.Minute, func() bool {
			return r.pods("c1") == 2 && r.pods("c2") == 2 && r.node("c1").Open() && r.node("c2").Open()
		})
	})
}

func TestPodsThatSpreadKeepNoNodeClosedForLong(t *testing.T) {
	for name, c := range map[string]struct {
		comes bool
		most  time.Duration
	}{
		"another zone is to come":  {true, 10*time.Second + 500*time.Millisecond},
		"no other node is to come": {false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := withPods(t, spreading, "a1", "a2", "b1")
				plan := zonal("c1", "us-east-1a", "default/a1", "default/a2")
				if c.comes {
					other := zonal("c2", "us-east-1b", "default/b1")
					plan.NodeClaims, plan.Placements = append(plan.NodeClaims, other.NodeClaims...), append(plan.Placements, other.Placements...)
					r.kube.change(func() { r.kube.late = map[model.ClaimID]time.Time{"c2": time.Now().Add(time.Minute)} })
				}
				r.accepted(plan)
				r.until("a pod is bound", time.Minute, func() bool { return r.pods("c1") == 1 })
				bound := time.Now()
				r.until("the node opens", time.Minute, func() bool { return r.node("c1").Open() })
				if took := time.Since(bound); took > c.most {
					t.Errorf("the node opened after %s, want %s at most", took, c.most)
				}
				if got := r.nominated("a2"); got != r.node("c1").Name {
					t.Errorf("the other pod is nominated to %q", got)
				}
			})
		})
	}
}

// node is a claim's node; an empty one while there is none.
func (r *rig) node(id model.ClaimID) *cluster.Node {
	s, _ := r.kube.Observe()
	for _, n := range s.Nodes {
		if n.Labels[labels.Claim] == string(id) {
			return n
		}
	}
	return &cluster.Node{Cordoned: true}
}

func (r *rig) pods(id model.ClaimID) int { return len(r.node(id).Pods) }

func TestPodsAreNominatedBeforeTheirNodeOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a", "b", "c")
		r.kube.OnNominate = func(_ context.Context, n cluster.Nomination) error {
			s, err := r.kube.Observe()
			for i := range s.Nodes {
				if x := s.Nodes[i]; x.Name == n.Node && x.Open() {
					t.Errorf("pod %s is nominated once the node is open", n.Pod.ID)
				}
			}
			return err
		}
		r.kube.Preempt("default/c", "elsewhere")
		r.accepted(claimFor("c1", "default/a"))
		// A later plan puts two more pods there, and one that does not exist.
		late := claimFor("c1", "default/a", "default/b", "default/c", "default/gone")
		late.ID, late.NodeClaims = "p-2", nil
		r.apply(late)
		r.reaches("c1", model.ClaimInitialized)
		node := r.claim("c1").Node
		for pod, want := range map[string]model.NodeName{"a": node, "b": node, "c": "elsewhere"} {
			if got := r.nominated(pod); got != want {
				t.Errorf("pod %s is nominated to %q, want %q", pod, got, want)
			}
		}
	})
}

func TestASlowAPIServerKeepsNoNodeClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a")
		var asked time.Time
		r.kube.OnNominate = func(ctx context.Context, _ cluster.Nomination) error {
			if asked.IsZero() {
				asked = time.Now()
			}
			<-ctx.Done()
			return ctx.Err()
		}
		r.accepted(claimFor("c1", "default/a"))
		r.reaches("c1", model.ClaimInitialized)
		if took := time.Since(asked); took > time.Second {
			t.Errorf("the node opened %s after its pods were to be nominated", took)
		}
	})
}

func TestANodeOpensOnceItIsReadyOrLongThere(t *testing.T) {
	for name, never := range map[string]bool{"ready after a second": false, "never ready": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := nominates(t, "a")
				r.kube.change(func() { r.kube.neverReady = never })
				r.kube.OnNominate = func(_ context.Context, n cluster.Nomination) error {
					s, err := r.kube.Observe()
					for i := range s.Nodes {
						if x := s.Nodes[i]; x.Ready == never || time.Since(x.CreateTime) > time.Minute+time.Second {
							t.Errorf("nominated to %s, which is ready: %v, %s after it joined", n.Node, x.Ready, time.Since(x.CreateTime))
						}
					}
					return err
				}
				r.accepted(claimFor("c1", "default/a"))
				r.reaches("c1", model.ClaimRegistered)
				if r.nominated("a") == "" {
					t.Error("the pod is not nominated")
				}
			})
		})
	}
}

func TestWhatTheSchedulerTookBackIsNominatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a")
		times := 0
		r.kube.OnNominate = func(_ context.Context, n cluster.Nomination) error {
			if times++; times == 1 { // the scheduler tries the pod before the node opens
				go func() {
					time.Sleep(time.Millisecond)
					r.kube.Preempt(n.Pod.ID, "")
				}()
			}
			return nil
		}
		r.accepted(claimFor("c1", "default/a"))
		r.reaches("c1", model.ClaimInitialized)
		if got := r.nominated("a"); got != r.claim("c1").Node || times != 2 {
			t.Errorf("nominated to %q after %d times", got, times)
		}
	})
}

func TestNominationsThatNoLongerHoldAreTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a", "b", "c")
		r.accepted(claimFor("c1", "default/a", "default/b", "default/c"))
		r.reaches("c1", model.ClaimInitialized)
		node := r.claim("c1").Node
		r.until("all are nominated", time.Minute, func() bool {
			return r.nominated("a") == node && r.nominated("b") == node && r.nominated("c") == node
		})
		r.kube.Preempt("default/c", "")
		r.kube.Preempt("default/c", node)

		second := claimFor("c2", "default/a")
		second.Pending = []model.PendingPod{{Pod: "default/b"}}
		r.accepted(second)
		r.until("b, which has no place, is free", time.Minute, func() bool { return r.nominated("b") == "" })
		if got := r.nominated("a"); got != node {
			t.Errorf("a is nominated to %q while the node that it is expected on is not there", got)
		}
		r.reaches("c2", model.ClaimInitialized)
		next := r.claim("c2").Node
		r.until("a is nominated to the other node", time.Minute, func() bool { return r.nominated("a") == next })
		time.Sleep(2 * time.Second) // what the scheduler took back is nominated again for a moment
		r.kube.Edit(func(s *cluster.State) {
			for i := range s.Nodes {
				s.Nodes[i].Taints = append(s.Nodes[i].Taints, model.Taint{Key: labels.TaintDisrupted, Effect: model.NoSchedule})
			}
		})
		r.until("a, whose node goes, is free", time.Minute, func() bool { return r.nominated("a") == "" })
		if got := r.nominated("c"); got != node {
			t.Errorf("preemption's nomination is %q now", got)
		}
	})
}

func TestPodsAreNominatedToNodesThatAreOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a")
		r.accepted(claimFor("c1"))
		r.reaches("c1", model.ClaimInitialized)
		node := r.claim("c1").Node
		fails := 2
		r.kube.OnNominate = func(context.Context, cluster.Nomination) error {
			if fails--; fails >= 0 {
				return context.DeadlineExceeded
			}
			return nil
		}
		r.apply(model.Plan{ID: "p-2", Placements: []model.Placement{{Pod: "default/a", Node: node}}})
		r.until("it is nominated", time.Minute, func() bool { return r.nominated("a") == node })
	})
}

func TestALeaderThatHasSeenNoPlanNominatesByClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := nominates(t, "a")
		r.kube.change(func() { r.kube.stuck = true })
		r.accepted(claimFor("c1", "default/a"))
		r.reaches("c1", model.ClaimLaunched)
		r.stop()
		r.start()
		r.kube.change(func() { r.kube.stuck = false })
		r.kube.Edit(func(*cluster.State) {})
		r.reaches("c1", model.ClaimInitialized)
		if got := r.nominated("a"); got != r.claim("c1").Node {
			t.Errorf("it is nominated to %q", got)
		}
	})
}
