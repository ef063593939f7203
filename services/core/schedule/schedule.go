// Package schedule reads the cron lines of disruption budgets: what Karpenter's NodePool accepts, and nothing else.
//
// The parser is github.com/robfig/cron, which is Karpenter's too. What it takes beyond a budget's line is refused here:
// seconds, @every, time zones. Schedules are in UTC. The package must never know what a schedule is for. Start reading at
// Parse and Active.
package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	day = 24 * time.Hour
	// maxLength is how long a line may be.
	maxLength = 256
	// horizon is how far the library looks for a hit.
	horizon = 5 * 365 * day
)

// Schedule is a parsed line. The zero Schedule is invalid.
type Schedule struct {
	spec *cron.SpecSchedule
	// gap is the longest time between two hits of the same day; last is the last hit of a day, since midnight.
	gap, last time.Duration
	// period is a time after which the days that have hits repeat; it is the horizon where days of the month count.
	period time.Duration
}

// Named are the lines that are a word.
func Named() []string {
	return []string{"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
}

// Parse reads five fields (minute, hour, day of the month, the month, day of the week), or one of Named.
func Parse(line string) (Schedule, error) {
	if !slices.Contains(Named(), line) {
		switch n := len(strings.Fields(line)); {
		case len(line) > maxLength:
			return Schedule{}, fmt.Errorf("a schedule of %d characters: want at most %d", len(line), maxLength)
		case n != 5:
			return Schedule{}, fmt.Errorf("%q has %d fields: want minute, hour, day of month, month and day of week", line, n)
		case strings.ContainsAny(line, "@="):
			return Schedule{}, fmt.Errorf("%q: a schedule has no time zone and no interval; it is in UTC", line)
		}
	}
	parsed, err := cron.ParseStandard(line)
	if err != nil {
		return Schedule{}, fmt.Errorf("%q: %w", line, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Schedule{}, fmt.Errorf("%q is not a cron line", line)
	}
	s := Schedule{spec: spec, period: period(spec)}
	s.gap, s.last = hits(spec)
	return s, nil
}

// hits is the longest time between two hits of the same day, and when the last one comes.
func hits(spec *cron.SpecSchedule) (gap, last time.Duration) {
	first := true
	for m := range 24 * 60 {
		if spec.Hour&(1<<(m/60)) == 0 || spec.Minute&(1<<(m%60)) == 0 {
			continue
		}
		at := time.Duration(m) * time.Minute
		if !first {
			gap = max(gap, at-last)
		}
		first, last = false, at
	}
	return gap, last
}

// period is a time after which the days that have hits repeat. Eight days hold each step from one weekday to the next.
func period(spec *cron.SpecSchedule) time.Duration {
	const months, days = 1<<13 - 2, 1<<32 - 2
	if spec.Month&months == months && spec.Dom&days == days {
		return 8 * day
	}
	return horizon
}

// Next is the first hit after t; zero where there is none within five years.
func (s Schedule) Next(t time.Time) time.Time { return s.spec.Next(t.UTC()) }

// Active says whether a hit lies in (now-d, now], and when the answer changes next; zero when it never does.
func (s Schedule) Active(now time.Time, d time.Duration) (active bool, until time.Time) {
	if d <= 0 {
		return false, time.Time{}
	}
	hit := s.Next(now.Add(-min(d, horizon)))
	if hit.IsZero() || hit.After(now) {
		return false, hit
	}
	for end := now.Add(s.period); hit.Before(end); {
		last := hit
		if s.gap <= d { // the rest of the day holds without looking
			last = hit.Truncate(day).Add(s.last)
		}
		hit = s.Next(last)
		if hit.IsZero() || hit.After(last.Add(d)) {
			return true, last.Add(d)
		}
	}
	return true, time.Time{}
}
