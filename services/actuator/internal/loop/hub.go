package loop

import (
	"context"
	"slices"
	"sync"

	"github.com/kerf-dev/kerf/services/actuator/inventory"
)

// hub keeps the newest inventory and tells subscribers of it. There is no queue: a subscriber that is slow skips what it
// was too slow for, and the difference to what it had is made when it asks.
type hub struct {
	mu      sync.Mutex
	current *inventory.Inventory // nil while this candidate does not lead, or has not seen everything yet
	term    int                  // grows with every end
	subs    []*Subscription      // in the order of their coming
}

// Subscription is one watcher's view of the inventory. It belongs to one goroutine.
type Subscription struct {
	hub    *hub
	name   string
	drive  bool
	term   int
	wake   chan struct{}
	seen   *inventory.Inventory
	driver bool
}

func (h *hub) subscribe(name string, drive bool) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscription{hub: h, name: name, drive: drive, term: h.term, wake: make(chan struct{}, 1)}
	h.subs = append(h.subs, s)
	s.poke()
	return s
}

func (s *Subscription) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (h *hub) publish(inv *inventory.Inventory) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = inv
	for _, s := range h.subs {
		s.poke()
	}
}

// end tells every subscriber that this candidate leads no longer.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = nil
	h.term++
	for _, s := range h.subs {
		s.poke()
	}
}

func (h *hub) get() *inventory.Inventory {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

// Next waits until there is an inventory that is not the one it returned before, or until another
// subscriber drives, and says whether this one does. A *NotLeaderError ends the subscription.
func (s *Subscription) Next(ctx context.Context) (*inventory.Inventory, bool, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-s.wake:
		}
		s.hub.mu.Lock()
		current, over, driver := s.hub.current, s.hub.term != s.term, s.hub.driver() == s
		s.hub.mu.Unlock()
		switch {
		case over:
			return nil, false, &NotLeaderError{}
		case current == nil || (current == s.seen && driver == s.driver):
			continue
		}
		s.seen, s.driver = current, driver
		return current, driver, nil
	}
}

// driver is the first subscriber that wants to drive.
func (h *hub) driver() *Subscription {
	for _, s := range h.subs {
		if s.drive {
			return s
		}
	}
	return nil
}

// Close ends the subscription; the next one in line drives.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.subs = slices.DeleteFunc(s.hub.subs, func(x *Subscription) bool { return x == s })
	for _, x := range s.hub.subs {
		x.poke()
	}
}
