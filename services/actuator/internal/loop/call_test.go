package loop

import (
	"context"
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/inventory"
)

// TestWhatALeaderDidBeforeItsEndIsNotForgotten lets a leader end right after it answered: a caller that runs late sees
// both at once. A watcher that did not hear of its subscription could not close it, and that one would be the driver of
// all later terms.
func TestWhatALeaderDidBeforeItsEndIsNotForgotten(t *testing.T) {
	const often = 200
	l := &Loop{}
	for range often {
		h := &handle{requests: make(chan func(*term)), done: make(chan struct{})}
		l.setLeading(h)
		go func() {
			f := <-h.requests
			f(nil)
			close(h.done)
		}()
		s, err := l.Subscribe(context.Background(), "w", true)
		if err != nil {
			t.Fatalf("%v, and %d subscriptions stay", err, len(l.hub.subs))
		}
		s.Close()
	}
	next := l.hub.subscribe("w", true)
	defer next.Close()
	l.hub.publish(&inventory.Inventory{})
	if _, drives, err := next.Next(context.Background()); err != nil || !drives {
		t.Errorf("it drives: %v, %v; no other watcher is there", drives, err)
	}
}
