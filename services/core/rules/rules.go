// Package rules has every rule on which nodes may, must or must not go, and until when: each once, for all services.
// Beside them stand the few others that two services must agree on: when an offering or a buffer counts (window.go),
// how much a deletion cost must change to be told (cost.go), and what keeps a node in the words of events (event.go).
//
// A rule takes facts and a time, and returns a Reason (the zero Reason: nothing to say) and, where time alone can
// change that answer, the instant at which it does; the zero time means never. The callers gather the facts: the
// planner from a snapshot, the verifier and the actuator from what each of them sees. So services may differ in what
// they know, and never in what follows from it. The package must never know how a caller stores anything, and looks at
// no clock. Start reading with Unhealthy, the plainest rule; DriftPause and Moves look at the past.
package rules

import (
	"strconv"
	"time"
)

// Earliest is the first of some instants; zero ones do not count.
func Earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// timeOfDay writes an instant, in UTC.
func timeOfDay(t time.Time) string { return t.UTC().Format("15:04:05") }

// count is "1 node" or "3 nodes".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
