package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
)

const (
	// sameTurn is how much later than the first in turn work may have become due that takes a slot beside it.
	sameTurn = time.Second
	// mostQueued is how much new work of a kind is kept from one pass to the next, and how much that has failed.
	mostQueued = 2000
)

// slots bound how much work of a kind goes on at once. All but give belongs to the owner of the pool.
type slots struct {
	// all holds a token for each piece of work that goes on, and again one for each of those that have failed before.
	// These have half of the slots at most, so that what is new finds one, however much is refused.
	all, again chan struct{}
	// turn is since when the work is due that waits longest to be tried again, as the last pass asked for it; zero
	// where none waits. Each pass asks in the same order: without turns, what it asks for first would be tried for
	// ever, and the rest never.
	turn time.Time
	// pass is the one that has asked last. What it has found no slot for is in fresh, what has failed before in failed,
	// in turn once it is sorted; where these are full, or the work is not to be queued, first is since when the first
	// is due of what has failed.
	pass          int
	fresh, failed []waiting
	sorted        bool
	first         time.Time
}

// waiting is work without a slot.
type waiting struct {
	ctx  context.Context //nolint:containedctx // the work's own
	job  Job
	task *task
	// again says that its slot, once it has one, is one of those for what has failed: the work may fail, and its time
	// come, while it waits.
	again bool
}

func newSlots(n int) *slots {
	return &slots{all: make(chan struct{}, n), again: make(chan struct{}, max(1, n/2))}
}

// take takes a slot for work that is due, if there is one for it.
func (s *slots) take(t *task, a *agenda.Agenda) bool {
	s.begin(a)
	if t.fails == 0 {
		return take(s.all)
	}
	first := s.turn.IsZero() || !t.notYet.After(s.turn.Add(sameTurn))
	if first && s.takeAgain() {
		return true
	}
	if !first && len(s.again) < cap(s.again) && len(s.all) < cap(s.all) {
		a.Again() // the first in turn has got its slot by then, or is not asked for any more
	}
	return false
}

// begin begins a pass, unless it has begun.
func (s *slots) begin(a *agenda.Agenda) {
	if s.pass == a.Pass() {
		return
	}
	s.turn = s.first
	for _, w := range s.failed {
		s.turn = earlier(s.turn, w.task.notYet)
	}
	clear(s.fresh) // what it held may be large
	clear(s.failed)
	s.pass, s.fresh, s.failed, s.sorted, s.first = a.Pass(), s.fresh[:0], s.failed[:0], false, time.Time{}
}

// takeAgain takes a slot for work that has failed.
func (s *slots) takeAgain() bool {
	if !take(s.again) {
		return false
	}
	if take(s.all) {
		return true
	}
	<-s.again
	return false
}

// queue keeps work that the present pass has found no slot for.
func (s *slots) queue(w waiting) {
	switch {
	case w.task.fails == 0 && w.job.Queue && len(s.fresh) < mostQueued:
		s.fresh = append(s.fresh, w)
	case w.task.fails == 0:
	case w.job.Queue && len(s.failed) < mostQueued:
		s.failed = append(s.failed, w)
	default:
		s.first = earlier(s.first, w.task.notYet)
	}
}

// next is work that the last pass has found no slot for, with the slot that there is by now; false where there is none
// of either. What has failed comes first, because it never has more than half of the slots.
func (s *slots) next(a *agenda.Agenda) (waiting, bool) {
	if s.pass != a.Pass() {
		return waiting{}, false // the present one has not asked for it
	}
	if !s.sorted {
		s.sorted = true
		slices.SortStableFunc(s.failed, func(x, y waiting) int { return x.task.notYet.Compare(y.task.notYet) })
	}
	if w, ok := pop(&s.failed, a, s.takeAgain); ok {
		w.again = true
		return w, true
	}
	return pop(&s.fresh, a, func() bool { return take(s.all) })
}

// pop takes the first of a list that is still to be done, if there is a slot for it.
func pop(list *[]waiting, a *agenda.Agenda, take func() bool) (waiting, bool) {
	for len(*list) > 0 {
		w := (*list)[0]
		undone := !w.task.running && !a.Now().Before(w.task.notYet) // it may have been asked for twice
		if undone && !take() {
			return waiting{}, false
		}
		(*list)[0] = waiting{}
		*list = (*list)[1:]
		if undone {
			return w, true
		}
	}
	return waiting{}, false
}

// earlier is the earlier of two times, where zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
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
