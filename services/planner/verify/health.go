package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// unhealthy says whether a node has had a condition for longer than the policy is patient with it.
func (d *disruptions) unhealthy(n *model.Node) bool {
	ways := d.f.Input.Policy.Repair.Conditions
	if len(ways) == 0 {
		ways = model.DefaultRepairConditions()
	}
	for _, has := range n.Conditions {
		for _, w := range ways {
			if has.Type == w.Type && has.Status == w.Status && !d.f.Input.Now.Before(has.TransitionTime.Add(w.After)) {
				return true
			}
		}
	}
	return false
}

// repairs checks that unhealthy nodes are taken only where few of the pool are: else the fault is not likely theirs.
func (d *disruptions) repairs() {
	taken := make(map[model.PoolName]bool)
	for _, x := range d.f.Plan.Disruptions {
		for _, id := range x.Candidates {
			if claim := d.f.Cluster.Live[id]; claim != nil && x.Reason == model.ReasonUnhealthy {
				taken[claim.NodePool] = true
			}
		}
	}
	percent := d.f.Input.Policy.Repair.MaxUnhealthyPercent
	if percent == 0 {
		percent = model.DefaultMaxUnhealthyPercent
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		nodes, unhealthy := 0, 0
		for id, claim := range d.f.Cluster.Live {
			if n := d.f.Cluster.NodeOf[id]; n != nil && claim.NodePool == name {
				nodes++
				if d.unhealthy(n) {
					unhealthy++
				}
			}
		}
		if most := (nodes*percent + 99) / 100; unhealthy > most {
			d.r.Fail("node pool "+string(name), "the plan takes unhealthy nodes; of its %d nodes %d are unhealthy, at most %d may be", nodes, unhealthy, most)
		}
	}
}
