package loop

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// lookAtAll is the longest time between two looks at all claims. It only bounds what a change that was missed would
	// cost.
	lookAtAll = 30 * time.Second
	// lookAtAllGap is the least time between them, when something changes over and over that concerns all.
	lookAtAllGap = time.Second
)

// attention is which claims a pass looks at: those that are under way, those of which something has changed since they were
// looked at, and those that asked for it. What concerns all claims makes it look at all.
type attention struct {
	changed map[model.ClaimID]bool
	// wakes are when claims asked to be looked at again.
	wakes map[model.ClaimID]time.Time
	// world is what concerns all claims, as it was at allAt, when all were looked at the last time.
	world world
	allAt time.Time
	// listed is the list of instances that claims were looked at with, and presentAt the version of the classes.
	listed    time.Time
	presentAt int
}

// world is what concerns all claims, as counters of changes.
type world struct {
	ready                   bool
	policy, market, classes int
}

func newAttention() attention {
	return attention{changed: map[model.ClaimID]bool{}, wakes: map[model.ClaimID]time.Time{}}
}

// due are the claims to look at now, by id. Those that have ended are never among them.
func (s *claims) due() []*model.Claim {
	s.note()
	now := s.agenda.Now()
	w := s.now()
	if now.Sub(s.allAt) >= lookAtAll || w != s.world && s.agenda.Due(s.allAt.Add(lookAtAllGap)) {
		s.world, s.allAt = w, now
		return slices.DeleteFunc(slices.Clone(s.registry.Sorted()), func(c *model.Claim) bool { return c.State.Ended() })
	}
	ids := s.changed
	for c := range s.registry.UnderWay() {
		ids[c.ID] = true
	}
	for id, at := range s.wakes {
		if s.agenda.Due(at) {
			ids[id] = true
		}
	}
	out := make([]*model.Claim, 0, len(ids))
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if c := s.registry.Claims[id]; c != nil && !c.State.Ended() {
			out = append(out, c)
		}
	}
	return out
}

// now is what concerns all claims.
func (s *claims) now() world {
	return world{s.ready, s.cluster.Policy(), s.market.Version(), s.classes.Version()}
}

// note notes what has changed since the last pass. A claim without an instance in the list waits for the next list, and
// so does one in a reservation, to show that it is there still.
func (s *claims) note() {
	maps.Copy(s.changed, s.registry.Touched())
	maps.Copy(s.changed, s.instances.Touched())
	for id := range s.queue {
		s.changed[id] = true
	}
	for _, id := range s.cluster.DeletedClaims {
		s.changed[id] = true
	}
	for id := range s.cluster.MissingClaims() {
		s.changed[id] = true
	}
	for _, n := range s.cluster.Touched() {
		s.changed[s.claimOf(n)] = true
	}
	if s.listed != s.instances.Listed {
		s.listed = s.instances.Listed
		for _, c := range s.registry.Claims {
			if !c.State.Ended() && (c.ReservationID != "" || s.instances.Alive(c) == nil) {
				s.changed[c.ID] = true
			}
		}
	}
}

// claimOf is the claim whose node it is, by its instance; by its label where no claim has that yet, or any more.
func (s *claims) claimOf(n *cluster.Node) model.ClaimID {
	if id := s.registry.OfProvider(n.ProviderID); id != "" {
		return id
	}
	return model.ClaimID(n.Labels[labels.Claim])
}

// look has a claim looked at.
func (s *claims) look(id model.ClaimID) { s.changed[id] = true }

// looked notes what came of looking at a claim. One that asked for something is looked at until it does no more; one
// that is written again counts as changed by that.
func (s *claims) looked(id model.ClaimID, r lifecycle.Result) {
	delete(s.changed, id)
	if len(r.Effects) > 0 {
		s.changed[id] = true
	}
	if r.Wake.IsZero() {
		delete(s.wakes, id)
		return
	}
	s.wakes[id] = r.Wake
	s.agenda.Wake(r.Wake)
}

// forget forgets claims that are no more.
func (s *claims) forget() {
	gone := func(id model.ClaimID) bool { c := s.registry.Claims[id]; return c == nil || c.State.Ended() }
	maps.DeleteFunc(s.changed, func(id model.ClaimID, _ bool) bool { return gone(id) })
	maps.DeleteFunc(s.wakes, func(id model.ClaimID, _ time.Time) bool { return gone(id) })
	maps.DeleteFunc(s.empty, func(id model.ClaimID, _ string) bool { return gone(id) })
	maps.DeleteFunc(s.tainted, func(id model.ClaimID, _ taint) bool { return gone(id) })
	maps.DeleteFunc(s.trouble, func(id model.ClaimID, _ string) bool { return gone(id) })
}

// passOver tells what would have come of the claims that the pass has not looked at, and when they will be. Where something
// has changed that concerns all claims, they wait for the next look at all.
func (t *term) passOver(due []*model.Claim) {
	if t.claims.now() != t.claims.world {
		return
	}
	for _, c := range t.registry.Sorted() {
		if !c.State.Ended() && !slices.Contains(due, c) {
			t.cfg.passedOver(c, t.claims.advance(*c), t.claims.wakes[c.ID])
		}
	}
}
