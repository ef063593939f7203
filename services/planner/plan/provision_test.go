package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/plan"
)

// addPool adds a pool of the same class; change may adapt it.
func (w *world) addPool(name string, change func(*model.NodePool)) {
	p := pool(name)
	if change != nil {
		change(&p)
	}
	w.Snapshot.NodePools = append(w.Snapshot.NodePools, p)
}

func in(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

// pools are the pools of a plan's claims, in the claims' order of types.
func pools(p model.Plan) map[model.PoolName]int {
	out := map[model.PoolName]int{}
	for _, c := range p.NodeClaims {
		out[c.NodePool] += len(c.Pods)
	}
	return out
}

func TestPoolsAreChosen(t *testing.T) {
	tests := map[string]struct {
		build func(*world)
		want  map[model.PoolName]int
	}{
		"the pool of higher weight goes first, though it is more expensive": {
			func(w *world) {
				w.addPool("first", func(p *model.NodePool) {
					p.Weight = 10
					p.Requirements = []model.Requirement{in("node.kubernetes.io/instance-type", "r5.large")}
				})
			},
			map[model.PoolName]int{"first": 5},
		},
		"of pools of one weight the cheaper is taken": {
			func(w *world) {
				w.pool().Requirements = append(w.pool().Requirements, in("node.kubernetes.io/instance-type", "r5.large"))
				w.addPool("other", nil)
			},
			map[model.PoolName]int{"other": 5},
		},
		"a limit sends the rest to the next pool": {
			func(w *world) {
				w.pool().Weight = 10
				w.pool().Limits = model.Amounts{{Resource: "nodes", Value: 1}}
				w.pool().Requirements = append(w.pool().Requirements, in("node.kubernetes.io/instance-type", "c5.large"))
				w.addPool("other", nil)
			},
			map[model.PoolName]int{"default": 3, "other": 2},
		},
		"a static pool gets nothing": {
			func(w *world) {
				w.addPool("static", func(p *model.NodePool) { p.Weight, p.Replicas = 10, new(int64) })
			},
			map[model.PoolName]int{"default": 5},
		},
		"a pool that asks to be avoided is better than one that costs much more": {
			func(w *world) {
				w.pool().Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}}
				w.addPool("other", func(p *model.NodePool) {
					p.Requirements = []model.Requirement{in("node.kubernetes.io/instance-type", "r5.large")}
				})
			},
			map[model.PoolName]int{"default": 5},
		},
		"where preferences are enforced it is the last resort": {
			func(w *world) {
				w.Policy.Preferences = model.PreferencesEnforced
				w.pool().Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}}
				w.addPool("other", func(p *model.NodePool) {
					p.Requirements = []model.Requirement{in("node.kubernetes.io/instance-type", "r5.large")}
				})
			},
			map[model.PoolName]int{"other": 5},
		},
		"the last resort is better than nothing": {
			func(w *world) { w.pool().Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}} },
			map[model.PoolName]int{"default": 5},
		},
		"a taint that is not tolerated keeps pods out": {
			func(w *world) {
				w.pool().Taints = []model.Taint{{Key: "gpu", Effect: model.NoSchedule}}
				w.addPool("other", nil)
			},
			map[model.PoolName]int{"other": 5},
		},
		"startup taints do not": {
			func(w *world) { w.pool().StartupTaints = []model.Taint{{Key: "agent", Effect: model.NoSchedule}} },
			map[model.PoolName]int{"default": 5},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			tt.build(w)
			w.pending("inflate", 5)
			if diff := cmp.Diff(tt.want, pools(w.decide(t))); diff != "" {
				t.Errorf("pods by pool (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsAreExact(t *testing.T) {
	tests := map[string]struct {
		limits model.Amounts
		build  func(*world)
		placed int
	}{
		"exactly two nodes of two cores": {model.Amounts{{Resource: "cpu", Value: 4000}}, func(*world) {}, 14},
		"one core short of two nodes":    {model.Amounts{{Resource: "cpu", Value: 3999}}, func(*world) {}, 7},
		"nothing at all":                 {model.Amounts{{Resource: "cpu", Value: 0}}, func(*world) {}, 0},
		"a claim in flight counts": {model.Amounts{{Resource: "nodes", Value: 1}}, func(w *world) {
			w.Snapshot.Claims = append(w.Snapshot.Claims, model.Claim{
				ID: "flight", NodePool: "default", NodeClass: "default", State: model.ClaimLaunching,
				Offerings: []model.RankedOffering{{InstanceType: "c5.large", Zone: "us-east-1a", CapacityType: model.OnDemand, Price: 85000}},
				Labels:    model.Labels{{Key: "type", Value: "karpenter"}},
			})
		}, 3},
		"a claim that failed does not": {model.Amounts{{Resource: "nodes", Value: 1}}, func(w *world) {
			w.Snapshot.Claims = append(w.Snapshot.Claims, model.Claim{ID: "flight", NodePool: "default", State: model.ClaimFailed})
		}, 13},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			w.pool().Limits = tt.limits
			tt.build(w)
			w.pending("inflate", 20)
			p := w.decide(t)
			if len(p.Placements) != tt.placed {
				t.Errorf("%d pods are placed, want %d", len(p.Placements), tt.placed)
			}
			for _, pending := range p.Pending {
				if pending.Reason.Code != model.CodeLimit {
					t.Errorf("pod %s stays pending for %+v, want the limit", pending.Pod, pending.Reason)
				}
			}
		})
	}
}

func TestOpenLabelsAreNarrowed(t *testing.T) {
	w := newWorld()
	w.pool().Requirements = append(w.pool().Requirements, in("team", "a", "b"))
	for _, team := range []string{"a", "b"} {
		w.class("of-"+team, 250, gib, func(c *model.PodClass) { c.NodeSelector = model.Labels{{Key: "team", Value: team}} })
		w.pending("of-"+team, 2)
	}
	w.class("any", 250, gib, nil)
	w.pending("any", 2)
	p := w.decide(t)
	teams := map[string]bool{}
	for _, c := range p.NodeClaims {
		for _, r := range c.Requirements {
			if r.Key == "team" {
				teams[strings.Join(r.Values, ",")] = true
			}
		}
	}
	if !teams["a"] || !teams["b"] || len(p.Pending) > 0 {
		t.Errorf("claims are for teams %v, and %d pods stay pending", teams, len(p.Pending))
	}
}

func TestMinValuesKeepClaimsFlexible(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.pool().Requirements = append(w.pool().Requirements,
		model.Requirement{Key: "node.kubernetes.io/instance-type", Operator: model.Exists, MinValues: 3})
	w.pending("inflate", 12)
	p := w.decide(t)
	for _, c := range p.NodeClaims {
		if len(c.Offerings) < 3 {
			t.Errorf("claim of %d pods lists %d offerings, want 3", len(c.Pods), len(c.Offerings))
		}
	}
	if len(p.Pending) > 0 {
		t.Errorf("%d pods stay pending: %+v", len(p.Pending), p.Pending[0].Reason)
	}

	w.Snapshot.NodePools[0].Requirements[1].MinValues = 5
	if p := w.decide(t); len(p.Pending) != 12 || p.Pending[0].Reason.Code != model.CodeMinValues {
		t.Errorf("with five of four types wanted, %d pods stay pending", len(p.Pending))
	}
}

func TestDaemonSetsTakeTheirCapacity(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.class("agent", 100, gib, func(c *model.PodClass) { c.Daemon, c.OwnerKind = true, "DaemonSet" })
	w.class("spotter", 100, gib, func(c *model.PodClass) {
		c.Daemon, c.NodeSelector = true, model.Labels{{Key: "karpenter.sh/capacity-type", Value: "spot"}}
	})
	w.Snapshot.DaemonSets = []model.DaemonSet{{ID: "shop/agent", Class: "agent"}, {ID: "shop/spotter", Class: "spotter"}}
	w.pending("inflate", 6)
	p := w.decide(t)
	if diff := cmp.Diff([]string{"r5.large×6"}, types(p)); diff != "" {
		t.Errorf("an m5.large has capacity for five beside a daemon of 1 GiB (-want +got):\n%s", diff)
	}
	if got := p.NodeClaims[0].Requests.Value("memory"); got != 7*gib {
		t.Errorf("the claim asks for %d of memory, want 7 GiB", got)
	}
}

func TestPortsAreNotSharedOnANode(t *testing.T) {
	w := newWorld()
	w.class("web", 100, 128*mib, func(c *model.PodClass) { c.HostPorts = []model.HostPort{{Protocol: "TCP", Port: 80}} })
	w.pending("web", 3)
	if p := w.decide(t); len(p.NodeClaims) != 3 {
		t.Errorf("three pods of one port get %d nodes", len(p.NodeClaims))
	}
}

func TestNothingIsBoughtTwice(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.pending("inflate", 12)
	p := w.decide(t)
	for i, c := range p.NodeClaims {
		w.Snapshot.Claims = append(w.Snapshot.Claims, model.Claim{
			ID: c.ID, NodePool: c.NodePool, NodeClass: c.NodeClass, State: model.ClaimPlanned + model.ClaimState(i),
			Requirements: c.Requirements, Offerings: c.Offerings, Pods: c.Pods, Labels: w.pool().Labels,
		})
	}
	p = w.decide(t)
	if len(p.NodeClaims) != 0 || len(p.Placements) != 12 {
		t.Errorf("with their claims in flight, 12 pods get %d more claims and %d placements", len(p.NodeClaims), len(p.Placements))
	}
}

func TestPodsOfANodeThatGoesNeedAHome(t *testing.T) {
	tests := map[string]struct {
		spoil func(w *world, c *model.Claim)
		want  int
	}{
		"a node that stays":           {func(*world, *model.Claim) {}, 0},
		"a draining node":             {func(_ *world, c *model.Claim) { c.State = model.ClaimDraining }, 6},
		"an interrupted one":          {func(w *world, c *model.Claim) { w.interrupt(c) }, 6},
		"one that a disruption takes": {func(_ *world, c *model.Claim) { c.Disruption = "d-1" }, 6},
		"a deleted node":              {func(w *world, _ *model.Claim) { w.Snapshot.Nodes[0].Terminating = true }, 6},
		"pods that are evicted already": {func(w *world, c *model.Claim) {
			c.State = model.ClaimDraining
			w.Snapshot.Pods[0].Terminating, w.Snapshot.Pods[1].Terminating = true, true
		}, 4},
		"a pod that holds up the drain": {func(w *world, c *model.Claim) {
			c.State = model.ClaimDraining
			w.Snapshot.Pods[0].DoNotDisrupt = true
		}, 5},
		"a pod that EC2 does not ask": {func(w *world, c *model.Claim) {
			w.interrupt(c)
			w.Snapshot.Pods[0].DoNotDisrupt = true
		}, 6},
		"pods that nothing makes again": {func(w *world, c *model.Claim) {
			w.interrupt(c)
			w.Snapshot.PodClasses[0].OwnerKind = ""
		}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			w.node("n1", "m5.large", "inflate", 6)
			tt.spoil(w, w.claim("c-n1"))
			p := w.decide(t)
			if len(p.Placements) != tt.want || len(p.Pending) > 0 {
				t.Errorf("%d pods get a node and %d none, want %d", len(p.Placements), len(p.Pending), tt.want)
			}
		})
	}
}

func (w *world) interrupt(c *model.Claim) {
	w.Snapshot.Notices = []model.Notice{{ID: "m", Kind: model.NoticeSpotInterruption, InstanceID: c.InstanceID}}
}

// TestAReplacementIsKeptForItsPods follows one move through: the replacement is on its way, an evicted pod's successor is
// pending, and nothing more is bought.
func TestAReplacementIsKeptForItsPods(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 6)
	old := w.claim("c-n1")
	old.State, old.Reached, old.Disruption = model.ClaimDraining, model.ClaimInitialized, "d-1"
	old.Pods = []model.PodID{w.Snapshot.Pods[0].ID}
	w.node("n2", "m5.large", "inflate", 0)
	replacement := w.claim("c-n2")
	replacement.Replaces = "d-1"
	for i := range w.Snapshot.Pods {
		replacement.Pods = append(replacement.Pods, w.Snapshot.Pods[i].ID)
	}
	w.Snapshot.Pods[0].Terminating = true
	w.pending("inflate", 1)
	p := w.decide(t)
	if len(p.NodeClaims) != 0 || len(p.Placements) != 6 {
		t.Errorf("want six pods on the replacement and no claim, got %d placements and %v", len(p.Placements), types(p))
	}
}

func TestInitializedNodesShowTheirTaints(t *testing.T) {
	tests := map[string]struct {
		state model.ClaimState
		taint model.Taint
		want  int
	}{
		"a startup taint goes before the node is initialized": {model.ClaimRegistered, model.Taint{Key: "agent", Effect: model.NoSchedule}, 0},
		"after that it counts":                                {model.ClaimInitialized, model.Taint{Key: "agent", Effect: model.NoSchedule}, 1},
		"not-ready goes by itself":                            {model.ClaimRegistered, model.Taint{Key: "node.kubernetes.io/not-ready", Effect: model.NoExecute}, 0},
		"a node that became unhealthy later takes no pods":    {model.ClaimInitialized, model.Taint{Key: "node.kubernetes.io/not-ready", Effect: model.NoExecute}, 1},
		"any other taint counts at once":                      {model.ClaimRegistered, model.Taint{Key: "gpu", Effect: model.NoSchedule}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			n := w.node("n1", "m5.large", "inflate", 0)
			n.Taints = []model.Taint{tt.taint}
			c := w.claim("c-n1")
			c.State, c.StartupTaints = tt.state, []model.Taint{{Key: "agent", Effect: model.NoSchedule}}
			n.Allocatable = model.Amounts{{Resource: "cpu", Value: 1930}, {Resource: "memory", Value: 0}, {Resource: "pods", Value: 29}}
			if tt.state == model.ClaimInitialized {
				n.Allocatable = c.Allocatable
			}
			w.pending("inflate", 1)
			if p := w.decide(t); len(p.NodeClaims) != tt.want {
				t.Errorf("%d nodes are bought, want %d", len(p.NodeClaims), tt.want)
			}
		})
	}
}

func TestOnlyWhatIsAskedFor(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 0)
	w.node("n2", "m5.large", "inflate", 0)
	w.pending("inflate", 8)
	w.Kinds = []model.DecisionKind{model.KindProvision}
	if p := w.decide(t); len(p.Disruptions) != 0 || len(p.Nodes) != 0 || len(p.Placements) != 8 {
		t.Errorf("asked to provision only, got %d disruptions", len(p.Disruptions))
	}
	w.Snapshot.Pods = nil
	w.Kinds = []model.DecisionKind{model.KindDisrupt}
	if p := w.decide(t); len(p.Disruptions) != 2 || len(p.Placements) != 0 {
		t.Errorf("asked to disrupt only, got %d disruptions", len(p.Disruptions))
	}
}

func TestBadInputNamesObjectAndField(t *testing.T) {
	tests := map[string]struct {
		spoil func(*world)
		want  string
	}{
		"no time": {func(w *world) { w.Now = time.Time{} }, "now"},
		"a pod of an unknown class": {func(w *world) {
			w.Snapshot.Pods = []model.Pod{{ID: "shop/a", Class: "c-9"}}
		}, "pod shop/a: class_id"},
		"a pod twice":                  {func(w *world) { w.pending("inflate", 1); w.Snapshot.Pods = append(w.Snapshot.Pods, w.Snapshot.Pods[0]) }, "pod shop/inflate-000"},
		"a node class without catalog": {func(w *world) { w.Snapshot.Catalogs = nil }, "node class default: catalog_id"},
		"labels that are not sorted": {func(w *world) {
			w.Snapshot.NodePools[0].Labels = model.Labels{{Key: "b"}, {Key: "a"}}
		}, "node pool default: labels"},
		"a pool twice": {func(w *world) { w.addPool("default", nil) }, "node pool default"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			tt.spoil(w)
			if _, err := plan.Decide(w.Input); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one that names %q", err, tt.want)
			}
		})
	}
}

// accepted puts the claims of a plan into the world, as the actuator does before it launches them.
func (w *world) accepted(p model.Plan) {
	for _, c := range p.NodeClaims {
		w.Snapshot.Claims = append(w.Snapshot.Claims, model.Claim{
			ID: c.ID, NodePool: c.NodePool, NodeClass: c.NodeClass, State: model.ClaimLaunching, Requirements: c.Requirements,
			Offerings: c.Offerings, Requests: c.Requests, Pods: c.Pods, Labels: w.pool().Labels, Replaces: c.Disruption,
		})
	}
}

func TestADaemonSetOfOneShapeDoesNotBuyTwice(t *testing.T) {
	w := newWorld()
	w.class("big", 1800, gib, nil)
	w.class("agent", 500, gib, func(c *model.PodClass) {
		c.Daemon, c.OwnerKind = true, "DaemonSet"
		c.NodeSelector = model.Labels{{Key: "node.kubernetes.io/instance-type", Value: "m5.xlarge"}}
	})
	w.Snapshot.DaemonSets = []model.DaemonSet{{ID: "shop/agent", Class: "agent"}}
	w.pending("big", 1)
	first := w.decide(t)
	if n := len(first.NodeClaims[0].Offerings); n != 4 {
		t.Fatalf("the claim lists %d offerings, want all 4", n)
	}
	w.accepted(first)
	if p := w.decide(t); len(p.NodeClaims) != 0 || len(p.Placements) != 1 || p.Placements[0].Claim != first.NodeClaims[0].ID {
		t.Errorf("the pod's claim is in flight, and the plan buys %v and places %v", types(p), p.Placements)
	}
}

func TestPreemptionOnANodeThatGoesIsNoAnswer(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 0)
	w.claim("c-n1").State = model.ClaimDraining
	w.pending("inflate", 1)
	w.Snapshot.Pods[0].NominatedNode = "n1"
	if p := w.decide(t); len(p.NodeClaims) != 1 {
		t.Errorf("want a claim for the pod, got pending %+v", p.Pending)
	}
}

func TestAClassThatIsNotReadyDoesNotBuyTwice(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.pending("inflate", 5)
	w.accepted(w.decide(t))
	spare := pool("spare")
	spare.NodeClass = "spare"
	w.Snapshot.NodePools = append(w.Snapshot.NodePools, spare)
	class := w.Snapshot.NodeClasses[0]
	class.Name = "spare"
	w.Snapshot.NodeClasses = append(w.Snapshot.NodeClasses, class)
	first := &w.Snapshot.NodeClasses[0]
	first.NotReady, first.Catalog = model.Reason{Code: model.CodeNodeClassNotReady, Message: "no subnet"}, ""
	if p := w.decide(t); len(p.NodeClaims) != 0 || len(p.Placements) != 5 {
		t.Errorf("the pods' claim is in flight, and the plan buys %v", types(p))
	}
}

func TestClaimIDsAreLabelValues(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.pool().Name = model.PoolName(strings.Repeat("p", 63))
	w.pending("inflate", 1)
	p := w.decide(t)
	if id := p.NodeClaims[0].ID; len(id) > 63 {
		t.Errorf("the id %s has %d bytes; a label's value has at most 63", id, len(id))
	}
}

// TestClaimsNameTheIDsOfTheirZones where the pool or a pod asks for one, and nowhere else.
func TestClaimsNameTheIDsOfTheirZones(t *testing.T) {
	asked := in("topology.k8s.aws/zone-id", "use1-az1", "use1-az9")
	for name, tc := range map[string]struct {
		build func(*world)
		want  []string
	}{
		"no one asks":   {func(*world) {}, nil},
		"the pool asks": {func(w *world) { w.pool().Requirements = append(w.pool().Requirements, asked) }, []string{"use1-az1"}},
		"a pod asks": {func(w *world) {
			w.Snapshot.PodClasses[0].NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{asked}}}
		}, []string{"use1-az1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			for i := range w.Snapshot.Offerings {
				w.Snapshot.Offerings[i].ZoneID = "use1-az1"
			}
			w.inflate()
			tc.build(w)
			w.pending("inflate", 1)
			var got []string
			for _, r := range w.decide(t).NodeClaims[0].Requirements {
				if r.Key == asked.Key {
					got = append(got, r.Values...)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAZoneHasOneID(t *testing.T) {
	w := newWorld()
	w.Snapshot.Offerings[0].ZoneID, w.Snapshot.Offerings[1].ZoneID = "use1-az1", "use1-az2"
	if _, err := plan.Decide(w.Input); err == nil || !strings.Contains(err.Error(), "zone_id: use1-az") {
		t.Errorf("got %v, want an error that names zone_id", err)
	}
}

// A kubelet does not start where more is reserved than there is, whatever the pods ask for.
func TestATypeOfWhichAllIsReservedIsNotBought(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.pending("inflate", 1)
	class := &w.Snapshot.PodClasses[0]
	class.Requests = model.Amounts{{Resource: "cpu", Value: 100}, {Resource: "pods", Value: 1}}
	reserved := &w.Snapshot.Catalogs[0].InstanceTypes[0]
	reserved.Allocatable = amounts(1930, 0, 29)
	if got := types(w.decide(t)); !cmp.Equal(got, []string{"m5.large×1"}) {
		t.Errorf("bought %v, want m5.large: nothing is left of the memory of %s", got, reserved.Name)
	}
}
