package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// sick says whether a node has had a condition for longer than the policy is patient with it.
func (c *checker) sick(n *model.Node) bool {
	ways := c.in.Policy.Repair.Conditions
	if len(ways) == 0 {
		ways = model.DefaultRepairConditions()
	}
	for _, has := range n.Conditions {
		for _, w := range ways {
			if has.Type == w.Type && has.Status == w.Status && !c.in.Now.Before(has.TransitionTime.Add(w.After)) {
				return true
			}
		}
	}
	return false
}

// repairs checks that sick nodes are taken only where few of the pool are sick: else the fault is not likely theirs.
func (c *checker) repairs() {
	taken := make(map[model.PoolName]bool)
	for _, d := range c.plan.Disruptions {
		for _, id := range d.Candidates {
			if claim := c.live[id]; claim != nil && d.Reason == model.ReasonUnhealthy {
				taken[claim.NodePool] = true
			}
		}
	}
	percent := c.in.Policy.Repair.MaxUnhealthyPercent
	if percent == 0 {
		percent = model.DefaultMaxUnhealthyPercent
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		nodes, sick := 0, 0
		for id, claim := range c.live {
			if n := c.nodeOf[id]; n != nil && claim.NodePool == name {
				nodes++
				if c.sick(n) {
					sick++
				}
			}
		}
		if most := (nodes*percent + 99) / 100; sick > most {
			c.fail("node pool "+string(name), "the plan takes sick nodes; of its %d nodes %d are sick, at most %d may be", nodes, sick, most)
		}
	}
}
