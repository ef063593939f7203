package said

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
)

func TestWhatWasSaidIsBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := New(func() time.Time { return now })
	event := func(i int) cluster.Event {
		return cluster.Event{Kind: "Pod", Name: fmt.Sprint(i), Reason: "Told", Message: "why"}
	}
	for i := range most {
		s.Note(event(i))
	}
	now = now.Add(life)
	s.Note(event(most))
	if len(s.last) != 1 || !s.Known(event(most)) {
		t.Errorf("%d are remembered, want the one that the API server still has", len(s.last))
	}
	if s.Known(event(0)) {
		t.Error("an event is known that the API server has dropped")
	}
	for i := range 2 * most {
		s.Note(event(i))
	}
	if len(s.last) > most {
		t.Errorf("%d are remembered, want at most %d", len(s.last), most)
	}
}

func TestAnObjectHasSomeEventsAtOnceAndThenOneAMinute(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := New(func() time.Time { return now })
	about := func(name string) *corev1.Event {
		return &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: name}}
	}
	written := func(name string, of int) (n int) {
		for range of {
			if !s.TooMuch(about(name)) {
				n++
			}
		}
		return n
	}
	if n := written("flaps", 2*Burst); n != Burst {
		t.Errorf("%d events at once, want %d", n, Burst)
	}
	if n := written("calm", 1); n != 1 {
		t.Error("one object's events are counted for another")
	}
	now = now.Add(2 * every)
	if n := written("flaps", Burst); n != 2 {
		t.Errorf("%d events after two minutes, want 2", n)
	}
	for i := range most {
		written(fmt.Sprint(i), 1)
	}
	if len(s.rates) > most {
		t.Errorf("%d objects are remembered, want at most %d", len(s.rates), most)
	}
}
