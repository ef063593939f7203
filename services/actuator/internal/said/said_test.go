package said

import (
	"fmt"
	"testing"
	"time"

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
