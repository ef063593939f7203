package relief

import (
	"testing"
	"time"
)

func TestWhoStandsInLine(t *testing.T) {
	const s = time.Second
	type span struct {
		from, to time.Duration // of silence
	}
	for name, c := range map[string]struct {
		silences []span
		want     map[time.Duration]bool // at a time after the first look
	}{
		"who sees does so at once":          {nil, map[time.Duration]bool{0: true, 600 * s: true}},
		"a short silence is everyday":       {[]span{{60 * s, 70 * s}}, map[time.Duration]bool{65 * s: true, 75 * s: true}},
		"a longer one ends it":              {[]span{{60 * s, 200 * s}}, map[time.Duration]bool{70 * s: true, 75 * s: false, 195 * s: false}},
		"who sees again does so in a while": {[]span{{60 * s, 200 * s}}, map[time.Duration]bool{200 * s: false, 220 * s: false, 225 * s: true}},
		"who sees now and then does not": {
			[]span{{0, 90 * s}, {115 * s, 120 * s}, {145 * s, 150 * s}},
			map[time.Duration]bool{0: false, 110 * s: false, 140 * s: false, 170 * s: false, 175 * s: true},
		},
		"who begins blind does not": {[]span{{0, 100 * s}}, map[time.Duration]bool{0: false, 125 * s: true}},
	} {
		var x Candidate
		begun := time.Unix(1e9, 0)
		for at := time.Duration(0); at <= 600*s; at += 5 * s {
			var silent time.Time
			for _, v := range c.silences {
				if v.from <= at && at < v.to {
					silent = begun.Add(v.from)
				}
			}
			got := x.Look(silent, begun.Add(at))
			if want, asked := c.want[at]; asked && got != want {
				t.Errorf("%s: after %s it stands in line: %v", name, at, got)
			}
		}
	}
}
