package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// permitted counts, by itself and without a word from the planner's own verifier, what the scheduler does not know of: what
// pools, budgets and pods permit. It is content with what is necessary: an input may forbid more than it looks at.
func (t *trial) permitted() {
	t.complete()
	for i := range t.c.Input.Snapshot.NodePools {
		p := &t.c.Input.Snapshot.NodePools[i]
		t.withinLimits(p)
		t.flexible(p)
		t.size(p)
		t.withinBudgets(p)
	}
	for _, d := range t.Plan.Disruptions {
		for _, id := range d.Candidates {
			t.disruptable(&d, t.claim(id))
		}
	}
	t.withinPodBudgets()
}

func (t *trial) forbidden(rule, format string, args ...any) {
	t.fail(Failure{Kind: Forbidden, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// complete demands a word on each pod that has no node.
func (t *trial) complete() {
	for _, p := range t.c.Input.Snapshot.Pods {
		placed := slices.ContainsFunc(t.Plan.Placements, func(x model.Placement) bool { return x.Pod == p.ID })
		pending := slices.ContainsFunc(t.Plan.Pending, func(x model.PendingPod) bool { return x.Pod == p.ID })
		if p.Node == "" && p.Phase == model.PodUnschedulable && !p.Terminating && placed == pending {
			t.fail(Failure{Kind: Forbidden, Pod: p.ID, Rule: "completeness", Detail: fmt.Sprintf("placed: %v, pending: %v", placed, pending)})
		}
	}
}

// withinLimits looks at pools that get nodes: all of a pool's, each as the largest that it may become.
func (t *trial) withinLimits(p *model.NodePool) {
	buys := slices.ContainsFunc(t.Plan.NodeClaims, func(c model.NodeClaim) bool { return c.NodePool == p.Name })
	for r, left := range t.left(p) {
		if buys && left < 0 && t.more(p, r) {
			t.forbidden("limit", "node pool %s would have %d of %s more than its limit", p.Name, -left, r)
		}
	}
}

// more says whether any of the nodes that a pool gets may have some of a resource.
func (t *trial) more(p *model.NodePool, r model.Resource) bool {
	return slices.ContainsFunc(t.Plan.NodeClaims, func(c model.NodeClaim) bool {
		return c.NodePool == p.Name && (r == model.Nodes || slices.ContainsFunc(c.Offerings, func(o model.RankedOffering) bool {
			return t.instanceType(o.InstanceType).Capacity.Value(r) > 0
		}))
	})
}

// flexible counts the types of each claim.
func (t *trial) flexible(p *model.NodePool) {
	for _, r := range p.Requirements {
		for _, c := range t.Plan.NodeClaims {
			types := make(map[model.TypeName]bool)
			for _, o := range c.Offerings {
				types[o.InstanceType] = true
			}
			if c.NodePool == p.Name && r.Key == labels.InstanceType && len(types) < r.MinValues {
				t.forbidden("minValues", "claim %s of node pool %s has %d types, not %d", c.ID, p.Name, len(types), r.MinValues)
			}
		}
	}
}

// size holds a static pool at its replicas: nodes that replace others may come before those go.
func (t *trial) size(p *model.NodePool) {
	if p.Replicas == nil {
		return
	}
	have, more := int64(0), int64(0)
	for _, c := range t.c.Input.Snapshot.Claims {
		gone := slices.ContainsFunc(t.c.Input.Snapshot.Nodes, func(n model.Node) bool { return n.Claim == c.ID && t.leaving(&n) })
		unhealthy := t.removed(c.ID) == model.ReasonUnhealthy
		if c.NodePool == p.Name && c.Live() && c.State < model.ClaimDraining && !gone && !unhealthy {
			have++
		}
	}
	for _, c := range t.Plan.NodeClaims {
		if c.NodePool == p.Name && c.Disruption == "" {
			more++
		}
	}
	if more > 0 && have+more > *p.Replicas {
		t.forbidden("replicas", "static node pool %s of %d nodes has %d and gets %d", p.Name, *p.Replicas, have, more)
	}
}

func (t *trial) claim(id model.ClaimID) *model.Claim {
	for i := range t.c.Input.Snapshot.Claims {
		if c := &t.c.Input.Snapshot.Claims[i]; c.ID == id {
			return c
		}
	}
	return &model.Claim{ID: id}
}

// removed is why the plan removes a claim; 0 where it does not.
func (t *trial) removed(id model.ClaimID) model.DisruptionReason {
	for _, d := range t.Plan.Disruptions {
		if slices.Contains(d.Candidates, id) {
			return d.Reason
		}
	}
	return 0
}

// byChoice says whether what a claim is removed for lets budgets and pods forbid it: not a node that has expired.
func byChoice(r model.DisruptionReason) bool {
	return r == model.ReasonEmpty || r == model.ReasonUnderutilized || r == model.ReasonDrifted
}

// disruptable asks a node and its pods.
func (t *trial) disruptable(d *model.Disruption, c *model.Claim) {
	pool := t.pool(c.NodePool)
	if d.Reason == model.ReasonUnderutilized && pool.ConsolidationPolicy == model.WhenEmpty {
		t.forbidden("policy", "node pool %s consolidates empty nodes only, claim %s goes as underutilized", pool.Name, c.ID)
	}
	held := byChoice(d.Reason) || d.Reason == model.ReasonExpired && c.TerminationGracePeriod == nil
	for _, n := range t.c.Input.Snapshot.Nodes {
		if n.Claim == c.ID && n.DoNotDisrupt && byChoice(d.Reason) {
			t.forbidden("do-not-disrupt", "node %s goes as %s", n.Name, d.Reason)
		}
	}
	for _, p := range t.c.Input.Snapshot.Pods {
		if p.Node == c.Node && c.Node != "" && p.DoNotDisrupt && !p.Terminating && held {
			t.fail(Failure{Kind: Forbidden, Pod: p.ID, Rule: "do-not-disrupt", Detail: fmt.Sprintf("its node %s goes as %s", p.Node, d.Reason)})
		}
	}
}

// withinBudgets holds a pool's budgets against the nodes that the plan takes by choice. A share is rounded up.
func (t *trial) withinBudgets(p *model.NodePool) {
	nodes := 0
	for _, c := range t.c.Input.Snapshot.Claims {
		if c.NodePool == p.Name && c.Node != "" {
			nodes++
		}
	}
	for _, b := range p.Budgets {
		most, going := float64(b.Count), 0
		if b.IsPercent {
			most = math.Ceil(float64(nodes) * most / 100)
		}
		for _, d := range t.Plan.Disruptions {
			of := 0
			for _, id := range d.Candidates {
				capped := len(b.Reasons) == 0 || slices.Contains(b.Reasons, d.Reason)
				if byChoice(d.Reason) && capped && t.claim(id).NodePool == p.Name {
					of++
				}
			}
			if d.Staged { // the first goes now, the others as budgets let them
				of = min(of, 1)
			}
			going += of
		}
		if float64(going) > most {
			t.forbidden("budget", "%d nodes of node pool %s go, a budget allows %g", going, p.Name, most)
		}
	}
}

// withinPodBudgets counts evictions by choice. One node alone is drained one pod after the other, as the budget allows.
func (t *trial) withinPodBudgets() {
	for _, b := range t.c.Input.Snapshot.PodDisruptionBudgets {
		pods, nodes := 0, make(map[model.NodeName]bool)
		for _, p := range t.c.Input.Snapshot.Pods {
			c := t.classes[p.Class]
			node := slices.IndexFunc(t.c.Input.Snapshot.Nodes, func(n model.Node) bool { return n.Name == p.Node })
			if node < 0 || p.Terminating || c.Daemon || c.Namespace != b.Namespace || !b.Selector.Matches(c.Labels) {
				continue
			}
			if byChoice(t.removed(t.c.Input.Snapshot.Nodes[node].Claim)) {
				nodes[p.Node] = true
				pods++
			}
		}
		if pods > int(b.DisruptionsAllowed) && (len(nodes) > 1 || b.DisruptionsAllowed == 0) {
			t.forbidden("pod budget", "%d pods of %s are evicted from %d nodes, it allows %d", pods, b.ID, len(nodes), b.DisruptionsAllowed)
		}
	}
}
