package awssim

import (
	"sort"
	"strconv"
	"strings"
	"time"
)

// queue is one standard SQS queue. Guarded by Sim.mu.
type queue struct {
	name     string
	messages map[string]*message // by id
	lastSeq  uint64
	changed  chan struct{} // closed when there may be something to receive; nil while no one waits
}

type message struct {
	id, body  string
	seq       uint64
	sent      time.Time
	visible   time.Time // not to be received before
	received  int
	firstSeen time.Time
}

// put adds a message and wakes all that wait. The retention drops it later.
func (q *queue) put(s *Sim, body string) *message {
	q.lastSeq++
	now := s.clock.Now()
	m := &message{id: s.newUUID(), body: body, seq: q.lastSeq, sent: now, visible: now}
	q.messages[m.id] = m
	s.after(s.cfg.QueueRetention, func() { delete(q.messages, m.id) })
	q.wake()
	return m
}

func (q *queue) wake() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// wait returns a channel that is closed at the next wake.
func (q *queue) wait() <-chan struct{} {
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	return q.changed
}

// take receives up to n visible messages, oldest first, and hides them for the given time.
func (q *queue) take(s *Sim, n int, hide time.Duration) []*message {
	now := s.clock.Now()
	var ready []*message
	for _, m := range q.messages {
		if !m.visible.After(now) {
			ready = append(ready, m)
		}
	}
	sort.Slice(ready, func(i, j int) bool { return ready[i].seq < ready[j].seq })
	ready = ready[:min(n, len(ready))]
	for _, m := range ready {
		m.received++
		if m.received == 1 {
			m.firstSeen = now
		}
		q.hide(s, m, hide)
	}
	return ready
}

// hide keeps a message from being received for d.
func (q *queue) hide(s *Sim, m *message, d time.Duration) {
	m.visible = s.clock.Now().Add(d)
	s.after(d, q.wake)
}

// handle is the receipt handle of the latest reception.
func (m *message) handle() string { return m.id + "#" + strconv.Itoa(m.received) }

// find is the message that a handle belongs to; nil when it is deleted or was received again since, in which case SQS
// takes the handle and does nothing. The second result says whether it is a handle at all.
func (q *queue) find(handle string) (*message, bool) {
	id, n, ok := strings.Cut(handle, "#")
	if _, err := strconv.Atoi(n); !ok || err != nil {
		return nil, false
	}
	m := q.messages[id]
	if m != nil && m.handle() != handle {
		m = nil
	}
	return m, true
}

// depth counts the messages that can be received now, and those in flight.
func (q *queue) depth(now time.Time) (visible, inFlight int) {
	for _, m := range q.messages {
		if m.visible.After(now) {
			inFlight++
		} else {
			visible++
		}
	}
	return visible, inFlight
}
