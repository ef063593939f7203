package verify

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

// turns binds the placed pods one after the other, in the order that the plan names, and checks each time that the pod
// may be among those that are there: the pods of now, and those that had their turn before.
//
// All claims of the plan are there from the start, and on their nodes the pods of DaemonSets. A pod that leaves its node is
// nowhere until its turn, and for good if nothing was found for it: its node goes. A node that leaves anyway, or a replacement, may be there or not when a pod's spread is judged: either will do. The pods that the
// plan's disruptions displace are still where they are.
func (c *checker) turns() {
	c.addSites()
	placed := slices.Clone(c.plan.Placements)
	slices.SortStableFunc(placed, func(a, b model.Placement) int { return cmp.Compare(a.Order, b.Order) })
	moved := make(map[model.PodID]bool)
	used := make(map[model.ClaimID]bool)
	for _, pl := range placed {
		moved[pl.Pod] = true
		used[pl.Claim] = true
	}
	passing := c.goingSites()
	for _, q := range c.plan.Pending {
		moved[q.Pod] = true
	}
	for i := range c.plan.NodeClaims {
		if claim := &c.plan.NodeClaims[i]; claim.Disruption != "" && !used[claim.ID] {
			passing[c.claimSites[claim.ID]] = true
		}
	}
	m := c.newMoment(passing)
	for i := range c.snap.Pods {
		p := &c.snap.Pods[i]
		if s := c.nodeSites[p.Node]; s != nil && !moved[p.ID] {
			m.put(p, s)
		}
	}
	m.putDaemons()
	c.inOrder(placed)
	c.realFirst(placed)
	for _, pl := range placed {
		pod, s := c.pods[pl.Pod], c.site(pl)
		if pod == nil || s == nil {
			continue // podsOnce and rooms tell
		}
		// A buffer's pods are never made: they take room, and what other pods have against them does not matter.
		if why := m.refuses(c.class(pod), s); why != "" && !virtual(pl.Pod) {
			c.fail("placement of pod "+string(pod.ID), "when it is its turn (%d) to go to %s, %s", pl.Order, s.name, why)
		}
		m.put(pod, s)
	}
}

// inOrder checks that the plan names an order: each turn once.
func (c *checker) inOrder(placed []model.Placement) {
	for i, pl := range placed {
		if pl.Order != int32(i) {
			c.fail("placement of pod "+string(pl.Pod), "its turn is %d; every turn from 0 to %d must be there once", pl.Order, len(placed)-1)
			return
		}
	}
}

// realFirst checks that buffers get what real pods leave.
func (c *checker) realFirst(placed []model.Placement) {
	for i := 1; i < len(placed); i++ {
		if virtual(placed[i-1].Pod) && !virtual(placed[i].Pod) {
			c.fail("placement of pod "+string(placed[i].Pod), "its turn is after that of %s, which is only a buffer's", placed[i-1].Pod)
		}
	}
}

// virtual says whether a pod is a buffer's, which nobody ever makes.
func virtual(id model.PodID) bool {
	_, ok := offer.Virtual(id)
	return ok
}

// goingSites are the nodes and claims that leave whatever the plan says.
func (c *checker) goingSites() map[*site]bool {
	out := make(map[*site]bool)
	for i := range c.snap.Nodes {
		if name := c.snap.Nodes[i].Name; c.nodeGoes(name) {
			out[c.nodeSites[name]] = true
		}
	}
	for id, claim := range c.live {
		if s := c.claimSites[id]; s != nil && c.leaving(claim) {
			out[s] = true
		}
	}
	return out
}

func (c *checker) site(pl model.Placement) *site {
	if pl.Node != "" {
		return c.nodeSites[pl.Node]
	}
	return c.claimSites[pl.Claim]
}
