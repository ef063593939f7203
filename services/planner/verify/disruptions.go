package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// disruptions checks each of them by itself: its claims may go, its pods have a home, its money is right.
func (c *checker) disruptions() {
	taken := make(map[model.ClaimID]model.DisruptionID)
	for i := range c.plan.Disruptions {
		d := &c.plan.Disruptions[i]
		subject, before := "disruption "+string(d.ID), len(c.found)
		if len(d.Candidates) == 0 {
			c.fail(subject, "it takes nothing away")
		}
		for _, id := range d.Candidates {
			if other, ok := taken[id]; ok {
				c.fail(subject, "claim %s is taken away by %s already", id, other)
			}
			taken[id] = d.ID
			c.eligible(subject, d, id)
		}
		c.replacements(subject, d)
		c.stands(subject, d)
		c.displaced(subject, d)
		c.destinations(subject, d)
		c.saving(subject, d)
		c.churn(subject, d)
		c.spotForSpot(subject, d)
		c.ascribe(before, d.ID)
	}
	for _, claim := range c.plan.NodeClaims {
		if claim.Disruption == "" {
			continue
		}
		d := c.decision[claim.Disruption]
		if d == nil || !slices.Contains(d.Replacements, claim.ID) {
			c.fail("claim "+string(claim.ID), "disruption %s does not list it as a replacement", claim.Disruption)
		}
	}
}

// voluntary says whether a disruption is one that asks: its pods have a home first, and its nodes are well.
func voluntary(r model.DisruptionReason) bool {
	return consolidates(r) || r == model.ReasonDrifted || r == model.ReasonExpired
}

// consolidates says whether a disruption is for money.
func consolidates(r model.DisruptionReason) bool {
	return r == model.ReasonEmpty || r == model.ReasonUnderutilized
}

// byChoice says whether taking a claim could as well wait, so that budgets and pods may keep it: it can't any more once
// the claim has expired.
func (c *checker) byChoice(r model.DisruptionReason, claim *model.Claim) bool {
	return voluntary(r) && (r != model.ReasonExpired || c.in.Now.Before(claim.ExpireTime))
}

// forced says whether pods can't hold the disruption up: of a node that is too old and whose drain is bounded.
func (c *checker) forced(r model.DisruptionReason, claim *model.Claim) bool {
	return r == model.ReasonExpired && !c.byChoice(r, claim) && claim.TerminationGracePeriod != nil
}

// expires says whether a claim has expired or is about to: in the last hour of its life, or the last tenth of a short one.
func (c *checker) expires(claim *model.Claim) bool {
	if claim.ExpireTime.IsZero() {
		return false
	}
	window := min(time.Hour, claim.ExpireTime.Sub(claim.CreateTime)/10)
	return !c.in.Now.Before(claim.ExpireTime.Add(-max(0, window)))
}

// eligible checks that a claim may be taken away for the disruption's reason.
func (c *checker) eligible(subject string, d *model.Disruption, id model.ClaimID) {
	claim := c.live[id]
	if claim == nil {
		c.fail(subject, "claim %s does not exist, or has ended", id)
		return
	}
	if claim.State >= model.ClaimDraining || claim.Disruption != "" {
		c.fail(subject, "claim %s is being taken away already", id)
	}
	c.cause(subject, d, claim)
	if !voluntary(d.Reason) {
		return
	}
	node := c.nodeOf[id]
	switch {
	case c.leaving(claim):
		c.fail(subject, "claim %s is leaving already", id)
	case slices.Contains(c.in.Spare, id):
		c.fail(subject, "claim %s was to be left alone", id)
	case claim.State != model.ClaimInitialized:
		c.fail(subject, "claim %s is not initialized", id)
	case node == nil:
		c.fail(subject, "claim %s has no node", id)
	case node.DoNotDisrupt:
		c.fail(subject, "node %s must not be disrupted", node.Name)
	case !c.forced(d.Reason, claim):
		c.podsAllow(subject, node)
	}
	if node != nil && c.byChoice(d.Reason, claim) {
		c.rested(subject, node)
	}
	c.policy(subject, d, claim)
}

// cause checks that the reason is true of the claim.
func (c *checker) cause(subject string, d *model.Disruption, claim *model.Claim) {
	switch d.Reason {
	case model.ReasonEmpty:
		if node := c.nodeOf[claim.ID]; node != nil {
			for _, p := range c.podsOn[node.Name] {
				if c.movable(p) {
					c.fail(subject, "claim %s is not empty: pod %s is on it", claim.ID, p.ID)
					break
				}
			}
		}
	case model.ReasonUnderutilized:
	case model.ReasonDrifted:
		if c.drift(claim) == "" {
			c.fail(subject, "claim %s has not drifted", claim.ID)
		}
	case model.ReasonExpired:
		if !c.expires(claim) {
			c.fail(subject, "claim %s has not expired, and is not about to", claim.ID)
		}
	case model.ReasonUnhealthy:
		if n := c.nodeOf[claim.ID]; n == nil || c.in.Policy.Repair.Off || !c.sick(n) {
			c.fail(subject, "claim %s has no node that is sick beyond waiting", claim.ID)
		}
	case model.ReasonInterrupted:
		if !c.interrupted(claim) {
			c.fail(subject, "claim %s is not interrupted", claim.ID)
		}
	case model.ReasonSurplus:
		if pool := c.pools[claim.NodePool]; pool == nil || pool.Replicas == nil {
			c.fail(subject, "claim %s is not one of a static pool", claim.ID)
		}
		if c.leaving(claim) {
			c.fail(subject, "claim %s is leaving already", claim.ID)
		}
	default:
		c.fail(subject, "%s is no reason that the planner decides on", d.Reason)
	}
}

// podsAllow checks that no pod on a node keeps it from being disrupted by choice.
func (c *checker) podsAllow(subject string, node *model.Node) {
	for _, p := range c.podsOn[node.Name] {
		protected := p.DoNotDisrupt && (p.DoNotDisruptUntil.IsZero() || p.DoNotDisruptUntil.After(c.in.Now))
		if protected && !p.Terminating {
			c.fail(subject, "pod %s on node %s must not be disrupted", p.ID, node.Name)
		}
		if !c.movable(p) {
			continue
		}
		if c.class(p).OwnerKind == "" {
			c.fail(subject, "pod %s on node %s would be lost: nothing would make it again", p.ID, node.Name)
		}
		if n := len(c.covering(p)); n > 1 {
			c.fail(subject, "pod %s on node %s can't be evicted: %d disruption budgets cover it", p.ID, node.Name, n)
		}
	}
}

// policy checks what the pool says about consolidation.
func (c *checker) policy(subject string, d *model.Disruption, claim *model.Claim) {
	if !consolidates(d.Reason) {
		return
	}
	pool := c.pools[claim.NodePool]
	switch {
	case pool == nil:
		c.fail(subject, "node pool %s of claim %s does not exist", claim.NodePool, claim.ID)
	case pool.Replicas != nil:
		c.fail(subject, "node pool %s of claim %s is static", pool.Name, claim.ID)
	case pool.ConsolidateAfter == nil:
		c.fail(subject, "node pool %s never consolidates", pool.Name)
	case d.Reason == model.ReasonUnderutilized && pool.ConsolidationPolicy == model.WhenEmpty:
		c.fail(subject, "node pool %s consolidates empty nodes only", pool.Name)
	default:
		c.quiet(subject, claim, *pool.ConsolidateAfter)
	}
}

func (c *checker) quiet(subject string, claim *model.Claim, after time.Duration) {
	since := claim.InitializeTime
	if n := c.nodeOf[claim.ID]; n != nil && n.LastPodEventTime.After(since) {
		since = n.LastPodEventTime
	}
	if now := c.in.Now.Sub(since); now < after {
		c.fail(subject, "claim %s was quiet for %s, its pool asks for %s", claim.ID, now, after)
	}
}

// destinations checks that pods which are moved by choice find what can be relied on: a node that is there and well, or a
// replacement, for which the drain waits.
func (c *checker) destinations(subject string, d *model.Disruption) {
	if !voluntary(d.Reason) {
		return
	}
	for _, pl := range d.Destinations {
		if virtual(pl.Pod) {
			continue // nobody makes it, so that it may as well wait
		}
		fresh, node := c.fresh[pl.Claim], c.nodes[pl.Node]
		switch {
		case pl.Claim != "" && (fresh == nil || fresh.Disruption != d.ID):
			c.fail(subject, "pod %s is to go to claim %s, which is not ready and no replacement of this disruption", pl.Pod, pl.Claim)
		case node != nil:
			c.reliable(subject, d, pl, node)
		}
	}
}

func (c *checker) reliable(subject string, d *model.Disruption, pl model.Placement, node *model.Node) {
	claim := c.claimOn[node.Name]
	switch {
	case !node.Ready:
		c.fail(subject, "pod %s is to go to node %s, which is not ready", pl.Pod, node.Name)
	case claim == nil:
	case claim.State != model.ClaimInitialized:
		c.fail(subject, "pod %s is to go to node %s, which is not initialized", pl.Pod, node.Name)
	case d.Reason == model.ReasonUnderutilized:
		// Whoever has just changed may soon be given back for money as well, and the pod would move again.
		if pool := c.pools[claim.NodePool]; pool != nil && pool.ConsolidateAfter != nil {
			c.quiet(subject+" destination of pod "+string(pl.Pod), claim, *pool.ConsolidateAfter)
		}
	}
}

// replacements checks that they are claims of this plan that say so themselves.
func (c *checker) replacements(subject string, d *model.Disruption) {
	for _, id := range d.Replacements {
		fresh := c.fresh[id]
		switch {
		case fresh == nil:
			c.fail(subject, "its replacement %s is not a claim of this plan", id)
		case fresh.Disruption != d.ID:
			c.fail(subject, "its replacement %s belongs to %q", id, fresh.Disruption)
		}
	}
	if (d.Reason == model.ReasonEmpty || d.Reason == model.ReasonSurplus) && len(d.Replacements) > 0 {
		c.fail(subject, "nodes that are empty, or too many, need no replacement")
	}
}

// stands checks what takes the places of a static pool's nodes: one for one at most, so that the pool keeps its size, and
// drifted ones go one by one.
func (c *checker) stands(subject string, d *model.Disruption) {
	gone, come := make(map[model.PoolName]int), make(map[model.PoolName]int)
	for _, id := range d.Candidates {
		if claim := c.live[id]; claim != nil && c.static(claim.NodePool) {
			gone[claim.NodePool]++
		}
	}
	for _, id := range d.Replacements {
		if fresh := c.fresh[id]; fresh != nil && c.static(fresh.NodePool) {
			come[fresh.NodePool]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(come)) {
		if voluntary(d.Reason) && come[name] > gone[name] {
			c.fail(subject, "it replaces %d nodes of static pool %s by %d", gone[name], name, come[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if d.Reason == model.ReasonDrifted && (len(d.Candidates) != 1 || come[name] != 1) {
			c.fail(subject, "drifted nodes of static pool %s go one by one, each for another", name)
		}
	}
}

// evicted lists the pods on the candidates that leave them alive.
func (c *checker) evicted(d *model.Disruption) []*model.Pod {
	var out []*model.Pod
	for _, id := range d.Candidates {
		if node := c.nodeOf[id]; node != nil {
			for _, p := range c.podsOn[node.Name] {
				if c.movable(p) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// displaced checks that the pods on the candidates, and no others, have destinations.
func (c *checker) displaced(subject string, d *model.Disruption) {
	homeless := make(map[model.PodID]bool)
	for _, p := range c.evicted(d) {
		homeless[p.ID] = true
	}
	if d.Evictions != len(homeless) {
		c.fail(subject, "it says that it evicts %d pods, it evicts %d", d.Evictions, len(homeless))
	}
	for id := range homeless {
		if c.class(c.pods[id]).OwnerKind == "" {
			delete(homeless, id) // it ends with its node; podsAllow says where that may be
		}
	}
	for _, pl := range d.Destinations {
		if !homeless[pl.Pod] && !virtual(pl.Pod) {
			c.fail(subject, "pod %s has a destination and is on none of its nodes", pl.Pod)
		}
		delete(homeless, pl.Pod)
	}
	// Pods of nodes that go whatever happens may have to wait for a place.
	if len(homeless) > 0 && voluntary(d.Reason) {
		c.fail(subject, "%d pods of its nodes have no destination", len(homeless))
	}
}

// saving checks the money of one disruption.
func (c *checker) saving(subject string, d *model.Disruption) {
	if !consolidates(d.Reason) {
		return
	}
	var saved, weighed int64
	for _, id := range d.Candidates {
		if claim := c.live[id]; claim != nil {
			price := c.price(claim)
			if price <= 0 && d.Reason == model.ReasonUnderutilized {
				c.fail(subject, "the price of claim %s is not known", id)
			}
			saved += price
			weighed += c.weighed(claim)
		}
	}
	for _, id := range d.Replacements {
		if fresh := c.fresh[id]; fresh != nil {
			saved -= fresh.Price
			if len(fresh.Offerings) > 0 {
				weighed -= fresh.Offerings[0].Weighed()
			}
		}
	}
	if d.Saving != saved {
		c.fail(subject, "it says that it saves %d, it saves %d", d.Saving, saved)
	}
	if d.Reason == model.ReasonUnderutilized && (saved <= 0 || saved < c.in.Policy.MinSaving) {
		c.fail(subject, "it saves %d; that is not worth it (least is %d, and more than nothing)", saved, c.in.Policy.MinSaving)
	}
	if d.Reason == model.ReasonUnderutilized && weighed <= 0 {
		c.fail(subject, "at the prices that overlays say it saves %d; that is not worth it", weighed)
	}
}
