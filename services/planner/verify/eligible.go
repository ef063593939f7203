package verify

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// mayWait says whether taking a claim could as well wait, so that budgets and pods may keep it: it can't any more once the
// claim has expired.
func mayWait(f *facts.Facts, r model.DisruptionReason, claim *model.Claim) bool {
	return r.ByChoice() && (r != model.ReasonExpired || f.Input.Now.Before(claim.ExpireTime))
}

// forced says whether pods can't hold the disruption up: of a node that is too old and whose drain is bounded.
func forced(f *facts.Facts, r model.DisruptionReason, claim *model.Claim) bool {
	return r == model.ReasonExpired && !mayWait(f, r, claim) && claim.TerminationGracePeriod != nil
}

// expires says whether a claim has expired or is about to: in the last hour of its life, or the last tenth of a short one.
func (d *disruptions) expires(claim *model.Claim) bool {
	if claim.ExpireTime.IsZero() {
		return false
	}
	window := min(time.Hour, claim.ExpireTime.Sub(claim.CreateTime)/10)
	return !d.f.Input.Now.Before(claim.ExpireTime.Add(-max(0, window)))
}

// eligible checks that a claim may be taken away for the disruption's reason.
func (d *disruptions) eligible(subject string, x *model.Disruption, id model.ClaimID) {
	claim := d.f.Cluster.Live[id]
	if claim == nil {
		d.r.Fail(subject, "claim %s does not exist, or has ended", id)
		return
	}
	if claim.State >= model.ClaimDraining || claim.Disruption != "" {
		d.r.Fail(subject, "claim %s is being taken away already", id)
	}
	d.cause(subject, x, claim)
	if !x.Reason.ByChoice() {
		return
	}
	node := d.f.Cluster.NodeOf[id]
	switch {
	case d.f.Cluster.Leaving(claim):
		d.r.Fail(subject, "claim %s is leaving already", id)
	case slices.Contains(d.f.Input.Spare, id):
		d.r.Fail(subject, "claim %s was to be left alone", id)
	case claim.State != model.ClaimInitialized:
		d.r.Fail(subject, "claim %s is not initialized", id)
	case node == nil:
		d.r.Fail(subject, "claim %s has no node", id)
	case node.DoNotDisrupt:
		d.r.Fail(subject, "node %s must not be disrupted", node.Name)
	case !forced(d.f, x.Reason, claim):
		d.podsAllow(subject, node)
	}
	if node != nil && mayWait(d.f, x.Reason, claim) {
		d.rested(subject, node)
	}
	if consolidates(x.Reason) {
		d.policy(subject, x, claim)
	}
}

// cause checks that the reason is true of the claim.
func (d *disruptions) cause(subject string, x *model.Disruption, claim *model.Claim) {
	switch x.Reason {
	case model.ReasonEmpty:
		if pods := d.f.Cluster.MovableOn(claim.ID); len(pods) > 0 {
			d.r.Fail(subject, "claim %s is not empty: pod %s is on it", claim.ID, pods[0].ID)
		}
	case model.ReasonUnderutilized:
	case model.ReasonDrifted:
		if d.drift(claim) == "" {
			d.r.Fail(subject, "claim %s has not drifted", claim.ID)
		}
	case model.ReasonExpired:
		if !d.expires(claim) {
			d.r.Fail(subject, "claim %s has not expired, and is not about to", claim.ID)
		}
	case model.ReasonUnhealthy:
		if n := d.f.Cluster.NodeOf[claim.ID]; n == nil || d.f.Input.Policy.Repair.Off || !d.unhealthy(n) {
			d.r.Fail(subject, "claim %s has no node that was unhealthy for long enough", claim.ID)
		}
	case model.ReasonInterrupted:
		if !d.f.Cluster.Interrupted(claim) {
			d.r.Fail(subject, "claim %s is not interrupted", claim.ID)
		}
	case model.ReasonSurplus:
		if !d.f.Cluster.Static(claim.NodePool) {
			d.r.Fail(subject, "claim %s is not one of a static pool", claim.ID)
		}
		if d.f.Cluster.Leaving(claim) {
			d.r.Fail(subject, "claim %s is leaving already", claim.ID)
		}
	default:
		d.r.Fail(subject, "%s is no reason that the planner decides on", x.Reason)
	}
}

// podsAllow checks that no pod on a node keeps it from being disrupted by choice.
func (d *disruptions) podsAllow(subject string, node *model.Node) {
	for _, p := range d.f.Cluster.PodsOn[node.Name] {
		protected := p.DoNotDisrupt && (p.DoNotDisruptUntil.IsZero() || p.DoNotDisruptUntil.After(d.f.Input.Now))
		if protected && !p.Terminating {
			d.r.Fail(subject, "pod %s on node %s must not be disrupted", p.ID, node.Name)
		}
		if !d.f.Cluster.Movable(p) {
			continue
		}
		if d.f.Cluster.Class(p).OwnerKind == "" {
			d.r.Fail(subject, "pod %s on node %s would be lost: nothing would make it again", p.ID, node.Name)
		}
		if n := len(d.pdbs.covering(p)); n > 1 {
			d.r.Fail(subject, "pod %s on node %s can't be evicted: %d disruption budgets cover it", p.ID, node.Name, n)
		}
	}
}

// policy checks what the pool says about consolidation.
func (d *disruptions) policy(subject string, x *model.Disruption, claim *model.Claim) {
	pool := d.f.Cluster.Pools[claim.NodePool]
	switch {
	case pool == nil:
		d.r.Fail(subject, "node pool %s of claim %s does not exist", claim.NodePool, claim.ID)
	case pool.Replicas != nil:
		d.r.Fail(subject, "node pool %s of claim %s is static", pool.Name, claim.ID)
	case pool.ConsolidateAfter == nil:
		d.r.Fail(subject, "node pool %s never consolidates", pool.Name)
	case x.Reason == model.ReasonUnderutilized && pool.ConsolidationPolicy == model.WhenEmpty:
		d.r.Fail(subject, "node pool %s consolidates empty nodes only", pool.Name)
	default:
		d.quiet(subject, claim, *pool.ConsolidateAfter)
	}
}

func (d *disruptions) quiet(subject string, claim *model.Claim, after time.Duration) {
	since := claim.InitializeTime
	if n := d.f.Cluster.NodeOf[claim.ID]; n != nil && n.LastPodEventTime.After(since) {
		since = n.LastPodEventTime
	}
	if now := d.f.Input.Now.Sub(since); now < after {
		d.r.Fail(subject, "claim %s was quiet for %s, its pool asks for %s", claim.ID, now, after)
	}
}
