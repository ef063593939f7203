package loop

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/model"
	"github.com/kerf-dev/kerf/services/actuator/store"
)

// disruptionTimeout is how long a disruption waits for its replacements to be initialized: launch and registration have
// their own limits, which add up to less.
const disruptionTimeout = 30 * time.Minute

// progress moves each disruption that goes on: it drains the candidates once their replacements can be relied on, gives
// up when one of those failed, and ends when the candidates have.
func (l *leader) progress(b *store.Batch) {
	for _, id := range slices.Sorted(maps.Keys(l.disruptions)) {
		d := l.disruptions[id]
		if !d.EndTime.IsZero() {
			continue
		}
		next := *d
		switch {
		case l.begun(next):
			if !l.drainAll(next) {
				next.EndTime = l.now
			}
		case l.givenUp(next):
			next.EndTime, next.RolledBack = l.now, true
			for _, c := range next.Candidates {
				l.enqueue(c, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: next.ID})
				l.event(cluster.Event{
					Kind: "NodeClaim", Name: string(c), Reason: "DisruptionRolledBack",
					Message: "disruption " + next.ID + " was given up: its replacement failed or the node is needed again",
				})
			}
		case l.replaced(next) && l.tainted(next):
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
			l.enqueue(id, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: d.Reason})
		}
	}

	return going
}

// givenUp says that the candidates must stay: a replacement has failed, or what made them candidates no longer holds.
func (l *leader) givenUp(d model.Disruption) bool {
	if !l.now.Before(d.AcceptTime.Add(disruptionTimeout)) {
		return true
	}
	failed := slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool {
		c := l.claims[id]

		return c == nil || c.State >= model.StateDraining
	})

	return failed || slices.ContainsFunc(d.Candidates, func(id model.ClaimID) bool { return l.protected(d, id) })
}

// protected says that a pod came to the candidate, before the taint could keep it off, that must not be disturbed for
// this reason.
func (l *leader) protected(d model.Disruption, id model.ClaimID) bool {
	c := l.claims[id]
	if c == nil || c.State != model.StateInitialized || d.Reason == model.DisruptionExpired || d.Reason == model.DisruptionSurplus {
		return false
	}
	n := l.nodeOf(*c)
	if n == nil {
		return false
	}
	for _, p := range n.Pods {
		if p.Finished || !p.DeletionTime.IsZero() {
			continue
		}
		if p.DoNotDisrupt && (p.DoNotDisruptUntil.IsZero() || l.now.Before(p.DoNotDisruptUntil)) {
			return true
		}
		if d.Reason == model.DisruptionEmpty && !p.Daemon && !p.Mirror && !p.ToleratesDisrupted {
			return true
		}
	}

	return false
}

func (l *leader) replaced(d model.Disruption) bool {
	return !slices.ContainsFunc(d.Replacements, func(id model.ClaimID) bool {
		c := l.claims[id]

		return c == nil || c.State != model.StateInitialized
	})
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
