package disrupt

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// schedule is a cron line: the minutes, hours, days of the month, months and days of the week at which it hits, in UTC.
type schedule struct {
	minute, hour, dom, month, dow uint64
	// anyDay and anyWeekday say that the field was a star: then only the other one counts. If neither is, one of the
	// two is enough, as cron has it.
	anyDay, anyWeekday bool
}

// horizon is how far ahead a hit is looked for: February 29 may be eight years away.
const horizon = 9

// field is one of the five. A step without an end runs to last, which for days of the week is not the second Sunday.
type field struct {
	name           string
	min, max, last int
	names          []string
}

func fields() [5]field {
	months := []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	days := []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	return [5]field{
		{"minute", 0, 59, 59, nil},
		{"hour", 0, 23, 23, nil},
		{"day of month", 1, 31, 31, nil},
		{"month", 1, 12, 12, months},
		{"day of week", 0, 7, 6, days},
	}
}

// macro spells out the short forms.
func macro(line string) string {
	switch line {
	case "@yearly", "@annually":
		return "0 0 1 1 *"
	case "@monthly":
		return "0 0 1 * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@daily", "@midnight":
		return "0 0 * * *"
	case "@hourly":
		return "0 * * * *"
	}
	return line
}

// parseSchedule reads five fields, or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.
func parseSchedule(line string) (schedule, error) {
	parts := strings.Fields(macro(strings.TrimSpace(line)))
	if len(parts) != 5 {
		return schedule{}, fmt.Errorf("%q has %d fields, not the five of minute, hour, day of month, month and day of week", line, len(parts))
	}
	var sets [5]uint64
	var stars [5]bool
	for i, f := range fields() {
		var err error
		if sets[i], stars[i], err = f.parse(parts[i]); err != nil {
			return schedule{}, fmt.Errorf("%q: %s: %w", line, f.name, err)
		}
	}
	if sets[4]&(1<<7) != 0 { // 7 is Sunday too
		sets[4] |= 1
	}
	return schedule{
		minute: sets[0], hour: sets[1], dom: sets[2], month: sets[3], dow: sets[4],
		anyDay: stars[2], anyWeekday: stars[4],
	}, nil
}

// parse reads a list of values, ranges and steps into a set; star says that one of them is a star that leaves nothing out.
func (f field) parse(s string) (set uint64, star bool, err error) {
	for part := range strings.SplitSeq(s, ",") {
		spec, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return 0, false, fmt.Errorf("%q is no step", stepText)
			}
			step = min(n, f.max+1) // beyond the field all steps are the same, and the sum stays a small number
		}
		lo, hi, err := f.span(spec, stepped)
		if err != nil {
			return 0, false, err
		}
		star = star || step == 1 && (spec == "*" || spec == "?")
		for v := lo; v <= hi; v += step {
			set |= 1 << v
		}
	}
	return set, star, nil
}

func (f field) span(spec string, stepped bool) (lo, hi int, err error) {
	if spec == "*" || spec == "?" {
		return f.min, f.last, nil
	}
	from, to, ranged := strings.Cut(spec, "-")
	if lo, err = f.value(from); err != nil {
		return 0, 0, err
	}
	hi = lo
	if ranged {
		if hi, err = f.value(to); err != nil {
			return 0, 0, err
		}
	} else if stepped {
		hi = max(lo, f.last)
	}
	if lo > hi {
		return 0, 0, fmt.Errorf("%q runs backwards", spec)
	}
	return lo, hi, nil
}

func (f field) value(s string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(s, name) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < f.min || n > f.max {
		return 0, fmt.Errorf("%q is not between %d and %d", s, f.min, f.max)
	}
	return n, nil
}

// active says whether the schedule hit less than a duration before now, or at now.
func (s schedule) active(now time.Time, d time.Duration) bool {
	hit, ok := s.next(now.Add(-d))
	return ok && !hit.After(now)
}

// next is the first hit after t; ok is false where there is none within the horizon.
func (s schedule) next(t time.Time) (hit time.Time, ok bool) {
	t = t.UTC().Truncate(time.Minute).Add(time.Minute)
	end := t.AddDate(horizon, 0, 0)
	for t.Before(end) {
		switch {
		case !in(s.month, int(t.Month())):
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !s.onDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case !in(s.hour, t.Hour()):
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !in(s.minute, t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

func (s schedule) onDay(t time.Time) bool {
	day, weekday := in(s.dom, t.Day()), in(s.dow, int(t.Weekday()))
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

func in(set uint64, v int) bool { return set&(1<<v) != 0 }
