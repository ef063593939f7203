// Package stream hands the newest value of something to any number of subscribers, who may be slow, without ever waiting
// for one of them. Each has a bounded queue; one whose queue is full is cut off and has to begin again.
//
// It must never know what the values are. Start reading at Hub.
package stream

import "sync"

// DefaultQueue is how many values a subscriber may lag behind where a Hub sets nothing else.
const DefaultQueue = 64

// Hub is the place where values are published. Make it with New. Safe for concurrent use.
type Hub[T any] struct {
	queue int

	mu     sync.Mutex
	latest T
	any    bool
	subs   map[*Subscription[T]]bool
}

// New makes a hub without a value. A queue below one means DefaultQueue.
func New[T any](queue int) *Hub[T] {
	if queue < 1 {
		queue = DefaultQueue
	}
	return &Hub[T]{queue: queue, subs: map[*Subscription[T]]bool{}}
}

// Publish makes v the latest value and queues it for each subscriber; those whose queue is full are cut off.
func (h *Hub[T]) Publish(v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest, h.any = v, true
	for s := range h.subs {
		select {
		case s.values <- v:
		default:
			h.drop(s)
		}
	}
}

// Latest is the value that was published last; false before the first.
func (h *Hub[T]) Latest() (T, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest, h.any
}

// Subscribe starts a subscription, which has the latest value, if there is one, in its queue. The caller ends it.
func (h *Hub[T]) Subscribe() *Subscription[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscription[T]{hub: h, values: make(chan T, h.queue)}
	if h.any {
		s.values <- h.latest
	}
	h.subs[s] = true
	return s
}

// drop ends a subscription; the hub is locked.
func (h *Hub[T]) drop(s *Subscription[T]) {
	if h.subs[s] {
		delete(h.subs, s)
		close(s.values)
	}
}

// Subscription is one subscriber's queue.
type Subscription[T any] struct {
	hub    *Hub[T]
	values chan T
}

// Values are all values since the subscription began, in order. The channel is closed when the subscriber has fallen
// behind, or has ended the subscription; what was queued before can still be read.
func (s *Subscription[T]) Values() <-chan T { return s.values }

// End ends the subscription. Doing so twice is harmless.
func (s *Subscription[T]) End() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s)
}
