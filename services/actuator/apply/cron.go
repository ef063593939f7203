package apply

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cron is a parsed line of five fields: minute, hour, day of month, day of week. A set bit is a match.
type Cron struct {
	minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                bool
}

// ParseCron reads a line of five fields (lists, ranges, steps, names of months and weekdays) or one of @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly and @annually.
func ParseCron(line string) (Cron, error) {
	switch strings.TrimSpace(line) {
	case "@hourly":
		line = "0 * * * *"
	case "@daily", "@midnight":
		line = "0 0 * * *"
	case "@weekly":
		line = "0 0 * * 0"
	case "@monthly":
		line = "0 0 1 * *"
	case "@yearly", "@annually":
		line = "0 0 1 1 *"
	}
	f := strings.Fields(line)
	if len(f) != 5 {
		return Cron{}, fmt.Errorf("schedule %q: want five fields: minute, hour, day of month, day of week", line)
	}
	var c Cron
	var stars [5]bool
	for i, field := range []struct {
		into           *uint64
		low, last, top int
		names          string
	}{
		{&c.minute, 0, 59, 59, ""},
		{&c.hour, 0, 23, 23, ""},
		{&c.day, 1, 31, 31, ""},
		{&c.month, 1, 12, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
		{&c.weekday, 0, 6, 7, "sun mon tue wed thu fri sat"},
	} {
		bits, star, err := parseField(f[i], field.low, field.last, field.top, strings.Fields(field.names))
		if err != nil {
			return Cron{}, fmt.Errorf("schedule %q: field %d: %w", line, i+1, err)
		}
		*field.into, stars[i] = bits, star
	}
	if c.weekday&(1<<7) != 0 { // Sunday is 0 and 7
		c.weekday |= 1
	}
	c.anyDay, c.anyWeekday = stars[2], stars[4]

	return c, nil
}

// parseField reads a list of values, ranges and steps; star says that one of them leaves nothing out. Steps without an end
// run to last, which for days of the week is not the second Sunday.
func parseField(text string, low, last, top int, names []string) (bits uint64, star bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		spec, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return 0, false, fmt.Errorf("step %q is not a positive number", stepText)
			}
			step = min(n, top+1) // beyond the field all steps are the same, and the sum stays a small number
		}
		from, to, err := parseRange(spec, low, top, names)
		if err != nil {
			return 0, false, err
		}
		every := spec == "*" || spec == "?"
		star = star || every && step == 1
		if stepped && !every && !strings.Contains(spec, "-") {
			to = max(from, last)
		}
		for i := from; i <= to; i += step {
			bits |= 1 << i
		}
	}

	return bits, star, nil
}

func parseRange(spec string, low, top int, names []string) (from, to int, err error) {
	if spec == "*" || spec == "?" {
		return low, top, nil
	}
	first, last, ranged := strings.Cut(spec, "-")
	if from, err = parseValue(first, low, names); err != nil {
		return 0, 0, err
	}
	to = from
	if ranged {
		if to, err = parseValue(last, low, names); err != nil {
			return 0, 0, err
		}
	}
	if from < low || to > top || from > to {
		return 0, 0, fmt.Errorf("%q is outside %d-%d", spec, low, top)
	}

	return from, to, nil
}

func parseValue(text string, low int, names []string) (int, error) {
	for i, n := range names {
		if strings.EqualFold(text, n) {
			return i + low, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number nor a name", text)
	}

	return v, nil
}

// Within says whether the schedule was hit in the duration that ends now: later than its beginning, or at this minute.
func (c Cron) Within(now time.Time, d time.Duration) bool {
	for t := now.Truncate(time.Minute); now.Sub(t) < d; {
		switch {
		case c.month&(1<<int(t.Month())) == 0 || !c.matchesDay(t):
			// To the last minute of the day before: no minute of this day matches.
			t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()).Add(-time.Minute)
		case c.hour&(1<<t.Hour()) == 0:
			t = t.Truncate(time.Hour).Add(-time.Minute)
		case c.minute&(1<<t.Minute()) == 0:
			t = t.Add(-time.Minute)
		default:
			return true
		}
	}

	return false
}

// matchesDay follows cron's own rule: when both day fields are restricted, either may match.
func (c Cron) matchesDay(t time.Time) bool {
	day, weekday := c.day&(1<<t.Day()) != 0, c.weekday&(1<<int(t.Weekday())) != 0
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}

	return day || weekday
}
