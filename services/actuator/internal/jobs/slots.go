package jobs

import (
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
)

// sameTurn is how much later than the first in turn work may have become due that takes a slot beside it.
const sameTurn = time.Second

// slots bound how much work of a kind goes on at once. All but give belongs to the owner of the pool.
type slots struct {
	// all holds a token for each piece of work that goes on, and again one for each of those that have failed before. These have
	// half of the slots at most, so that what is new finds one, however much is refused.
	all, again chan struct{}
	// turn is since when the work is due that waits longest to be tried again, as the last pass asked for it, and next the same
	// as far as the present pass has asked, which began at pass; zero where none waits. Each pass asks in the same order: without
	// turns, what it asks for first would be tried for ever, and the rest never.
	turn, next, pass time.Time
}

func newSlots(n int) *slots {
	return &slots{all: make(chan struct{}, n), again: make(chan struct{}, max(1, n/2))}
}

// take takes a slot for work that is due, if there is one for it.
func (s *slots) take(t *task, a *agenda.Agenda) bool {
	if t.fails == 0 {
		return take(s.all)
	}
	if now := a.Now(); !now.Equal(s.pass) {
		s.pass, s.turn, s.next = now, s.next, time.Time{}
	}
	first := s.turn.IsZero() || !t.notYet.After(s.turn.Add(sameTurn))
	if first && take(s.again) {
		if take(s.all) {
			return true
		}
		<-s.again
	}
	if s.next.IsZero() || t.notYet.Before(s.next) {
		s.next = t.notYet
	}
	if !first && len(s.again) < cap(s.again) && len(s.all) < cap(s.all) {
		a.Again() // the first in turn has got its slot by then, or is not asked for any more
	}
	return false
}

// give gives a slot back. Workers call it.
func (s *slots) give(again bool) {
	<-s.all
	if again {
		<-s.again
	}
}

func take(tokens chan struct{}) bool {
	select {
	case tokens <- struct{}{}:
		return true
	default:
		return false
	}
}
