package observed

import (
	"testing"
	"time"
)

func TestHowLongThereWasNoAnswer(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 11, 20, 12, minutes, 0, 0, time.UTC) }
	var s silences
	s.end(span{at(10), at(14)})
	s.end(span{at(20), at(20)})
	s.end(span{at(30), at(29)}) // it has answered in time
	s.end(span{at(40), at(41)})
	for name, tt := range map[string]struct {
		since   time.Time
		present span
		want    time.Duration
	}{
		"all of it":                             {at(0), span{}, 5 * time.Minute},
		"what was before does not count":        {at(12), span{}, 3 * time.Minute},
		"nothing":                               {at(50), span{}, 0},
		"with the one that lasts":               {at(12), span{at(55), at(57)}, 5 * time.Minute},
		"of which the part since then":          {at(56), span{at(55), at(57)}, time.Minute},
		"one that would begin later is none":    {at(12), span{at(59), at(57)}, 3 * time.Minute},
		"of who never answered, the whole time": {at(52), span{time.Time{}, at(57)}, 5 * time.Minute},
	} {
		if got := s.since(tt.since, tt.present); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for i := range 2 * mostSilences {
		s.end(span{at(60 + 2*i), at(61 + 2*i)})
	}
	if got := s.since(at(0), span{}); got != mostSilences*time.Minute {
		t.Errorf("%s, want the last %d", got, mostSilences)
	}
}
