package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// Order binds the placed pods one after the other, in the order that the plan names, and checks each time that the pod may
// be among those that are there: the pods of now, and those that were bound before.
//
// All claims of the plan are there from the start, and on their nodes the pods of DaemonSets. A pod that leaves its node is
// nowhere until its turn, and for good if nothing was found for it: its node goes. A node that leaves anyway is not there when a
// pod's spread is judged; a replacement may be there or not, and either will do. The pods that the plan's disruptions
// displace are still where they are.
func (c *Check) Order() {
	placed := c.inOrder()
	moved := make(map[model.PodID]bool)
	used := make(map[model.ClaimID]bool)
	for _, pl := range placed {
		moved[pl.Pod] = true
		used[pl.Claim] = true
	}
	for _, q := range c.f.Plan.Pending {
		moved[q.Pod] = true
	}
	transient := maps.Clone(c.going)
	for i := range c.f.Plan.NodeClaims {
		if claim := &c.f.Plan.NodeClaims[i]; claim.Disruption != "" && !used[claim.ID] {
			transient[c.places.New(claim)] = true
		}
	}
	now := c.boundNow(transient, func(p *model.Pod) *Place {
		if moved[p.ID] {
			return nil
		}
		return c.places.nodes[p.Node]
	})
	c.numbered(placed)
	for _, pl := range placed {
		pod, s := c.f.Cluster.Pods[pl.Pod], c.places.at(facts.TargetOf(&pl))
		if pod == nil || s == nil {
			continue // another rule is broken
		}
		// A buffer's pods are never created: they take capacity, and what other pods have against them does not matter.
		if why := now.refuses(c.f.Cluster.Class(pod), s); why != "" && !facts.Virtual(pl.Pod) {
			c.r.Fail("placement of pod "+string(pod.ID), "when it is its turn (%d) to go to %s, %s", pl.Order, s.subject, why)
		}
		now.put(pod, s)
	}
}

func (c *Check) inOrder() []model.Placement {
	placed := slices.Clone(c.f.Plan.Placements)
	slices.SortStableFunc(placed, func(a, b model.Placement) int { return cmp.Compare(a.Order, b.Order) })
	return placed
}

// numbered checks that each turn is there once, and that buffers get what real pods leave.
func (c *Check) numbered(placed []model.Placement) {
	for i, pl := range placed {
		if pl.Order != int32(i) {
			c.r.Fail("placement of pod "+string(pl.Pod), "its turn is %d; every turn from 0 to %d must be there once", pl.Order, len(placed)-1)
			break
		}
	}
	for i := 1; i < len(placed); i++ {
		if facts.Virtual(placed[i-1].Pod) && !facts.Virtual(placed[i].Pod) {
			c.r.Fail("placement of pod "+string(placed[i].Pod), "its turn is after that of %s, which is only a buffer's", placed[i-1].Pod)
		}
	}
}
