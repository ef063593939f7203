// Package disruption is the life of an accepted disruption as a pure function: Step takes its record and what is seen of
// the claims that it names, and returns the record as it is now and what must be done.
//
// A disruption waits for its replacements, then drains its candidates, then ends; or it is rolled back while it still
// waits, and its candidates stay. It never acts and has no clock; it must know neither etcd nor AWS nor Kubernetes beyond
// the values of the ports. The caller stores the returned record before it carries out an effect. It may drop an effect:
// a drain is asked for again by the next Step, and a candidate is released by Released for as long as it names a
// disruption that was rolled back, or that it was left out of. It may repeat one: all are idempotent.
//
// Start reading at Step; testdata/table.golden prints what it answers. retain.go says how long records are kept.
package disruption

import (
	"iter"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Timeout is how long a disruption waits for its replacements to be initialized: launch and registration have their own
// limits, which add up to less.
const Timeout = 30 * time.Minute

// Facts are what a disruption's next step depends on.
type Facts struct {
	// Candidates and Replacements are what is known of the claims that the record names, in its order.
	Candidates, Replacements []Member
	// WaitForDaemonPods lets a drain begin only when the DaemonSet pods on the replacements are ready, too.
	WaitForDaemonPods bool
	// Others are the records of the other disruptions, which are many, nil for none, and Claim looks up a claim that a
	// record names, nil when it is not stored any more. Both are needed where a disruption for drift is given up.
	Others iter.Seq[*model.DisruptionRecord]
	Claim  func(model.ClaimID) *model.Claim
	// Allows says that budgets let so many more nodes of a pool be drained now for a reason. Needed where the
	// disruption is staged.
	Allows func(pool model.PoolName, why model.DisruptionReason, more int) bool
	// Stops says that a budget lets none of a pool's nodes go now for a reason, however few do. Nil for never.
	Stops func(pool model.PoolName, why model.DisruptionReason) bool
}

// Member is a claim that the disruption names.
type Member struct {
	// Claim is nil when it is not stored any more.
	Claim *model.Claim
	// Node is nil when the cluster shows no node for the claim.
	Node *Node
}

// Node is a member's node as far as a disruption looks.
type Node struct {
	Name  model.NodeName
	Ready bool
	// Tainted says that the node's taint keeps new pods off.
	Tainted bool
	Pods    []cluster.Pod
}

// EffectKind is what must be done.
type EffectKind int

// The effects.
const (
	EffectUnspecified EffectKind = iota
	// EffectDrain: the node of Claim must go for the disruption's reason; Deadline, if set, is when it is gone whatever
	// happens.
	EffectDrain
	// EffectRollBack: Claim stays.
	EffectRollBack
	// EffectEvent: Event is reported to users.
	EffectEvent
)

// Effect is something to do.
type Effect struct {
	Kind     EffectKind
	Claim    model.ClaimID
	Deadline time.Time
	Event    cluster.Event
}

// Result is the answer to what is seen.
type Result struct {
	Disruption model.DisruptionRecord
	Effects    []Effect
	// Wake is when the disruption should be looked at again though nothing is seen to change; zero for never.
	Wake time.Time
}

// Step moves a disruption on: it drains the candidates once their replacements are ready, gives up when one of
// those failed, and ends when the candidates have. The replacement of an unhealthy node is not waited for, and there is no
// way back from a drain that has begun.
func Step(d model.DisruptionRecord, f Facts, now time.Time) Result {
	switch {
	case !d.EndTime.IsZero():
		return Result{Disruption: d}
	case d.Reason == model.ReasonUnhealthy || begun(d, f):
		return drain(d, f, now)
	}
	if why := failure(d, f, now); why != "" {
		return rollBack(d, f, why, now)
	}
	if awaited(d, f) == "" && tainted(f) {
		return drain(d, f, now)
	}
	return Result{Disruption: d, Wake: d.AcceptTime.Add(Timeout)}
}

// Released says that a claim that names the disruption is not its candidate any more: it was rolled back, the claim was
// left out, or there is no record of it (nil).
func Released(d *model.DisruptionRecord, claim model.ClaimID) bool {
	return d == nil || d.RolledBack || !slices.Contains(d.Candidates, claim)
}

// begun says that the disruption's own drain has begun. A candidate that went for another reason says nothing about the
// others.
func begun(d model.DisruptionRecord, f Facts) bool {
	return slices.ContainsFunc(f.Candidates, func(m Member) bool {
		return m.Claim == nil || (m.Claim.State >= model.ClaimDraining && m.Claim.DisruptionReason == d.Reason &&
			m.Claim.Failure.Code != model.CodeInstanceLost)
	})
}

// drain drains the candidates that are not draining yet, and ends the disruption once all have ended. Of one that is
// staged as many as budgets let go now, and those whose turn does not come are left out.
func drain(d model.DisruptionRecord, f Facts, now time.Time) Result {
	r := Result{Disruption: d}
	left, more := false, map[model.PoolName]int{}
	waits := d.Staged && awaited(d, f) != ""
	full := map[model.PoolName]bool{} // pools whose budgets let no more go: to ask takes a look at all claims
	for _, m := range f.Candidates {
		if m.Claim == nil || m.Claim.State.Ended() {
			continue
		}
		if m.Claim.State < model.ClaimDraining && d.Staged {
			if why := turnMissed(d, f, m, now); why != "" {
				leaveOut(&r, m.Claim.ID, why)
				continue
			}
		}
		left = true
		switch pool := m.Claim.NodePool; {
		case m.Claim.State >= model.ClaimDraining:
			continue
		case d.Staged && (waits || full[pool] || !f.Allows(pool, d.Reason, more[pool]+1)):
			full[pool] = true
			r.Wake = d.AcceptTime.Add(Timeout)
			continue
		default:
			more[pool]++
		}
		e := Effect{Kind: EffectDrain, Claim: m.Claim.ID}
		if d.Reason == model.ReasonUnhealthy {
			e.Deadline = now // its kubelet does not let pods end gracefully
		}
		r.Effects = append(r.Effects, e)
	}
	if !left {
		r.Disruption.EndTime = now
	}
	return r
}

// leaveOut lets one candidate stay, while the others go. The record no longer names it, so that it is released for certain.
func leaveOut(r *Result, id model.ClaimID, why string) {
	d := &r.Disruption
	d.Candidates = slices.DeleteFunc(slices.Clone(d.Candidates), func(c model.ClaimID) bool { return c == id })
	r.Effects = append(r.Effects, stays(d.ID, id, why)...)
}

// stays are the effects for a candidate that is none any more.
func stays(d model.DisruptionID, id model.ClaimID, why string) []Effect {
	return []Effect{
		{Kind: EffectRollBack, Claim: id},
		{Kind: EffectEvent, Event: cluster.Event{
			Kind: "NodeClaim", Name: string(id), Reason: "DisruptionRolledBack",
			Message: "disruption " + string(d) + " was given up: " + why,
		}},
	}
}

// rollBack lets the candidates stay, and tells why. Replacements that did come up stay as well, as nodes like any others:
// without pods the planner removes them as empty.
func rollBack(d model.DisruptionRecord, f Facts, why string, now time.Time) Result {
	d.EndTime, d.RolledBack = now, true
	r := Result{Disruption: d}
	for _, id := range d.Candidates {
		r.Effects = append(r.Effects, stays(d.ID, id, why)...)
	}
	// A replacement that is still on its way is no failure, though until it is ready it counts as one.
	if overdue := !now.Before(d.AcceptTime.Add(Timeout)); d.Reason == model.ReasonDrifted && (overdue || lost(d, f) != "") {
		r.Effects = append(r.Effects, driftEvents(d, f, why, now)...)
	}
	return r
}
