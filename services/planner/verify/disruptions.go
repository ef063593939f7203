package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// disruptions checks each disruption by itself: its claims may go, its pods have a destination, its money is right.
type disruptions struct {
	f    *facts.Facts
	r    *facts.Report
	pdbs *pdbs
	paid *money
	// moves is which pods were moved by choice, rollouts which workloads are being rolled out; neither knows pods for a
	// plan without disruptions, because nothing asks then.
	moves    *rules.Moves
	rollouts rules.Rollouts
	drifting *rules.Drifting
}

func (d *disruptions) all() {
	if len(d.f.Plan.Disruptions) > 0 {
		d.addPods()
	}
	taken := make(map[model.ClaimID]model.DisruptionID)
	for i := range d.f.Plan.Disruptions {
		x := &d.f.Plan.Disruptions[i]
		d.r.Blame(x.ID, func() {
			subject := "disruption " + string(x.ID)
			if len(x.Candidates) == 0 {
				d.r.Fail(subject, "it takes nothing away")
			}
			if x.Staged && x.Reason != model.ReasonUnderutilized {
				d.r.Fail(subject, "only what saves money may be staged")
			}
			for _, id := range x.Candidates {
				if other, ok := taken[id]; ok {
					d.r.Fail(subject, "claim %s is taken away by %s already", id, other)
				}
				taken[id] = x.ID
				d.eligible(subject, x, id)
			}
			d.replacements(subject, x)
			d.static(subject, x)
			d.displaced(subject, x)
			d.destinations(subject, x)
			d.paid.of(subject, x)
		})
	}
	for _, claim := range d.f.Plan.NodeClaims {
		x := d.f.Decisions.Disruptions[claim.Disruption]
		if claim.Disruption != "" && (x == nil || !slices.Contains(x.Replacements, claim.ID)) {
			d.r.Fail("claim "+string(claim.ID), "disruption %s does not list it as a replacement", claim.Disruption)
		}
	}
}

// replacements checks that they are claims of this plan that say so themselves.
func (d *disruptions) replacements(subject string, x *model.Disruption) {
	for _, id := range x.Replacements {
		fresh := d.f.Decisions.Claims[id]
		switch {
		case fresh == nil:
			d.r.Fail(subject, "its replacement %s is not a claim of this plan", id)
		case fresh.Disruption != x.ID:
			d.r.Fail(subject, "its replacement %s belongs to %q", id, fresh.Disruption)
		}
	}
	if (x.Reason == model.ReasonEmpty || x.Reason == model.ReasonSurplus) && len(x.Replacements) > 0 {
		d.r.Fail(subject, "nodes that are empty, or too many, need no replacement")
	}
}

// static checks what takes the places of a static pool's nodes: one for one at most, so that the pool keeps its size, and
// drifted ones go one by one.
func (d *disruptions) static(subject string, x *model.Disruption) {
	gone, come := make(map[model.PoolName]int), make(map[model.PoolName]int)
	for _, id := range x.Candidates {
		if claim := d.f.Cluster.Live[id]; claim != nil && d.f.Cluster.Static(claim.NodePool) {
			gone[claim.NodePool]++
		}
	}
	for _, id := range x.Replacements {
		if fresh := d.f.Decisions.Claims[id]; fresh != nil && d.f.Cluster.Static(fresh.NodePool) {
			come[fresh.NodePool]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(come)) {
		if x.Reason.ByChoice() && come[name] > gone[name] {
			d.r.Fail(subject, "it replaces %d nodes of static pool %s by %d", gone[name], name, come[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if x.Reason == model.ReasonDrifted && (len(x.Candidates) != 1 || come[name] != 1) {
			d.r.Fail(subject, "drifted nodes of static pool %s go one by one, each for another", name)
		}
	}
}

// displaced checks that the pods on the candidates, and no others, have destinations.
func (d *disruptions) displaced(subject string, x *model.Disruption) {
	withoutDestination := make(map[model.PodID]bool)
	evicted := 0
	for _, p := range evictedBy(d.f, x) {
		evicted++
		// Others end with their nodes; podsAllow says where that may be.
		if c := d.f.Cluster.Class(p); c.OwnerKind != "" && d.f.Unsupported(c) == "" {
			withoutDestination[p.ID] = true
		}
	}
	if x.Evictions != evicted {
		d.r.Fail(subject, "it says that it evicts %d pods, it evicts %d", x.Evictions, evicted)
	}
	for _, pl := range x.Destinations {
		if !withoutDestination[pl.Pod] && !pl.Pod.Virtual() {
			d.r.Fail(subject, "pod %s has a destination and is on none of its nodes", pl.Pod)
		}
		delete(withoutDestination, pl.Pod)
	}
	// Pods of nodes that go whatever happens may have to wait for a place.
	if len(withoutDestination) > 0 && x.Reason.ByChoice() {
		d.r.Fail(subject, "%d pods of its nodes have no destination", len(withoutDestination))
	}
}

// evictedBy lists the pods on the candidates that leave them alive.
func evictedBy(f *facts.Facts, x *model.Disruption) []*model.Pod {
	var out []*model.Pod
	for i, id := range x.Candidates {
		if !slices.Contains(x.Candidates[:i], id) {
			out = append(out, f.Cluster.MovableOn(id)...)
		}
	}
	return out
}

// destinations checks that pods which are moved by choice find what can be relied on: a node that is there and well, or a
// replacement, for which the drain waits.
func (d *disruptions) destinations(subject string, x *model.Disruption) {
	for _, pl := range x.Destinations {
		if !x.Reason.ByChoice() || pl.Pod.Virtual() {
			continue // a buffer's pod may as well wait
		}
		fresh, node := d.f.Decisions.Claims[pl.Claim], d.f.Cluster.Nodes[pl.Node]
		switch {
		case pl.Claim != "" && (fresh == nil || fresh.Disruption != x.ID):
			d.r.Fail(subject, "pod %s is to go to claim %s, which is not ready and no replacement of this disruption", pl.Pod, pl.Claim)
		case node != nil:
			d.reliable(subject, x, pl, node)
		}
	}
}

func (d *disruptions) reliable(subject string, x *model.Disruption, pl model.Placement, node *model.Node) {
	claim := d.f.Cluster.ClaimOn[node.Name]
	switch {
	case !node.Ready:
		d.r.Fail(subject, "pod %s is to go to node %s, which is not ready", pl.Pod, node.Name)
	case claim == nil:
	case claim.State != model.ClaimInitialized:
		d.r.Fail(subject, "pod %s is to go to node %s, which is not initialized", pl.Pod, node.Name)
	case x.Reason == model.ReasonUnderutilized:
		// A node that has just changed may soon be disrupted for money as well, and the pod would move again.
		if pool := d.f.Cluster.Pools[claim.NodePool]; pool != nil && pool.ConsolidateAfter != nil {
			d.quiet(subject+" destination of pod "+string(pl.Pod), claim, pool)
		}
	}
}
