package correlator

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

func TestWhatIsRememberedIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(func() time.Time { return now })
	event := func(i int) cluster.Event {
		return cluster.Event{Kind: "Pod", Name: fmt.Sprint(i), Reason: "Told", Message: "why"}
	}
	for i := range most {
		c.Note(event(i))
	}
	now = now.Add(life)
	c.Note(event(most))
	if len(c.last) != 1 || !c.Known(event(most)) {
		t.Errorf("%d are remembered, want the one that the API server still has", len(c.last))
	}
	if c.Known(event(0)) {
		t.Error("an event is known that the API server has dropped")
	}
	for i := range 2 * most {
		c.Note(event(i))
	}
	if len(c.last) > most {
		t.Errorf("%d are remembered, want at most %d", len(c.last), most)
	}
}

func TestAnObjectHasSomeEventsAtOnceAndThenOneAMinute(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(func() time.Time { return now })
	about := func(name string) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: name}}
	}
	written := func(name string, of int) (n int) {
		for range of {
			if !c.TooMuch(about(name)) {
				n++
			}
		}
		return n
	}
	if n := written("flaps", 2*Burst); n != Burst {
		t.Errorf("%d events at once, want %d", n, Burst)
	}
	if n := written("other", 1); n != 1 {
		t.Error("one object's events are counted for another")
	}
	now = now.Add(2 * every)
	if n := written("flaps", Burst); n != 2 {
		t.Errorf("%d events after two minutes, want 2", n)
	}
	for i := range most {
		written(fmt.Sprint(i), 1)
	}
	if len(c.rates) > most {
		t.Errorf("%d objects are remembered, want at most %d", len(c.rates), most)
	}
}
