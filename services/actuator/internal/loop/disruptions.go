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
	"github.com/kerf-dev/kerf/services/actuator/model"
	"github.com/kerf-dev/kerf/services/actuator/store"
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
		under := next.Reason == model.DisruptionUnhealthy || l.begun(next)
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
func (l *leader) rollBack(d model.Disruption, why string) {
	pools := map[string]bool{}
	for _, id := range d.Candidates {
		l.enqueue(id, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: d.ID})
		l.event(cluster.Event{
			Kind: "NodeClaim", Name: string(id), Reason: "DisruptionRolledBack", Message: "disruption " + d.ID + " was given up: " + why,
		})
		if c := l.claims[id]; c != nil {
			pools[c.NodePool] = true
		}
	}
	if d.Reason != model.DisruptionDrifted {
		return
	}
	records := []model.Disruption{d}
	for id, other := range l.disruptions {
		if id != d.ID {
			records = append(records, *other)
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		until, failures := apply.DriftHold(pool, records, func(id model.ClaimID) (model.Claim, bool) {
			c := l.claims[id]
			if c == nil {
				return model.Claim{}, false
			}

			return *c, true
		})
		if l.now.Before(until) {
			l.event(cluster.Event{
				Kind: "NodePool", Name: pool, Warning: true, Reason: "DriftHeld",
				Message: fmt.Sprintf("drifted nodes stay until %s: %d replacements in a row have failed; the last: %s",
					until.UTC().Format(time.RFC3339), failures, why),
			})
		}
	}
}

func (l *leader) enqueue(id model.ClaimID, e lifecycle.Event) { l.queue[id] = append(l.queue[id], e) }

// begun says that the disruption's own drain has begun, so that there is no way back. A candidate that went for another
// reason says nothing about the others.
func (l *leader) begun(d model.Disruption) bool {
	return slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool {
		c := l.claims[id]

		return c == nil ||
			(c.State >= model.StateDraining && c.DisruptionReason == d.Reason && c.Failure.Code != model.ReasonInstanceLost)
	})
}

// drainAll drains the candidates that are not draining yet; false when all have ended.
func (l *leader) drainAll(d model.Disruption) bool {
	going := false
	for _, id := range d.Candidates {
		c := l.claims[id]
		if c == nil || c.State.Ended() {
			continue
		}
		going = true
		if c.State < model.StateDraining {
			e := lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: d.Reason}
			if d.Reason == model.DisruptionUnhealthy {
				e.Deadline = l.now // whoever would let the pods end in peace is silent
			}
			l.enqueue(id, e)
		}
	}

	return going
}

// givenUp says why the candidates must stay: a replacement has failed, or what made them candidates no longer holds; ""
// when neither is so.
func (l *leader) givenUp(d model.Disruption) string {
	for _, id := range d.Replacements {
		c := l.claims[id]
		if c == nil || c.State >= model.StateDraining {
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
func (l *leader) awaited(d model.Disruption) string {
	for _, id := range d.Replacements {
		if missing := l.missing(id); missing != "" {
			return fmt.Sprintf(": %s: %s", id, missing)
		}
	}

	return ""
}

// protected says which pod came to the candidate, before the taint could keep it off, that must not be disturbed for this
// reason; "" when none did.
func (l *leader) protected(d model.Disruption, id model.ClaimID) string {
	c := l.claims[id]
	if c == nil || c.State != model.StateInitialized || d.Reason == model.DisruptionSurplus ||
		(d.Reason == model.DisruptionExpired && apply.Overdue(*c, l.now) && apply.Bounded(*c)) {
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
		if d.Reason == model.DisruptionEmpty && !p.Daemon && !p.Mirror && !p.ToleratesDisrupted {
			return fmt.Sprintf("pod %s/%s has come to %s, which was empty", p.Namespace, p.Name, n.Name)
		}
	}

	return ""
}

// replaced says that pods can go to all replacements now.
func (l *leader) replaced(d model.Disruption) bool {
	return !slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool { return l.missing(id) != "" })
}

// missing says what a replacement lacks before pods can go there; "" when nothing.
func (l *leader) missing(id model.ClaimID) string {
	c := l.claims[id]
	if c == nil {
		return "it is not there any more"
	}
	if c.State != model.StateInitialized {
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
func (l *leader) tainted(d model.Disruption) bool {
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
func (l *leader) oldRecords() []string {
	var out []string
	var kept []*model.Disruption
	for id, d := range l.disruptions {
		keep := max(keepRecords, l.cfg.Intervals.History)
		if d.RolledBack && d.Reason == model.DisruptionDrifted {
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
		slices.SortFunc(kept, func(a, b *model.Disruption) int {
			return cmp.Or(a.EndTime.Compare(b.EndTime), cmp.Compare(a.ID, b.ID))
		})
		for _, d := range kept[:n] {
			out = append(out, d.ID)
		}
	}

	return out
}
