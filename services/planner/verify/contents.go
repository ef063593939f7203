package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// contents checks that what a plan says of the input and of itself agrees.
type contents struct {
	f *facts.Facts
	r *facts.Report
}

// header checks that the plan is about this input.
func (c *contents) header() {
	p, s := c.f.Plan, c.f.Cluster.Snapshot
	if p.Revision != s.Revision || p.InventoryRevision != s.InventoryRevision {
		c.r.Fail("plan", "it is for revision %d, %d; the snapshot is %d, %d", p.Revision, p.InventoryRevision, s.Revision, s.InventoryRevision)
	}
	if !p.Now.Equal(c.f.Input.Now) {
		c.r.Fail("plan", "it is for %s, asked was %s", p.Now, c.f.Input.Now)
	}
	if len(p.InputHash) != 64 || strings.Trim(p.InputHash, "0123456789abcdef") != "" {
		c.r.Fail("plan", "its input hash %q is not 64 hexadecimal digits", p.InputHash)
		return
	}
	if want := "p-" + p.InputHash[:16]; string(p.ID) != want {
		c.r.Fail("plan", "its id is %s, by its hash it should be %s", p.ID, want)
	}
}

// order checks that lists are sorted by id and hold no id twice or empty.
func (c *contents) order() {
	p := c.f.Plan
	ascending(c.r, "node_claims", p.NodeClaims, func(x *model.NodeClaim) model.ClaimID { return x.ID })
	ascending(c.r, "disruptions", p.Disruptions, func(x *model.Disruption) model.DisruptionID { return x.ID })
	ascending(c.r, "placements", p.Placements, podOf)
	ascending(c.r, "pending", p.Pending, func(x *model.PendingPod) model.PodID { return x.Pod })
	ascending(c.r, "nodes", p.Nodes, func(x *model.NodeVerdict) model.NodeName { return x.Node })
	for _, claim := range p.NodeClaims {
		subject := "claim " + string(claim.ID)
		ascending(c.r, subject+" pods", claim.Pods, func(x *model.PodID) model.PodID { return *x })
		ascending(c.r, subject+" requests", claim.Requests, func(x *model.Amount) model.Resource { return x.Resource })
		for i := 1; i < len(claim.Requirements); i++ {
			if claim.Requirements[i-1].Key > claim.Requirements[i].Key {
				c.r.Fail(subject, "its requirements are not sorted at %s", claim.Requirements[i].Key)
			}
		}
	}
	for _, d := range p.Disruptions {
		subject := "disruption " + string(d.ID)
		candidates := d.Candidates
		if d.Staged { // they are drained in their order
			candidates = slices.Sorted(slices.Values(candidates))
		}
		ascending(c.r, subject+" candidates", candidates, func(x *model.ClaimID) model.ClaimID { return *x })
		ascending(c.r, subject+" replacements", d.Replacements, func(x *model.ClaimID) model.ClaimID { return *x })
		ascending(c.r, subject+" destinations", d.Destinations, podOf)
	}
	for _, pending := range p.Pending {
		ascending(c.r, "pending pod "+string(pending.Pod)+" pools", pending.Pools, func(x *model.PoolMiss) model.PoolName { return x.NodePool })
	}
}

func podOf(p *model.Placement) model.PodID { return p.Pod }

func ascending[V any, K cmp.Ordered](r *facts.Report, list string, values []V, key func(*V) K) {
	var zero K
	for i := range values {
		k := key(&values[i])
		switch {
		case k == zero:
			r.Fail(list, "entry %d has no id", i)
		case i > 0 && key(&values[i-1]) == k:
			r.Fail(list, "%v is there twice", k)
		case i > 0 && key(&values[i-1]) > k:
			r.Fail(list, "not sorted: %v comes after %v", k, key(&values[i-1]))
		}
	}
}

// turns checks that each turn to be bound is there once, and that buffers get what real pods leave.
func (c *contents) turns() {
	placed := c.f.InTurn()
	for i, pl := range placed {
		if pl.Order != int32(i) {
			c.r.Fail("placement of pod "+string(pl.Pod), "its turn is %d; every turn from 0 to %d must be there once", pl.Order, len(placed)-1)
			break
		}
	}
	for i := 1; i < len(placed); i++ {
		if placed[i-1].Pod.Virtual() && !placed[i].Pod.Virtual() {
			c.r.Fail("placement of pod "+string(placed[i].Pod), "its turn is after that of %s, which is only a buffer's", placed[i-1].Pod)
		}
	}
}

// kinds checks that nothing is in the plan that was not asked for.
func (c *contents) kinds() {
	p := c.f.Plan
	if !c.f.Asked(model.KindDisrupt) && len(p.Disruptions) > 0 {
		c.r.Fail("disruption "+string(p.Disruptions[0].ID), "disruptions were not asked for")
	}
	for _, claim := range p.NodeClaims {
		if !c.f.Asked(model.KindProvision) && claim.Disruption == "" {
			c.r.Fail("claim "+string(claim.ID), "claims for pending pods were not asked for")
		}
	}
}

// podsOnce checks that each pod that the plan names is one that it may decide on, and has one answer; and that no pod
// that waits for a node is left without one.
func (c *contents) podsOnce() {
	answered := make(map[model.PodID]string)
	answer := func(pod model.PodID, subject string) {
		if before, ok := answered[pod]; ok {
			c.r.Fail(subject, "pod %s has another answer already: %s", pod, before)
		}
		answered[pod] = subject
	}
	last := c.f.LastLeaves()
	for _, pl := range c.f.Plan.Placements {
		subject := "placement of pod " + string(pl.Pod)
		answer(pl.Pod, subject)
		c.oneTarget(subject, pl)
		if w := pl.WaitUntil; !w.IsZero() && (pl.Node == "" || !w.After(c.f.Input.Now) || w.After(last)) {
			c.r.Fail(subject, "it waits until %v for pods to leave %s, and the last that leaves is overdue at %v", w, facts.TargetOf(&pl), last)
		}
		c.undecided(subject, pl.Pod)
	}
	for _, pending := range c.f.Plan.Pending {
		subject := "pending pod " + string(pending.Pod)
		answer(pending.Pod, subject)
		c.undecided(subject, pending.Pod)
		c.reasons(subject, pending)
	}
	for _, d := range c.f.Plan.Disruptions {
		c.r.Blame(d.ID, func() {
			for _, pl := range d.Destinations {
				subject := "disruption " + string(d.ID) + " destination of pod " + string(pl.Pod)
				answer(pl.Pod, subject)
				c.oneTarget(subject, pl)
			}
		})
	}
	for i := range c.f.Cluster.Snapshot.Pods {
		p := &c.f.Cluster.Snapshot.Pods[i]
		waits := c.f.Asked(model.KindProvision) && p.Phase == model.PodUnschedulable && c.f.Cluster.Movable(p)
		if waits && answered[p.ID] == "" {
			c.r.Fail("pod "+string(p.ID), "it can't be scheduled, and the plan says nothing of it")
		}
	}
}

func (c *contents) oneTarget(subject string, pl model.Placement) {
	if (pl.Node == "") == (pl.Claim == "") {
		c.r.Fail(subject, "it must name either a node or a claim; node is %q and claim is %q", pl.Node, pl.Claim)
	}
}

// undecided checks that a pod needs a place: it has none, or its node is leaving already.
func (c *contents) undecided(subject string, id model.PodID) {
	p := c.f.Cluster.Pods[id]
	switch {
	case p == nil:
		c.r.Fail(subject, "there is no such pod")
	case !c.f.Cluster.Movable(p):
		c.r.Fail(subject, "this pod needs no place: it is a DaemonSet's, the kubelet's own, or being deleted")
	case p.Node != "" && !c.f.Cluster.NodeGoes(p.Node):
		c.r.Fail(subject, "it has a place already: node %s", p.Node)
	}
}

func (c *contents) reasons(subject string, p model.PendingPod) {
	if p.Reason.OK() || p.Reason.Message == "" {
		c.r.Fail(subject, "it stays pending without a reason")
	}
	pod := c.f.Cluster.Pods[p.Pod]
	ofPod := p.Reason.Code == model.CodeUnsupported && strings.HasPrefix(p.Reason.Subject, "pod/") // it may be the pools' too
	if ofPod && pod != nil && c.f.Unsupported(c.f.Cluster.Class(pod)) == "" {
		c.r.Fail(subject, "nothing of it is unsupported, and the plan says that something is: %s", p.Reason.Message)
	}
	for _, miss := range p.Pools {
		if c.f.Cluster.Pools[miss.NodePool] == nil {
			c.r.Fail(subject, "it names node pool %s, which does not exist", miss.NodePool)
		}
		if miss.Reason.OK() {
			c.r.Fail(subject, "node pool %s has no reason", miss.NodePool)
		}
	}
}

// verdicts checks that what is said of nodes agrees with what the plan does with them.
func (c *contents) verdicts() {
	said := make(map[model.ClaimID]bool)
	for _, v := range c.f.Plan.Nodes {
		subject := "verdict on node " + string(v.Node)
		if c.f.Cluster.Nodes[v.Node] == nil {
			c.r.Fail(subject, "there is no such node")
			continue
		}
		said[v.Claim] = true
		if v.Reason.OK() {
			c.r.Fail(subject, "it has no reason")
		}
		if v.Waste < 0 {
			c.r.Fail(subject, "it says that the node wastes %d", v.Waste)
		}
		if by := c.f.Decisions.TakenBy[v.Claim]; v.Disruption != by {
			c.r.Fail(subject, "it says that disruption %q takes the node, it is %q", v.Disruption, by)
		}
	}
	for _, d := range c.f.Plan.Disruptions {
		for _, id := range d.Candidates {
			if c.f.Cluster.NodeOf[id] != nil && !said[id] {
				c.r.Fail("disruption "+string(d.ID), "nothing is said of claim %s's node", id)
			}
		}
	}
}

// summary checks that what is said of the search can be.
func (c *contents) summary() {
	s := c.f.Plan.Summary
	switch {
	case s == nil:
	case !c.f.Asked(model.KindDisrupt):
		c.r.Fail("summary", "disruptions were not asked for")
	case s.Judged > s.Candidates || min(s.Judged, s.Candidates, s.Tried) < 0 || s.Floor < 0:
		c.r.Fail("summary", "of %d candidates %d were judged, of %d sets; the floor is %d", s.Candidates, s.Judged, s.Tried, s.Floor)
	case s.ResumeAfter != "" && c.f.Cluster.Live[s.ResumeAfter] == nil:
		c.r.Fail("summary", "it ends at claim %s, which does not exist, or has ended", s.ResumeAfter)
	}
}
