// Package due tells when time alone will make a difference to what may be given back, so that the watcher asks again then
// rather than all the time.
//
// It is a calculator over a snapshot: it lists the instants at which a rule that is kept now is kept no more, and returns
// the first. The rules are the planner's, and their periods are repeated here: one that is missing or wrong costs no more
// than the time until the next sweep of a quiet cluster (see package pace), and never a wrong decision. It must never know
// what a plan looks like. Start reading at Next.
package due

import (
	"time"

	"github.com/robfig/cron/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// The planner's periods; see docs/adr/0008.
const (
	// longestLead is how long before its expiry a node is replaced; of a short life it is the last tenth.
	longestLead = time.Hour
	// rollout is how long a workload with pods of several revisions is left alone after the newest was bound.
	rollout = 10 * time.Minute
	// podRest is how long pods that were moved by choice are left alone where the policy does not say.
	podRest = 30 * time.Minute
	// firstHold is how long drift of a pool is held after a replacement has failed; it doubles up to longestHold.
	firstHold, longestHold = 15 * time.Minute, 4 * time.Hour
)

// Next is the first instant after now at which time alone makes a difference to a plan for s; zero when there is none:
//
//   - a pool's consolidateAfter has passed since a node's last pod came or went;
//   - a claim expires, or is about to;
//   - a sick condition has lasted for as long as the repair policy waits;
//   - pods that were moved have rested, a rollout counts as over, or a pod's do-not-disrupt ends;
//   - a pool's disruption budget begins or ceases to hold by its schedule;
//   - drift of a pool is not held any longer after a replacement that failed;
//   - an offering that was out of stock is believed to be back;
//   - a capacity buffer begins or ends.
//
// It looks at every object once.
func Next(s snapshot.Snapshot, p *clusterpb.Policy, now time.Time) time.Time {
	r := reckoning{s: &s, policy: p, now: now}
	pools := r.pools()
	r.claims()
	r.nodes(pools)
	r.pods(r.history())
	r.offerings()
	r.buffers()
	return r.next
}

type reckoning struct {
	s      *snapshot.Snapshot
	policy *clusterpb.Policy
	now    time.Time
	next   time.Time
}

// at takes note of an instant.
func (r *reckoning) at(t time.Time) {
	if t.After(r.now) && (r.next.IsZero() || t.Before(r.next)) {
		r.next = t
	}
}

// stamp takes note of an instant of the snapshot, which may be absent.
func (r *reckoning) stamp(t *timestamppb.Timestamp) {
	if t != nil {
		r.at(t.AsTime())
	}
}

func each[T any](s *snapshot.Snapshot, k snapshot.Kind, visit func(T)) {
	s.Each(k, func(o snapshot.Object) {
		if m, ok := o.Payload.(T); ok {
			visit(m)
		}
	})
}

// pools takes note of budgets, and returns how long each pool's nodes must have been quiet.
func (r *reckoning) pools() map[string]*durationpb.Duration {
	quiet := map[string]*durationpb.Duration{}
	each(r.s, snapshot.NodePool, func(p *clusterpb.NodePool) {
		quiet[p.GetName()] = p.GetConsolidateAfter()
		for _, b := range p.GetBudgets() {
			r.window(b)
		}
	})
	return quiet
}

// window takes note of when a budget begins to hold next, and of when it ceases to, if it holds.
func (r *reckoning) window(b *clusterpb.DisruptionBudget) {
	if b.GetSchedule() == "" {
		return
	}
	s, err := cron.ParseStandard(b.GetSchedule())
	if err != nil {
		return // it lets no node go, at any time
	}
	now, lasts := r.now.UTC(), b.GetDuration().AsDuration()
	r.at(s.Next(now))
	if began := s.Next(now.Add(-lasts)); !began.IsZero() && !began.After(now) {
		r.at(began.Add(lasts))
	}
}

func (r *reckoning) claims() {
	each(r.s, snapshot.Claim, func(c *clusterpb.Claim) {
		if c.GetExpireTime() == nil || leaving(c) {
			return
		}
		expires := c.GetExpireTime().AsTime()
		r.at(expires)
		if c.GetCreateTime() != nil {
			r.at(expires.Add(-min(longestLead, expires.Sub(c.GetCreateTime().AsTime())/10)))
		}
	})
}

func leaving(c *clusterpb.Claim) bool {
	return c.GetState() >= clusterpb.ClaimState_CLAIM_STATE_DRAINING
}

func (r *reckoning) nodes(quiet map[string]*durationpb.Duration) {
	each(r.s, snapshot.Node, func(n *clusterpb.Node) {
		o, ok := r.s.Get(snapshot.Claim, n.GetClaim())
		if !ok {
			return
		}
		c, ok := o.Payload.(*clusterpb.Claim)
		if !ok || leaving(c) {
			return
		}
		r.sickness(n)
		after := quiet[c.GetNodePool()]
		if after == nil || c.GetInitializeTime() == nil {
			return
		}
		since := c.GetInitializeTime().AsTime()
		if t := n.GetLastPodEventTime(); t != nil && t.AsTime().After(since) {
			since = t.AsTime()
		}
		r.at(since.Add(after.AsDuration()))
	})
}

func (r *reckoning) sickness(n *clusterpb.Node) {
	repair := r.policy.GetRepair()
	if repair.GetOff() {
		return
	}
	for _, c := range n.GetConditions() {
		since := c.GetTransitionTime().AsTime()
		if len(repair.GetConditions()) == 0 {
			r.at(since.Add(patience(c)))
			continue
		}
		for _, way := range repair.GetConditions() {
			if way.GetType() == c.GetType() && way.GetStatus() == c.GetStatus() {
				r.at(since.Add(way.GetAfter().AsDuration()))
			}
		}
	}
}

// patience is AWS's with its own conditions.
func patience(c *clusterpb.NodeCondition) time.Duration {
	if c.GetType() == "AcceleratedHardwareReady" {
		return 10 * time.Minute
	}
	return 30 * time.Minute
}

// owner is what makes a pod again.
type owner struct{ namespace, kind, name string }

func ownerOf(c *clusterpb.PodClass) owner {
	return owner{c.GetNamespace(), c.GetOwnerKind(), c.GetOwnerName()}
}

// history takes note of holds, and returns since when pods of each owner were moved by choice.
func (r *reckoning) history() map[owner]time.Time {
	moved := map[owner]time.Time{}
	each(r.s, snapshot.Disruption, func(d *clusterpb.DisruptionRecord) {
		if d.GetRolledBack() {
			if d.GetDisruptionReason() == clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED && d.GetEndTime() != nil {
				for hold := firstHold; hold <= longestHold; hold *= 2 { // whichever it is, in the row of failures
					r.at(d.GetEndTime().AsTime().Add(hold))
				}
			}
			return
		}
		for _, w := range d.GetWorkloads() {
			o, at := owner{w.GetNamespace(), w.GetKind(), w.GetName()}, d.GetAcceptTime().AsTime()
			if before, ok := moved[o]; !ok || at.Before(before) {
				moved[o] = at
			}
		}
	})
	return moved
}

// workload is what matters of an owner's pods; nil for those of which nothing does.
type workload struct {
	moved   time.Time // since when pods of it were moved by choice; zero when none were
	rolling bool      // its pods are of more than one revision
	newest  time.Time // when the newest was bound
}

// pods takes note of pods that rest, of rollouts, and of protection that ends.
func (r *reckoning) pods(moved map[owner]time.Time) {
	rest := podRest
	if d := r.policy.GetPodRest(); d != nil {
		rest = d.AsDuration()
	}
	workloads, byClass := r.workloads(moved)
	r.s.Each(snapshot.Pod, func(o snapshot.Object) {
		p, ok := o.Payload.(*clusterpb.Pod)
		if !ok || p.GetNode() == "" {
			return
		}
		r.stamp(p.GetDoNotDisruptUntil())
		if o.Class == nil || p.GetBindTime() == nil {
			return
		}
		w := byClass[o.Class.ID]
		if w == nil {
			return
		}
		bound := p.GetBindTime().AsTime()
		if !w.moved.IsZero() && !bound.Before(w.moved) {
			r.at(bound.Add(rest))
		}
		if w.rolling && bound.After(w.newest) {
			w.newest = bound
		}
	})
	for _, w := range workloads {
		if !w.newest.IsZero() {
			r.at(w.newest.Add(rollout))
		}
	}
}

// workloads are the owners that matter, and theirs by the class of their pods.
func (r *reckoning) workloads(moved map[owner]time.Time) (map[owner]*workload, map[string]*workload) {
	out, byClass := map[owner]*workload{}, map[string]*workload{}
	for o, since := range moved {
		out[o] = &workload{moved: since}
	}
	for o := range r.mixed() {
		if out[o] == nil {
			out[o] = &workload{}
		}
		out[o].rolling = true
	}
	each(r.s, snapshot.PodClass, func(c *clusterpb.PodClass) {
		if w := out[ownerOf(c)]; w != nil {
			byClass[c.GetId()] = w
		}
	})
	return out, byClass
}

// mixed are owners whose pods are of more than one revision.
func (r *reckoning) mixed() map[owner]bool {
	first, out := map[owner]string{}, map[owner]bool{}
	each(r.s, snapshot.PodClass, func(c *clusterpb.PodClass) {
		if c.GetOwnerKind() == "" || c.GetOwnerRevision() == "" {
			return
		}
		o := ownerOf(c)
		if revision, ok := first[o]; !ok {
			first[o] = c.GetOwnerRevision()
		} else if revision != c.GetOwnerRevision() {
			out[o] = true
		}
	})
	return out
}

func (r *reckoning) offerings() {
	each(r.s, snapshot.Offering, func(o *clusterpb.Offering) { r.stamp(o.GetUnavailableUntil()) })
}

func (r *reckoning) buffers() {
	each(r.s, snapshot.CapacityBuffer, func(b *clusterpb.CapacityBuffer) {
		r.stamp(b.GetStartTime())
		r.stamp(b.GetExpireTime())
	})
}
