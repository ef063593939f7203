package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// budgets checks that the plan does not take too much away at once.
func (c *checker) budgets() {
	c.poolBudgets()
	c.podBudgets()
}

// poolBudgets checks each pool's active budgets. Nodes that are on their way out, or not ready, use budgets up.
func (c *checker) poolBudgets() {
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		pool := c.pools[name]
		nodes, busy := c.poolNodes(name)
		for i, b := range pool.Budgets {
			going := c.going(name, b.Reasons)
			if going == 0 || !active(b, c.in.Now) {
				continue
			}
			allowed := int(b.Count)
			if b.IsPercent {
				allowed = (int(b.Count)*nodes + 99) / 100
			}
			if busy+going > allowed {
				c.fail("node pool "+string(name), "budget %d allows %d nodes at once; %d are going, the plan takes %d more", i, allowed, busy, going)
			}
		}
	}
}

// poolNodes counts a pool's nodes that got as far as being initialized, and those of them that are busy going.
func (c *checker) poolNodes(pool model.PoolName) (nodes, busy int) {
	for _, claim := range c.live {
		node := c.nodeOf[claim.ID]
		initialized := claim.State >= model.ClaimInitialized && (claim.State == model.ClaimInitialized || claim.Reached >= model.ClaimInitialized)
		if claim.NodePool != pool || node == nil || !initialized || claim.State == model.ClaimTerminating {
			continue
		}
		nodes++
		if c.leaving(claim) || !node.Ready {
			busy++
		}
	}
	return nodes, busy
}

// going counts the nodes of a pool that the plan takes away by choice for one of some reasons; none means any. Expired ones
// go whatever budgets say.
func (c *checker) going(pool model.PoolName, reasons []model.DisruptionReason) int {
	n := 0
	for _, d := range c.plan.Disruptions {
		if !voluntary(d.Reason) || (len(reasons) > 0 && !slices.Contains(reasons, d.Reason)) {
			continue
		}
		for _, id := range d.Candidates {
			claim := c.live[id]
			// A node that is not ready is counted as busy.
			if claim != nil && c.byChoice(d.Reason, claim) && claim.NodePool == pool && c.nodeOf[id] != nil && c.nodeOf[id].Ready {
				n++
			}
		}
	}
	return n
}

// podBudgets checks that evictions by choice stay within what pod disruption budgets allow now, all together.
func (c *checker) podBudgets() {
	evictions := make(map[*model.PodDisruptionBudget]map[model.NodeName]int)
	for _, d := range c.plan.Disruptions {
		if !voluntary(d.Reason) {
			continue
		}
		for _, id := range d.Candidates {
			if claim := c.live[id]; claim != nil && !c.forced(d.Reason, claim) {
				c.countEvictions(evictions, id)
			}
		}
	}
	for i := range c.snap.PodDisruptionBudgets {
		pdb := &c.snap.PodDisruptionBudgets[i]
		n := 0
		for _, pods := range evictions[pdb] {
			n += pods
		}
		// One node alone may have more of its pods than may go at once: its drain takes them one after the other.
		oneByOne := len(evictions[pdb]) == 1 && pdb.DisruptionsAllowed > 0
		if n > 0 && (pdb.NeverAllows || n > int(pdb.DisruptionsAllowed) && !oneByOne) {
			c.fail("pod disruption budget "+pdb.ID, "the plan evicts %d of its pods, it allows %d", n, pdb.DisruptionsAllowed)
		}
	}
}

// countEvictions counts the pods on a claim's node whose eviction pod disruption budgets count.
func (c *checker) countEvictions(evictions map[*model.PodDisruptionBudget]map[model.NodeName]int, id model.ClaimID) {
	node := c.nodeOf[id]
	if node == nil {
		return
	}
	for _, p := range c.podsOn[node.Name] {
		if !c.movable(p) {
			continue
		}
		for _, pdb := range c.covering(p) {
			if p.Ready || !pdb.AlwaysAllowUnhealthy {
				if evictions[pdb] == nil {
					evictions[pdb] = make(map[model.NodeName]int)
				}
				evictions[pdb][node.Name]++
			}
		}
	}
}

// covering lists the pod disruption budgets that pick a pod.
func (c *checker) covering(p *model.Pod) []*model.PodDisruptionBudget {
	known, ok := c.pdbs[p.Class]
	if ok {
		return known
	}
	class := c.class(p)
	for i := range c.snap.PodDisruptionBudgets {
		pdb := &c.snap.PodDisruptionBudgets[i]
		if class.Namespace == pdb.Namespace && pdb.Selector.Matches(class.Labels) {
			known = append(known, pdb)
		}
	}
	c.pdbs[p.Class] = known
	return known
}
