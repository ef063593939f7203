package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// verdict is what the plan says of a node.
func verdict(t *testing.T, p model.Plan, node model.NodeName) model.Reason {
	t.Helper()
	i := slices.IndexFunc(p.Nodes, func(v model.NodeVerdict) bool { return v.Node == node })
	if i < 0 {
		t.Fatalf("nothing is said of node %s", node)
	}
	return p.Nodes[i].Reason
}

func TestEachRuleKeepsANode(t *testing.T) {
	never := func(w *world) { w.pool().ConsolidateAfter = nil }
	tests := map[string]struct {
		pods  int
		spoil func(w *world, n *model.Node, c *model.Claim)
		want  model.Code
	}{
		"nothing stands in the way of an empty node": {0, func(*world, *model.Node, *model.Claim) {}, model.CodeEmpty},
		"a cheaper node would do for one pod":        {1, func(*world, *model.Node, *model.Claim) {}, model.CodeCheaperReplacement},
		"no cheaper node would do for six":           {6, func(*world, *model.Node, *model.Claim) {}, model.CodeNoCheaper},
		"its pool is gone":                           {0, func(_ *world, _ *model.Node, c *model.Claim) { c.NodePool = "old" }, model.CodeNotOwned},
		"its pool is invalid": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.pool().NotReady = model.Reason{Code: model.CodeNodePoolInvalid, Message: "budgets[0]: few"}
		}, model.CodeNodePoolInvalid},
		"its pool is being deleted": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.pool().NotReady = model.Reason{Code: model.CodeBeingDeleted, Message: "the pool is being deleted"}
		}, model.CodeBeingDeleted},
		"its class is not ready, which says nothing of the pool": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.pool().NotReady = model.Reason{Code: model.CodeNodeClassNotFound, Message: "no class"}
		}, model.CodeEmpty},
		"its claim is not initialized": {0, func(_ *world, _ *model.Node, c *model.Claim) { c.State = model.ClaimRegistered }, model.CodeNotInitialized},
		"its claim is draining":        {0, func(_ *world, _ *model.Node, c *model.Claim) { c.State = model.ClaimDraining }, model.CodeAlreadyDisrupted},
		"it waits for its replacement": {0, func(_ *world, _ *model.Node, c *model.Claim) { c.Disruption = "d-1" }, model.CodeAlreadyDisrupted},
		"it is interrupted": {0, func(w *world, _ *model.Node, c *model.Claim) {
			w.Snapshot.Notices = []model.Notice{{ID: "m", Kind: model.NoticeSpotInterruption, Claim: c.ID}}
		}, model.CodeInterrupted},
		"a recommendation is no interruption": {0, func(w *world, _ *model.Node, c *model.Claim) {
			w.Snapshot.Notices = []model.Notice{{ID: "m", Kind: model.NoticeRebalanceRecommendation, Claim: c.ID}}
		}, model.CodeEmpty},
		"the node is annotated": {0, func(_ *world, n *model.Node, _ *model.Claim) { n.DoNotDisrupt = true }, model.CodeNodeDoNotDisrupt},
		"a pod is annotated":    {1, func(w *world, _ *model.Node, _ *model.Claim) { w.Snapshot.Pods[0].DoNotDisrupt = true }, model.CodePodDoNotDisrupt},
		"a pod's annotation has run out": {1, func(w *world, _ *model.Node, _ *model.Claim) {
			w.Snapshot.Pods[0].DoNotDisrupt, w.Snapshot.Pods[0].DoNotDisruptUntil = true, now()
		}, model.CodeCheaperReplacement},
		"a pod has no controller": {1, func(w *world, _ *model.Node, _ *model.Claim) { w.Snapshot.PodClasses[0].OwnerKind = "" }, model.CodePodWithoutController},
		"a pod is spread over what no other node has": {1, func(w *world, _ *model.Node, _ *model.Claim) {
			w.Snapshot.PodClasses[0].TopologySpread = []model.TopologySpread{{TopologyKey: "zone", MaxSkew: 1, Required: true}}
		}, model.CodeNoDestination},
		"a preference for spread is no rule": {1, func(w *world, _ *model.Node, _ *model.Claim) {
			w.Snapshot.PodClasses[0].TopologySpread = []model.TopologySpread{{TopologyKey: "zone", MaxSkew: 1}}
		}, model.CodeCheaperReplacement},
		"a disruption budget allows nothing":                     {1, func(w *world, _ *model.Node, _ *model.Claim) { w.pdb("a", 0) }, model.CodePDB},
		"a disruption budget lets one node's pods go one by one": {2, func(w *world, _ *model.Node, _ *model.Claim) { w.pdb("a", 1) }, model.CodeCheaperReplacement},
		"a disruption budget allows enough":                      {1, func(w *world, _ *model.Node, _ *model.Claim) { w.pdb("a", 1) }, model.CodeCheaperReplacement},
		"two disruption budgets cover a pod":                     {1, func(w *world, _ *model.Node, _ *model.Claim) { w.pdb("a", 1); w.pdb("b", 1) }, model.CodePDB},
		"an unhealthy pod may go against its budget": {1, func(w *world, _ *model.Node, _ *model.Claim) {
			w.pdb("a", 0)
			w.Snapshot.PodDisruptionBudgets[0].AllowsUnhealthy = true
			w.Snapshot.Pods[0].Ready = false
		}, model.CodeCheaperReplacement},
		"the pool removes empty nodes only": {1, func(w *world, _ *model.Node, _ *model.Claim) { w.pool().ConsolidationPolicy = model.WhenEmpty }, model.CodeConsolidationPolicy},
		"an empty node goes then, too":      {0, func(w *world, _ *model.Node, _ *model.Claim) { w.pool().ConsolidationPolicy = model.WhenEmpty }, model.CodeEmpty},
		"the pool never consolidates":       {0, func(w *world, _ *model.Node, _ *model.Claim) { never(w) }, model.CodeConsolidateAfter},
		"it was not quiet for long enough": {0, func(w *world, n *model.Node, _ *model.Claim) {
			*w.pool().ConsolidateAfter = time.Minute
			n.LastPodEventTime = now().Add(-59 * time.Second)
		}, model.CodeConsolidateAfter},
		"it was quiet for long enough": {0, func(w *world, n *model.Node, _ *model.Claim) {
			*w.pool().ConsolidateAfter = time.Minute
			n.LastPodEventTime = now().Add(-time.Minute)
		}, model.CodeEmpty},
		"the pool's budget is 0": {0, func(w *world, _ *model.Node, _ *model.Claim) { w.budget(model.DisruptionBudget{}) }, model.CodeBudget},
		"the budget is for other reasons": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.budget(model.DisruptionBudget{Reasons: []model.DisruptionReason{model.ReasonDrifted}})
		}, model.CodeEmpty},
		"a share is rounded up": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.budget(model.DisruptionBudget{Count: 10, IsPercent: true})
		}, model.CodeEmpty},
		"the budget's hour is now": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.budget(model.DisruptionBudget{Schedule: "0 12 * * *", Duration: time.Hour})
		}, model.CodeBudget},
		"the budget's hour ends at this moment": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.budget(model.DisruptionBudget{Schedule: "0 11 * * *", Duration: time.Hour})
		}, model.CodeEmpty},
		"the budget's hour is over": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.budget(model.DisruptionBudget{Schedule: "0 10 * * *", Duration: time.Hour})
		}, model.CodeEmpty},
		"a schedule that can't be read stops all": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.budget(model.DisruptionBudget{Count: 5, Schedule: "at noon", Duration: time.Hour})
		}, model.CodeBudget},
		"pending pods are meant for it": {1, func(w *world, _ *model.Node, _ *model.Claim) { w.pending("inflate", 1) }, model.CodeNominated},
		"pods that the scheduler has not seen yet may come": {0, func(w *world, _ *model.Node, _ *model.Claim) {
			w.pending("inflate", 1)
			w.Snapshot.Pods[0].Phase = model.PodWaiting
		}, model.CodeNominated},
		"its pool is static":         {0, func(w *world, _ *model.Node, _ *model.Claim) { w.pool().Replicas = new(int64(1)) }, model.CodeStaticPool},
		"its static pool is smaller": {0, func(w *world, _ *model.Node, _ *model.Claim) { w.pool().Replicas = new(int64) }, model.CodeSurplus},
		"its price is not known": {1, func(w *world, _ *model.Node, c *model.Claim) {
			c.Price, c.Zone, c.CreateTime = 0, "us-east-1b", now()
		}, model.CodePriceUnknown},
		"the saving is too small": {1, func(w *world, _ *model.Node, _ *model.Claim) { w.Policy.MinSaving = 20000 }, model.CodeNoCheaper},
		"the pods fit nowhere else": {1, func(w *world, _ *model.Node, _ *model.Claim) {
			for i := range w.Snapshot.Offerings {
				w.Snapshot.Offerings[i].UnavailableUntil = now().Add(time.Minute)
			}
		}, model.CodeNoDestination},
		"it is too old": {6, func(_ *world, _ *model.Node, c *model.Claim) { c.ExpireTime = now() }, model.CodeExpired},
		"it is too old, but a pod must not be disrupted": {6, func(w *world, _ *model.Node, c *model.Claim) {
			c.ExpireTime = now()
			w.Snapshot.Pods[0].DoNotDisrupt = true
		}, model.CodePodDoNotDisrupt},
		"it is too old, and its drain is bounded": {6, func(w *world, _ *model.Node, c *model.Claim) {
			c.ExpireTime, c.TerminationGracePeriod = now(), new(time.Duration)
			w.Snapshot.Pods[0].DoNotDisrupt = true
		}, model.CodeExpired},
		"a balanced pool removes what is worth it": {1, func(w *world, _ *model.Node, _ *model.Claim) {
			w.pool().ConsolidationPolicy = model.Balanced
		}, model.CodeConsolidationPolicy},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			n := w.node("n1", "m5.large", "inflate", tt.pods)
			tt.spoil(w, n, w.claim("c-n1"))
			p := w.decide(t)
			if got := verdict(t, p, "n1"); got.Code != tt.want || got.Message == "" {
				t.Errorf("the verdict is %d (%s), want %d", got.Code, got.Message, tt.want)
			}
		})
	}
}

func (w *world) pdb(id string, allowed int32) {
	w.Snapshot.PodDisruptionBudgets = append(w.Snapshot.PodDisruptionBudgets, model.PodDisruptionBudget{
		ID: "shop/" + id, Namespace: "shop", Selector: &model.Selector{}, DisruptionsAllowed: allowed,
	})
}

func (w *world) budget(b model.DisruptionBudget) { w.pool().Budgets = []model.DisruptionBudget{b} }

func TestBudgetsBoundAPlan(t *testing.T) {
	tests := map[string]struct {
		budget model.DisruptionBudget
		spoil  func(*world)
		want   int
	}{
		"two of five by count":                 {model.DisruptionBudget{Count: 2}, func(*world) {}, 2},
		"ten per cent of five is one":          {model.DisruptionBudget{Count: 10, IsPercent: true}, func(*world) {}, 1},
		"a node that is not ready counts once": {model.DisruptionBudget{Count: 2}, func(w *world) { w.Snapshot.Nodes[0].Ready = false }, 2},
		"two that are not ready are more than one": {model.DisruptionBudget{Count: 1}, func(w *world) {
			w.Snapshot.Nodes[0].Ready, w.Snapshot.Nodes[1].Ready = false, false
		}, 0},
		"a node that goes already uses it": {model.DisruptionBudget{Count: 2}, func(w *world) {
			w.claim("c-n1").State, w.claim("c-n1").Reached = model.ClaimDraining, model.ClaimInitialized
		}, 1},
		"a node that has left does not": {model.DisruptionBudget{Count: 2}, func(w *world) {
			w.claim("c-n1").State, w.claim("c-n1").Reached = model.ClaimTerminating, model.ClaimInitialized
		}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			for _, n := range []string{"n1", "n2", "n3", "n4", "n5"} {
				w.node(n, "m5.large", "inflate", 0)
			}
			w.budget(tt.budget)
			tt.spoil(w)
			if p := w.decide(t); len(p.Disruptions) != tt.want {
				t.Errorf("%d nodes go, want %d", len(p.Disruptions), tt.want)
			}
		})
	}
}

func TestDestinationsStay(t *testing.T) {
	w := newWorld()
	w.inflate()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.node(n, "m5.large", "inflate", 2)
	}
	p := w.decide(t)
	if p.CostAfter != 96000 || len(p.Disruptions) != 2 {
		t.Errorf("three nodes with two pods each become %d for %d, want one m5.large", 3-len(p.Disruptions), p.CostAfter)
	}
}

func TestANodeThatWaitsForYoungPodsIsLookedAtOnceTheyHaveSettled(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n", "m5.xlarge", "inflate", 1)
	price := int64(10000)
	w.Policy.EvictionPrice, w.Snapshot.Pods[0].BindTime = &price, now().Add(-4*time.Second)
	p := w.decide(t)
	if got := verdict(t, p, "n"); got.Code != model.CodePayback {
		t.Errorf("%v; want it kept by its eviction, as its pod has just started", got)
	}
	if want := now().Add(42426406871 - 4*time.Second); !p.ReconsiderTime.Equal(want) {
		t.Errorf("reconsider at %s, want %s", p.ReconsiderTime, want)
	}
	w.Snapshot.Pods[0].BindTime = now().Add(-model.SettledAfter)
	if p := w.decide(t); len(p.Disruptions) != 1 || !p.ReconsiderTime.IsZero() {
		t.Errorf("%d disruptions, reconsider at %s; want one, and never", len(p.Disruptions), p.ReconsiderTime)
	}
}

func TestPodsWaitForANodeThatIsStarting(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 5)
	w.node("n2", "m5.large", "inflate", 0)
	w.claim("c-n2").State = model.ClaimRegistered
	p := w.decide(t)
	if got := verdict(t, p, "n1"); got.Code != model.CodeNoDestination {
		t.Errorf("the verdict is %+v, want that its pods wait for n2", got)
	}
}

func TestAnExpiredNodeIsReplacedFirst(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 6)
	w.claim("c-n1").ExpireTime = now().Add(-time.Second)
	p := w.decide(t)
	if len(p.Disruptions) != 1 || len(p.Disruptions[0].Replacements) != 1 || len(p.Disruptions[0].Destinations) != 6 {
		t.Errorf("want one disruption with a replacement for six pods, got %+v", p.Disruptions)
	}
	if p.LowerBound != nil {
		t.Errorf("replacements have a bound: %+v", p.LowerBound)
	}
}

func TestExpiredNodesShareADisruptionBudget(t *testing.T) {
	w := newWorld()
	w.inflate()
	for _, n := range []string{"n1", "n2"} {
		w.node(n, "m5.large", "inflate", 6)
		w.claim("c-" + n).ExpireTime = now()
	}
	w.pdb("a", 6)
	p := w.decide(t)
	if len(p.Disruptions) != 1 {
		t.Errorf("%d nodes with six pods each go, and the budget allows six evictions", len(p.Disruptions))
	}
}

// TestAReplacementIsNotRemovedBeforeItsPodsArrive looks at the moment between a pod's eviction and its return.
func TestAReplacementIsNotRemovedBeforeItsPodsArrive(t *testing.T) {
	tests := map[string]func(*world){
		"the pod is being evicted": func(w *world) { w.Snapshot.Pods[0].Terminating = true },
		"a StatefulSet makes it again only once it is gone": func(w *world) {
			w.Snapshot.PodClasses[0].OwnerKind, w.Snapshot.Pods[0].Terminating = "StatefulSet", true
		},
		"it is back, and the scheduler has not looked at it": func(w *world) { w.Snapshot.Pods[0].Node, w.Snapshot.Pods[0].Phase = "", model.PodWaiting },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			w.node("n1", "m5.large", "inflate", 1)
			w.node("n2", "c5.large", "inflate", 0)
			w.node("n3", "c5.large", "inflate", 1)
			old, replacement := w.claim("c-n1"), w.claim("c-n2")
			old.State, old.Reached, old.Disruption = model.ClaimDraining, model.ClaimInitialized, "d-1"
			replacement.Replaces, replacement.Pods = "d-1", []model.PodID{w.Snapshot.Pods[0].ID}
			change(w)
			if got := verdict(t, w.decide(t), "n2"); got.Code != model.CodeNominated {
				t.Errorf("the verdict on the replacement is %+v, want that a pod is on its way", got)
			}
		})
	}
}

func TestACopiedLabelDoesNotBreakThePlan(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.node("n1", "m5.large", "inflate", 1)
	w.node("n2", "m5.large", "inflate", 1)
	w.node("n3", "m5.large", "inflate", 0)
	w.Snapshot.Nodes[1].Claim = "c-n1"
	p := w.decide(t)
	if got := verdict(t, p, "n1"); got.Code != model.CodeNotOwned {
		t.Errorf("two nodes say that they are of one claim, and the verdict is %+v", got)
	}
	if got := verdict(t, p, "n3"); got.Code != model.CodeEmpty {
		t.Errorf("the verdict on another node is %+v", got)
	}
}

func TestSpotNodesAreNotReplacedByEverCheaperOnes(t *testing.T) {
	spot := func() *world {
		w := newWorld()
		w.inflate()
		w.pool().Requirements = nil
		for name, price := range map[string]int64{"c5.large": 30000, "m5.large": 31000, "m5.xlarge": 50000, "r5.large": 32000} {
			w.offer(name, "us-east-1a", model.Spot, price)
		}
		return w
	}
	w := spot()
	w.node("n1", "r5.large", "inflate", 3)
	w.claim("c-n1").CapacityType = model.Spot
	p := w.decide(t)
	if got := verdict(t, p, "n1"); got.Code != model.CodeNoCheaper || len(p.Disruptions) != 0 {
		t.Errorf("one spot node for another: %+v", got)
	}
	w = spot()
	w.node("n1", "m5.large", "inflate", 6)
	w.node("n2", "m5.large", "inflate", 6)
	w.claim("c-n1").CapacityType, w.claim("c-n2").CapacityType = model.Spot, model.Spot
	if p := w.decide(t); len(p.Disruptions) != 1 || len(p.Disruptions[0].Candidates) != 2 {
		t.Errorf("two spot nodes do not become one: %+v", p.Nodes)
	}
	w = spot()
	w.node("n1", "r5.large", "inflate", 3)
	if p := w.decide(t); len(p.Disruptions) != 1 {
		t.Errorf("an on-demand node does not become a spot node: %+v", p.Nodes)
	}
}

func TestCapacityOfARevertedTryIsFreeForTheNextNode(t *testing.T) {
	w := newWorld()
	w.Policy.EvictionPrice, w.Policy.DisruptionTrials = new(int64(27500)), new(int64(3)) // each node by itself, the most wasteful first
	w.inflate()
	w.class("wide", 300, 3*gib, nil)
	w.class("base", 1000, 10752*mib, nil)
	w.node("full", "m5.xlarge", "base", 1).DoNotDisrupt = true // there is capacity for one of wide or three of inflate
	w.node("wasteful", "m5.xlarge", "wide", 1).Unschedulable = true
	w.Snapshot.Pods = append(w.Snapshot.Pods, model.Pod{
		ID: w.podID("inflate"), Class: "inflate", Node: "wasteful", Phase: model.PodRunning, Ready: true,
	})
	w.node("small", "c5.large", "inflate", 3)
	p := w.decide(t)
	if got := verdict(t, p, "wasteful"); got.Code != model.CodePayback {
		t.Errorf("the wasteful node: %+v, want %v", got, model.CodePayback)
	}
	if got := verdict(t, p, "small"); got.Code != model.CodePodsFitElsewhere {
		t.Errorf("the small node: %+v, want %v", got, model.CodePodsFitElsewhere)
	}
}

func TestANodeThatIsNotReadyUsesABudgetUpOnce(t *testing.T) {
	w := newWorld()
	w.inflate()
	w.budget(model.DisruptionBudget{Count: 2})
	unhealthy := w.node("n0", "m5.large", "inflate", 1)
	unhealthy.Ready = false
	unhealthy.Conditions = []model.NodeCondition{{Type: "Ready", Status: "False", TransitionTime: now().Add(-time.Hour)}}
	for _, name := range []string{"n1", "n2", "n3", "n4"} { // all of them may go
		w.node(name, "m5.large", "inflate", 0)
	}
	var got []model.DisruptionReason
	for _, d := range w.decide(t).Disruptions {
		got = append(got, d.Reason)
	}
	slices.Sort(got)
	if want := []model.DisruptionReason{model.ReasonEmpty, model.ReasonUnhealthy}; !slices.Equal(got, want) {
		t.Errorf("the plan removes %v, want %v", got, want)
	}
}

func TestABudgetForEmptyNodesKeepsNoneThatGoesForAnotherReason(t *testing.T) {
	tests := map[string]struct {
		spoil func(w *world, c *model.Claim)
		want  model.Code
	}{
		"it is only empty": {func(*world, *model.Claim) {}, model.CodeBudget},
		"it is too old":    {func(_ *world, c *model.Claim) { c.ExpireTime = now() }, model.CodeExpired},
		"it will soon be":  {func(_ *world, c *model.Claim) { c.ExpireTime = now().Add(time.Minute) }, model.CodeExpired},
		"it has drifted":   {func(_ *world, c *model.Claim) { c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "subnets"} }, model.CodeDrifted},
		"it has drifted, and no budget allows that": {func(w *world, c *model.Claim) { w.rest(c) }, model.CodeBudget},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.inflate()
			w.budget(model.DisruptionBudget{Reasons: []model.DisruptionReason{model.ReasonEmpty}})
			w.node("n1", "m5.large", "inflate", 0)
			tt.spoil(w, w.claim("c-n1"))
			if got := verdict(t, w.decide(t), "n1"); got.Code != tt.want {
				t.Errorf("%+v, want %v", got, tt.want)
			}
		})
	}
}

// rest lets a claim drift while no budget lets it go.
func (w *world) rest(c *model.Claim) {
	c.Drifted = model.Reason{Code: model.CodeDrifted, Message: "subnets"}
	w.budget(model.DisruptionBudget{})
}

// TestEstimatesAreMarked in all that a plan says of money.
func TestEstimatesAreMarked(t *testing.T) {
	for _, guess := range []bool{false, true} {
		w := newWorld()
		w.inflate()
		w.node("n1", "m5.large", "", 0)
		w.node("n2", "m5.large", "inflate", 1)
		for i := range w.Snapshot.Offerings {
			w.Snapshot.Offerings[i].PriceEstimated = guess
		}
		p := w.decide(t)
		mark := map[bool]string{true: "~$", false: " $"}[guess]
		if p.CostEstimated != guess || len(p.Disruptions) == 0 {
			t.Errorf("costs estimated: %v, want %v; %d disruptions", p.CostEstimated, guess, len(p.Disruptions))
		}
		for _, d := range p.Disruptions {
			if d.SavingEstimated != guess || !strings.Contains(d.Explanation.Message, mark) {
				t.Errorf("saving estimated: %v, want %v: %s", d.SavingEstimated, guess, d.Explanation.Message)
			}
		}
		for _, v := range p.Nodes {
			if v.PriceEstimated != guess {
				t.Errorf("price of %s estimated: %v, want %v", v.Node, v.PriceEstimated, guess)
			}
		}
		w.pending("inflate", 3)
		for _, c := range w.decide(t).NodeClaims {
			if !strings.Contains(c.Reason.Message, mark) {
				t.Errorf("want %q: %s", mark, c.Reason.Message)
			}
		}
	}
}
