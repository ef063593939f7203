package loop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

const (
	// disruptionTimeout is how long a disruption waits for its replacements to be initialized: launch and registration have
	// their own limits, which add up to less.
	disruptionTimeout = 30 * time.Minute
	// keepRecords is how long ended disruptions are remembered at least, and no policy lets moved pods rest for longer;
	// maxRecords is how many of them are at most: the oldest go first.
	keepRecords = 6 * time.Hour
	maxRecords  = 4000
	// keepFailures is how long drift whose replacement failed is remembered: longer than several of its longest holds, or a
	// row of failures would be forgotten while it goes on.
	keepFailures = 24 * time.Hour
)

// progress moves each disruption that goes on: it drains the candidates once their replacements can be relied on, gives
// up when one of those failed, and ends when the candidates have. Nobody waits for a sick node's replacement.
func (l *leader) progress(b *store.Batch) {
	for _, id := range slices.Sorted(maps.Keys(l.disruptions)) {
		d := l.disruptions[id]
		if !d.EndTime.IsZero() {
			continue
		}
		next := *d
		under := next.Reason == model.ReasonUnhealthy || l.begun(next)
		why := ""
		if !under {
			why = l.givenUp(next)
		}
		switch {
		case why != "":
			next.EndTime, next.RolledBack = l.now, true
			l.rollBack(next, why)
		case under || (l.replaced(next) && l.tainted(next)):
			if !l.drainAll(next) {
				next.EndTime = l.now
			}
		default:
			l.wake(next.AcceptTime.Add(disruptionTimeout))

			continue
		}
		if !next.EndTime.Equal(d.EndTime) {
			b.PutDisruptions = append(b.PutDisruptions, next)
		}
	}
}

// rollBack lets the candidates of a disruption that was given up stay, and tells why. Replacements that did come up stay
// as well, as nodes like any others: without pods the planner gives them back as empty.
func (l *leader) rollBack(d model.DisruptionRecord, why string) {
	pools := map[model.PoolName]bool{}
	for _, id := range d.Candidates {
		l.enqueue(id, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: d.ID})
		l.event(cluster.Event{
			Kind: "NodeClaim", Name: string(id), Reason: "DisruptionRolledBack", Message: "disruption " + string(d.ID) + " was given up: " + why,
		})
		if c := l.claims[id]; c != nil {
			pools[c.NodePool] = true
		}
	}
	if d.Reason != model.ReasonDrifted {
		return
	}
	records := []model.DisruptionRecord{d}
	for id, other := range l.disruptions {
		if id != d.ID {
			records = append(records, *other)
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		held, _ := rules.DriftHold(pool, records, func(id model.ClaimID) *model.Claim { return l.claims[id] }, l.now)
		if !held.OK() {
			l.event(cluster.Event{
				Kind: "NodePool", Name: string(pool), Warning: true, Reason: "DriftHeld", Message: held.Message + "; the last: " + why,
			})
		}
	}
}

func (l *leader) enqueue(id model.ClaimID, e lifecycle.Event) { l.queue[id] = append(l.queue[id], e) }

// begun says that the disruption's own drain has begun, so that there is no way back. A candidate that went for another
// reason says nothing about the others.
func (l *leader) begun(d model.DisruptionRecord) bool {
	return slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool {
		c := l.claims[id]
		return c == nil ||
			(c.State >= model.ClaimDraining && c.DisruptionReason == d.Reason && c.Failure.Code != model.CodeInstanceLost)
	})
}

// drainAll drains the candidates that are not draining yet; false when all have ended.
func (l *leader) drainAll(d model.DisruptionRecord) bool {
	going := false
	for _, id := range d.Candidates {
		c := l.claims[id]
		if c == nil || c.State.Ended() {
			continue
		}
		going = true
		if c.State < model.ClaimDraining {
			e := lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: d.Reason}
			if d.Reason == model.ReasonUnhealthy {
				e.Deadline = l.now // whoever would let the pods end in peace is silent
			}
			l.enqueue(id, e)
		}
	}
	return going
}

// givenUp says why the candidates must stay: a replacement has failed, or what made them candidates no longer holds; ""
// when neither is so.
func (l *leader) givenUp(d model.DisruptionRecord) string {
	for _, id := range d.Replacements {
		c := l.claims[id]
		if c == nil || c.State >= model.ClaimDraining {
			why := fmt.Sprintf("replacement %s is not there any more", id)
			if c != nil && c.Failure.Message != "" {
				why += ": " + c.Failure.Message
			}
			return why
		}
	}
	for _, id := range d.Candidates {
		if why := l.protected(d, id); why != "" {
			return why
		}
	}
	if l.now.Before(d.AcceptTime.Add(disruptionTimeout)) {
		return ""
	}
	return fmt.Sprintf("its replacements could not be relied on within %s%s", disruptionTimeout, l.awaited(d))
}

// awaited names the first replacement that is waited for, and what it lacks.
func (l *leader) awaited(d model.DisruptionRecord) string {
	for _, id := range d.Replacements {
		if missing := l.missing(id); missing != "" {
			return fmt.Sprintf(": %s: %s", id, missing)
		}
	}
	return ""
}

// protected says which pod came to the candidate, before the taint could keep it off, that must not be disturbed for this
// reason; "" when none did.
func (l *leader) protected(d model.DisruptionRecord, id model.ClaimID) string {
	c := l.claims[id]
	if c == nil || c.State != model.ClaimInitialized || d.Reason == model.ReasonSurplus ||
		(d.Reason == model.ReasonExpired && overdue(*c, l.now) && apply.Bounded(*c)) {
		return ""
	}
	n := l.nodeOf(*c)
	if n == nil {
		return ""
	}
	for _, p := range n.Pods {
		if p.Finished || !p.DeletionTime.IsZero() {
			continue
		}
		if p.DoNotDisrupt && (p.DoNotDisruptUntil.IsZero() || l.now.Before(p.DoNotDisruptUntil)) {
			return fmt.Sprintf("pod %s/%s has come to %s, and must not be disrupted", p.Namespace, p.Name, n.Name)
		}
		if d.Reason == model.ReasonEmpty && !p.Daemon && !p.Mirror && !p.ToleratesDisrupted {
			return fmt.Sprintf("pod %s/%s has come to %s, which was empty", p.Namespace, p.Name, n.Name)
		}
	}
	return ""
}

// replaced says that pods can go to all replacements now.
func (l *leader) replaced(d model.DisruptionRecord) bool {
	return !slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool { return l.missing(id) != "" })
}

// missing says what a replacement lacks before pods can go there; "" when nothing.
func (l *leader) missing(id model.ClaimID) string {
	c := l.claims[id]
	if c == nil {
		return "it is not there any more"
	}
	if c.State != model.ClaimInitialized {
		return cmp.Or(c.Failure.Message, "it is "+c.State.String())
	}
	n := l.nodeOf(*c)
	if n == nil || !n.Ready {
		return "its node is not ready any more"
	}
	if !l.cfg.WaitForDaemonPods {
		return ""
	}
	for _, p := range n.Pods {
		if p.Daemon && !p.Ready && !p.Finished && p.DeletionTime.IsZero() {
			return fmt.Sprintf("pod %s/%s of a DaemonSet is not ready", p.Namespace, p.Name)
		}
	}
	return ""
}

// tainted says that no new pod can come to the candidates any more. A candidate without a node has none to keep off.
func (l *leader) tainted(d model.DisruptionRecord) bool {
	return !slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool {
		c := l.claims[id]
		if c == nil {
			return false
		}
		n := l.nodeOf(*c)
		return n != nil && !slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == lifecycle.TaintDisrupted })
	})
}

// oldRecords are ended disruptions that nobody has to know of any more: they are long over, or there are too many. Planners
// look back as far as drift may be held, and leave pods alone that were moved lately.
func (l *leader) oldRecords() []model.DisruptionID {
	var out []model.DisruptionID
	var kept []*model.DisruptionRecord
	for id, d := range l.disruptions {
		keep := max(keepRecords, l.cfg.Intervals.History)
		if d.RolledBack && d.Reason == model.ReasonDrifted {
			keep = max(keep, keepFailures)
		}
		switch {
		case d.EndTime.IsZero():
		case l.now.Sub(d.EndTime) >= keep:
			out = append(out, id)
		default:
			kept = append(kept, d)
		}
	}
	if n := len(kept) - maxRecords; n > 0 {
		slices.SortFunc(kept, func(a, b *model.DisruptionRecord) int {
			return cmp.Or(a.EndTime.Compare(b.EndTime), cmp.Compare(a.ID, b.ID))
		})
		for _, d := range kept[:n] {
			out = append(out, d.ID)
		}
	}
	return out
}

// overdue says that the claim has expired.
func overdue(c model.Claim, now time.Time) bool {
	why, _ := rules.Expired(&c, now)
	return !why.OK()
}
