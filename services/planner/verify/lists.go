package verify

import (
	"cmp"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
)

// header checks that the plan is about this input.
func (c *checker) header() {
	p := c.plan
	if p.Revision != c.snap.Revision || p.InventoryRevision != c.snap.InventoryRevision {
		c.fail("plan", "it is for revision %d, %d; the snapshot is %d, %d", p.Revision, p.InventoryRevision, c.snap.Revision, c.snap.InventoryRevision)
	}
	if !p.Now.Equal(c.in.Now) {
		c.fail("plan", "it is for %s, asked was %s", p.Now, c.in.Now)
	}
	if len(p.InputHash) != 64 || strings.Trim(p.InputHash, "0123456789abcdef") != "" {
		c.fail("plan", "its input hash %q is not 64 hexadecimal digits", p.InputHash)
		return
	}
	if want := "p-" + p.InputHash[:16]; string(p.ID) != want {
		c.fail("plan", "its id is %s, by its hash it should be %s", p.ID, want)
	}
}

// order checks that lists are sorted by id and hold no id twice or empty.
func (c *checker) order() {
	p := c.plan
	ascending(c, "node_claims", p.NodeClaims, func(x *model.NodeClaim) model.ClaimID { return x.ID })
	ascending(c, "disruptions", p.Disruptions, func(x *model.Disruption) model.DisruptionID { return x.ID })
	ascending(c, "placements", p.Placements, podOf)
	ascending(c, "pending", p.Pending, func(x *model.PendingPod) model.PodID { return x.Pod })
	ascending(c, "nodes", p.Nodes, func(x *model.NodeVerdict) model.NodeName { return x.Node })
	for _, claim := range p.NodeClaims {
		subject := "claim " + string(claim.ID)
		ascending(c, subject+" pods", claim.Pods, func(x *model.PodID) model.PodID { return *x })
		ascending(c, subject+" requests", claim.Requests, func(x *model.Amount) model.Resource { return x.Resource })
		for i := 1; i < len(claim.Requirements); i++ {
			if claim.Requirements[i-1].Key > claim.Requirements[i].Key {
				c.fail(subject, "its requirements are not sorted at %s", claim.Requirements[i].Key)
			}
		}
	}
	for _, d := range p.Disruptions {
		subject := "disruption " + string(d.ID)
		ascending(c, subject+" candidates", d.Candidates, func(x *model.ClaimID) model.ClaimID { return *x })
		ascending(c, subject+" replacements", d.Replacements, func(x *model.ClaimID) model.ClaimID { return *x })
		ascending(c, subject+" destinations", d.Destinations, podOf)
	}
	for _, pending := range p.Pending {
		ascending(c, "pending pod "+string(pending.Pod)+" pools", pending.Pools, func(x *model.PoolMiss) model.PoolName { return x.NodePool })
	}
}

func podOf(p *model.Placement) model.PodID { return p.Pod }

func ascending[V any, K cmp.Ordered](c *checker, list string, values []V, key func(*V) K) {
	var zero K
	for i := range values {
		k := key(&values[i])
		switch {
		case k == zero:
			c.fail(list, "entry %d has no id", i)
		case i > 0 && key(&values[i-1]) == k:
			c.fail(list, "%v is there twice", k)
		case i > 0 && key(&values[i-1]) > k:
			c.fail(list, "not sorted: %v comes after %v", k, key(&values[i-1]))
		}
	}
}

// kinds checks that nothing is in the plan that was not asked for.
func (c *checker) kinds() {
	if !c.asked(model.KindDisrupt) && len(c.plan.Disruptions) > 0 {
		c.fail("disruption "+string(c.plan.Disruptions[0].ID), "disruptions were not asked for")
	}
	if c.asked(model.KindProvision) {
		return
	}
	for _, claim := range c.plan.NodeClaims {
		if claim.Disruption == "" {
			c.fail("claim "+string(claim.ID), "claims for pending pods were not asked for")
		}
	}
}

// podsOnce checks that each pod that the plan names is one that it may decide on, and has one answer; and that no pod
// that waits for a node is left without one.
func (c *checker) podsOnce() {
	answered := make(map[model.PodID]string)
	answer := func(pod model.PodID, subject string) {
		if before, ok := answered[pod]; ok {
			c.fail(subject, "pod %s has another answer already: %s", pod, before)
		}
		answered[pod] = subject
	}
	for _, pl := range c.plan.Placements {
		subject := "placement of pod " + string(pl.Pod)
		answer(pl.Pod, subject)
		c.oneTarget(subject, pl)
		c.undecided(subject, pl.Pod)
	}
	for _, pending := range c.plan.Pending {
		subject := "pending pod " + string(pending.Pod)
		answer(pending.Pod, subject)
		c.undecided(subject, pending.Pod)
		c.reasons(subject, pending)
	}
	for _, d := range c.plan.Disruptions {
		before := len(c.found)
		for _, pl := range d.Destinations {
			subject := "disruption " + string(d.ID) + " destination of pod " + string(pl.Pod)
			answer(pl.Pod, subject)
			c.oneTarget(subject, pl)
		}
		c.ascribe(before, d.ID)
	}
	if !c.asked(model.KindProvision) {
		return
	}
	for i := range c.snap.Pods {
		p := &c.snap.Pods[i]
		if p.Phase == model.PodUnschedulable && c.movable(p) && answered[p.ID] == "" {
			c.fail("pod "+string(p.ID), "it can't be scheduled, and the plan says nothing of it")
		}
	}
}

func (c *checker) oneTarget(subject string, pl model.Placement) {
	if (pl.Node == "") == (pl.Claim == "") {
		c.fail(subject, "it must name either a node or a claim; node is %q and claim is %q", pl.Node, pl.Claim)
	}
}

// undecided checks that a pod needs a place: it has none, or its node is leaving already.
func (c *checker) undecided(subject string, id model.PodID) {
	p := c.pods[id]
	switch {
	case p == nil:
		c.fail(subject, "there is no such pod")
	case !c.movable(p):
		c.fail(subject, "nobody finds a place for this pod: it is a DaemonSet's, the kubelet's own, or being deleted")
	case p.Node != "" && !c.nodeGoes(p.Node):
		c.fail(subject, "it has a place already: node %s", p.Node)
	}
}

func (c *checker) nodeGoes(name model.NodeName) bool {
	n := c.nodes[name]
	if n == nil || nodeLeaving(n) {
		return true
	}
	if claim := c.claimOn[name]; claim != nil {
		return c.leaving(claim)
	}
	return c.ended[n.Claim]
}

func (c *checker) reasons(subject string, p model.PendingPod) {
	if p.Reason.OK() || p.Reason.Message == "" {
		c.fail(subject, "it stays pending without a reason")
	}
	pod := c.pods[p.Pod]
	ofPod := p.Reason.Code == model.CodeUnsupported && strings.HasPrefix(p.Reason.Subject, "pod/") // it may be the pools' too
	if ofPod && pod != nil && c.class(pod).Unsupported == "" {
		c.fail(subject, "nothing of it is unsupported, and the plan says that something is: %s", p.Reason.Message)
	}
	for _, miss := range p.Pools {
		if c.pools[miss.NodePool] == nil {
			c.fail(subject, "it names node pool %s, which does not exist", miss.NodePool)
		}
		if miss.Reason.OK() {
			c.fail(subject, "node pool %s has no reason", miss.NodePool)
		}
	}
}
