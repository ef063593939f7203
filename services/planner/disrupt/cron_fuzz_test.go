package disrupt

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

// verifierSaysActive asks package verify, which reads schedules in its own way, whether a budget counts: a plan takes the
// one node of a pool away, which an active budget of no nodes forbids.
func verifierSaysActive(b model.DisruptionBudget, now time.Time) bool {
	b.Count = 0
	in := model.Input{Now: now, Snapshot: model.Snapshot{
		NodePools: []model.NodePool{{Name: "p", Budgets: []model.DisruptionBudget{b}}},
		Nodes:     []model.Node{{Name: "n", Claim: "c", Ready: true}},
		Claims:    []model.Claim{{ID: "c", NodePool: "p", Node: "n", State: model.ClaimInitialized}},
	}}
	broken := verify.Plan(in, model.Plan{
		Now:         now,
		Disruptions: []model.Disruption{{ID: "d", Reason: model.ReasonEmpty, Candidates: []model.ClaimID{"c"}}},
	})
	return strings.Contains(verify.Join(broken), "budget 0 allows 0 nodes at once")
}

// FuzzSchedule holds the two readers of schedules against each other: on any line, at any time, both say the same.
func FuzzSchedule(f *testing.F) {
	for i, line := range []string{
		"* * * * *", "0 9 * * mon-fri", "*/15 8-18/2 1,15 JAN,jul *", "0 0 13 * 5", "0 0 * * 7", "@daily", " @weekly ", "@annually",
		"0 0 */2 * 1", "0 0 *,5 * 1", "5/20 * ? * sun", "0 0 29 2 *", "59 23 31 12 *", "* * 0 * *", "0 0 * * 5-7", "? ? ? ? ?",
		"0 0 */1 * 3", "@hourly", "1-5/0 * * * *", "+5 * * * *", "5/9223372036854775807 * * * *", "0 0 * * 1/3", "0 0 * * 7/2",
	} {
		f.Add(line, uint32(i*1_000_003), uint16(i*37))
	}
	start := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string, after uint32, minutes uint16) {
		if len(line) > 100 {
			return
		}
		// Up to two years on, by the second; budgets of up to two days.
		now := start.Add(time.Duration(after%(2*366*86400)) * time.Second)
		span := time.Duration(minutes%(2*24*60)+1) * time.Minute
		s, err := parseSchedule(line)
		mine := err != nil || s.active(now, span) // what can't be read counts
		if strings.TrimSpace(line) == "" {
			return // no schedule
		}
		if theirs := verifierSaysActive(model.DisruptionBudget{Schedule: line, Duration: span}, now); theirs != mine {
			t.Fatalf("%q for %s at %s: active %v (%v), the verifier says %v", line, span, now.Format("Mon 2006-01-02 15:04:05"), mine, err, theirs)
		}
		if err != nil {
			return
		}
		hit, ok := s.next(now)
		if ok && (!hit.After(now) || hit.Second() != 0 || !s.active(hit, time.Minute)) {
			t.Fatalf("%q after %s: the next hit is %s", line, now, hit)
		}
	})
}

// FuzzScheduleFields is FuzzSchedule for lines that are built from parts, so that nearly all of them can be read.
func FuzzScheduleFields(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0}, uint32(5), uint16(7))
	f.Add([]byte("a kerf is the width that a saw wastes"), uint32(1e9), uint16(700))
	parts := [5][]string{
		{"*", "0", "30", "*/15", "5-59/7", "0,30", "5/9223372036854775807"},
		{"*", "0", "9", "*/6", "22-23", "8-18/5", "?"},
		{"*", "?", "1", "13", "31", "*/2", "1-7", "*,5", "30,31", "*/1", "*/01"},
		{"*", "2", "FEB", "jan-mar", "*/3", "4,6", "12"},
		{"*", "?", "0", "sun", "mon-fri", "*/2", "5", "*,5", "6,0", "*/1", "3-6", "7", "0-6", "5-7", "1/3", "7/7"},
	}
	start := time.Date(2027, 12, 20, 0, 0, 0, 0, time.UTC) // the leap day of 2028 is ahead
	f.Fuzz(func(t *testing.T, data []byte, after uint32, minutes uint16) {
		fields := make([]string, len(parts))
		for i := range parts {
			if len(data) > i {
				fields[i] = parts[i][int(data[i])%len(parts[i])]
			} else {
				fields[i] = "*"
			}
		}
		line := strings.Join(fields, " ")
		now := start.Add(time.Duration(after%(366*86400)) * time.Second)
		span := time.Duration(minutes%(3*24*60)+1) * time.Minute
		s, err := parseSchedule(line)
		mine := err != nil || s.active(now, span)
		if theirs := verifierSaysActive(model.DisruptionBudget{Schedule: line, Duration: span}, now); theirs != mine {
			t.Fatalf("%q for %s at %s: active %v (%v), the verifier says %v", line, span, now.Format("Mon 2006-01-02 15:04:05"), mine, err, theirs)
		}
		if err != nil {
			t.Fatalf("%q can't be read: %v", line, err)
		}
	})
}
