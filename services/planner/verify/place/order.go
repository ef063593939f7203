package place

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// Order binds the placed pods one after the other, in the order that the plan names, and checks each time that the pod may
// be among those that are there: the pods of now, and those that were bound before.
//
// All claims of the plan are there from the start, and on their nodes the pods of DaemonSets. A pod that leaves its
// node is nowhere until its turn, and for good if nothing was found for it: its node goes. A node that leaves anyway is
// not there when a pod's spread is judged. The pods that the plan's disruptions displace are still where they are.
func (c *Check) Order() {
	placed := c.f.InTurn()
	moved := make(map[model.PodID]bool)
	for _, pl := range placed {
		moved[pl.Pod] = true
	}
	for _, q := range c.f.Plan.Pending {
		moved[q.Pod] = true
	}
	begin := func() *filters {
		return c.boundNow(c.going, func(p *model.Pod) *Place {
			if moved[p.ID] || c.f.Leaves(p) {
				return nil
			}
			return c.places.nodes[p.Node]
		})
	}
	now := begin()
	for i, pl := range placed {
		pod, s := c.f.Cluster.Pods[pl.Pod], c.places.at(facts.TargetOf(&pl))
		if pod == nil || s == nil {
			continue // another rule is broken
		}
		class := c.f.Cluster.Class(pod)
		holds := func() bool { return c.after(begin(), placed[:i]).refuses(class, s) == "" }
		// A buffer's pods are never created: they take capacity, and what other pods have against them does not matter.
		if why := now.refuses(class, s); why != "" && !pl.Pod.Virtual() && !c.inEachOutcome([]*model.PodClass{class}, holds) {
			c.r.Fail("placement of pod "+string(pod.ID), "when it is its turn (%d) to go to %s, %s", pl.Order, s.subject, why)
		}
		now.put(pod, s)
	}
}

// after binds pods where they are placed.
func (c *Check) after(now *filters, placed []model.Placement) *filters {
	for _, pl := range placed {
		if pod, s := c.f.Cluster.Pods[pl.Pod], c.places.at(facts.TargetOf(&pl)); pod != nil && s != nil {
			now.put(pod, s)
		}
	}
	return now
}
