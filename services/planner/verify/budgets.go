package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// budgets checks that the plan does not disrupt too much at once.
type budgets struct {
	f    *facts.Facts
	r    *facts.Report
	pdbs *pdbs
}

// pools checks each pool's active budgets. Nodes that are on their way out, or not ready, use budgets up.
func (b *budgets) pools() {
	for _, name := range slices.Sorted(maps.Keys(b.f.Cluster.Pools)) {
		nodes, busy, leaving := b.nodes(name)
		first := b.first(name)
		active, _ := rules.ActiveBudgets(b.f.Cluster.Pools[name].Budgets, b.f.Input.Now)
		for i := range active {
			budget := &active[i].DisruptionBudget
			going, allowed := b.going(name, budget), rules.BudgetNodes(budget, nodes)
			if going > 0 && busy+first+going > allowed {
				b.r.Fail("node pool "+string(name), "a budget allows %d nodes at once; %d are going, the plan takes %d more", allowed, busy, first+going)
			}
		}
		repaired := rules.PoolNodes{Pool: name, Nodes: nodes, Disrupting: leaving, More: b.repaired(name)}
		if r := rules.BudgetAllows(active, model.ReasonUnhealthy, repaired); repaired.More > 0 && !r.OK() {
			b.r.Fail("node pool "+string(name), "the plan takes %d unhealthy nodes: %s", repaired.More, r.Message)
		}
	}
}

// repaired counts a pool's nodes that the plan takes away because they are unhealthy, whether budgets count them or not.
func (b *budgets) repaired(pool model.PoolName) (n int) {
	for _, d := range b.f.Plan.Disruptions {
		for _, id := range d.Candidates {
			if claim := b.f.Cluster.Live[id]; claim != nil && claim.NodePool == pool && d.Reason == model.ReasonUnhealthy {
				n++
			}
		}
	}
	return n
}

// first counts a pool's nodes that the plan takes away before any by choice, and that are not busy already. They use
// budgets up whatever those cap.
func (b *budgets) first(pool model.PoolName) (n int) {
	for _, d := range b.f.Plan.Disruptions {
		for _, id := range d.Candidates {
			claim := b.f.Cluster.Live[id]
			if claim != nil && claim.NodePool == pool && !d.Reason.ByChoice() && b.counted(claim) && !b.busy(claim) {
				n++
			}
		}
	}
	return n
}

// counted says that a claim's node got as far as being initialized.
func (b *budgets) counted(claim *model.Claim) bool {
	initialized := claim.State >= model.ClaimInitialized && (claim.State == model.ClaimInitialized || claim.Reached >= model.ClaimInitialized)
	return initialized && claim.State != model.ClaimTerminating && b.f.Cluster.NodeOf[claim.ID] != nil
}

// busy says that a claim's node is going, or not ready.
func (b *budgets) busy(claim *model.Claim) bool {
	return b.f.Cluster.Leaving(claim) || !b.f.Cluster.NodeOf[claim.ID].Ready
}

// nodes counts a pool's nodes that got as far as being initialized, those of them that are busy going or not ready, and
// those that are going.
func (b *budgets) nodes(pool model.PoolName) (nodes, busy, leaving int) {
	for _, claim := range b.f.Cluster.Live {
		if claim.NodePool != pool || !b.counted(claim) {
			continue
		}
		nodes++
		if b.f.Cluster.Leaving(claim) {
			leaving++
		}
		if b.busy(claim) {
			busy++
		}
	}
	return nodes, busy, leaving
}

// going counts the nodes of a pool that the plan takes away by choice for a reason that a budget caps. Expired ones go
// whatever budgets say.
func (b *budgets) going(pool model.PoolName, budget *model.DisruptionBudget) int {
	n := 0
	for _, d := range b.f.Plan.Disruptions {
		if !rules.BudgetCaps(budget, d.Reason) {
			continue
		}
		of := 0
		for _, id := range d.Candidates {
			claim, node := b.f.Cluster.Live[id], b.f.Cluster.NodeOf[id]
			// A node that is not ready is counted as busy.
			if claim != nil && claim.NodePool == pool && node != nil && node.Ready && mayWait(b.f, d.Reason, claim) {
				of++
			}
		}
		n += rules.AtOnce(of, d.Staged)
	}
	return n
}

// pods checks that evictions by choice stay within what pod disruption budgets allow now, all together, and beside those
// that drains of before have yet to do.
func (b *budgets) pods() {
	before := b.toBeEvicted()
	evictions := make(map[*model.PodDisruptionBudget]map[model.ClaimID]int)
	for _, d := range b.f.Plan.Disruptions {
		for _, id := range d.Candidates {
			if claim := b.f.Cluster.Live[id]; claim != nil && d.Reason.ByChoice() && !forced(b.f, d.Reason, claim) {
				b.countEvictions(evictions, id)
			}
		}
	}
	for i := range b.f.Cluster.Snapshot.PodDisruptionBudgets {
		pdb := &b.f.Cluster.Snapshot.PodDisruptionBudgets[i]
		n := 0
		for _, pods := range evictions[pdb] {
			n += pods
		}
		// One node alone may have more of its pods than may go at once: its drain takes them one after the other.
		oneByOne := len(evictions[pdb]) == 1 && pdb.DisruptionsAllowed > 0 && before[pdb] == 0
		if n > 0 && (pdb.NeverAllows || n+before[pdb] > int(pdb.DisruptionsAllowed) && !oneByOne) {
			b.r.Fail("pod disruption budget "+pdb.ID, "the plan evicts %d of its pods beside %d on nodes that go already, it allows %d",
				n, before[pdb], pdb.DisruptionsAllowed)
		}
	}
}

// toBeEvicted counts the pods on nodes that go already, where nothing holds their drains up.
func (b *budgets) toBeEvicted() map[*model.PodDisruptionBudget]int {
	out := make(map[*model.PodDisruptionBudget]int)
	for name, pods := range b.f.Cluster.PodsOn {
		holds := func(p *model.Pod) bool {
			return rules.HoldsDrain(p, b.f.Cluster.Class(p), b.pdbs.covering(p), b.f.Input.Now)
		}
		if b.f.Cluster.Nodes[name] == nil || !b.f.Cluster.NodeGoes(name) || slices.ContainsFunc(pods, holds) {
			continue
		}
		for _, p := range pods {
			for _, pdb := range b.pdbs.covering(p) {
				if rules.ToBeEvicted(p, b.f.Cluster.Class(p)) && rules.CountsEviction(pdb, p) {
					out[pdb]++
				}
			}
		}
	}
	return out
}

// countEvictions counts the pods on a claim's node whose eviction pod disruption budgets count.
func (b *budgets) countEvictions(evictions map[*model.PodDisruptionBudget]map[model.ClaimID]int, id model.ClaimID) {
	for _, p := range b.f.Cluster.MovableOn(id) {
		for _, pdb := range b.pdbs.covering(p) {
			if !rules.CountsEviction(pdb, p) {
				continue
			}
			if evictions[pdb] == nil {
				evictions[pdb] = make(map[model.ClaimID]int)
			}
			evictions[pdb][id]++
		}
	}
}

// pdbs finds the pod disruption budgets that pick pods.
type pdbs struct {
	f *facts.Facts
	// known are those of a class, as far as they were asked for.
	known map[model.ClassID][]*model.PodDisruptionBudget
}

func newPDBs(f *facts.Facts) *pdbs {
	return &pdbs{f: f, known: make(map[model.ClassID][]*model.PodDisruptionBudget)}
}

func (p *pdbs) covering(pod *model.Pod) []*model.PodDisruptionBudget {
	out, ok := p.known[pod.Class]
	if ok {
		return out
	}
	class := p.f.Cluster.Class(pod)
	for i := range p.f.Cluster.Snapshot.PodDisruptionBudgets {
		pdb := &p.f.Cluster.Snapshot.PodDisruptionBudgets[i]
		if class.Namespace == pdb.Namespace && pdb.Selector.Matches(class.Labels) {
			out = append(out, pdb)
		}
	}
	p.known[pod.Class] = out
	return out
}
