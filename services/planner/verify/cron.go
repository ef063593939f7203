package verify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// active says whether a budget counts now: always without a schedule, else from each hit of the schedule for as long as
// its duration. A schedule that can't be read counts, because a budget must fail to the safe side.
func active(b model.DisruptionBudget, now time.Time) bool {
	if b.Schedule == "" {
		return true
	}
	fields, ok := cronFields(b.Schedule)
	if !ok {
		return true
	}
	// Look at every minute back to where a hit would be over, less the days that have none.
	now = now.UTC()
	for t := now.Truncate(time.Minute); now.Sub(t) < b.Duration; t = t.Add(-time.Minute) {
		if !hitsDay(fields, t) {
			t = t.Truncate(24 * time.Hour)
			continue
		}
		if hits(fields, t) {
			return true
		}
	}
	return false
}

// cronFields spells a schedule out as the allowed minutes, hours, days, months and weekdays.
func cronFields(schedule string) (fields [5]cronField, ok bool) {
	names := map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
	if s, known := names[strings.TrimSpace(schedule)]; known {
		schedule = s
	}
	parts := strings.Fields(schedule)
	if len(parts) != len(fields) {
		return fields, false
	}
	ranges := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	for i, part := range parts {
		fields[i], ok = parseCronField(part, ranges[i][0], ranges[i][1], i)
		if !ok {
			return fields, false
		}
	}
	return fields, true
}

// cronField is what one field allows; any says that it was written as a star.
type cronField struct {
	any    bool
	values []int
}

func (f cronField) has(v int) bool { return slices.Contains(f.values, v) }

func parseCronField(text string, lo, hi, field int) (cronField, bool) {
	var f cronField
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 {
				return f, false
			}
			step = min(n, 60) // no field has more values than minutes
		}
		from, to := lo, hi
		if span == "*" || span == "?" {
			f.any = f.any || step == 1
		} else {
			var ok bool
			if from, to, ok = cronRange(span, lo, hi, field, stepped); !ok {
				return f, false
			}
		}
		for v := from; v <= to; v += step {
			f.values = append(f.values, v)
		}
	}
	if field == 4 && f.has(7) {
		f.values = append(f.values, 0) // both are Sunday
	}
	return f, true
}

// cronRange reads a value or a range; one value with a step begins a range to the field's end.
func cronRange(span string, lo, hi, field int, stepped bool) (from, to int, ok bool) {
	a, b, isRange := strings.Cut(span, "-")
	from, ok = cronNumber(a, field)
	to = from
	if isRange && ok {
		to, ok = cronNumber(b, field)
	}
	last := hi
	if field == 4 {
		last = 7
	}
	if stepped && !isRange {
		to = max(from, hi)
	}
	return from, to, ok && from >= lo && to <= last && from <= to
}

func cronNumber(text string, field int) (int, bool) {
	var names []string
	switch field {
	case 3:
		names = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	case 4:
		names = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	}
	if i := slices.Index(names, strings.ToLower(text)); i >= 0 && text != "" {
		return i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// hits says whether a schedule starts in this minute.
func hits(f [5]cronField, t time.Time) bool {
	return f[0].has(t.Minute()) && f[1].has(t.Hour()) && hitsDay(f, t)
}

// hitsDay says whether a schedule starts on this day at all. Of day and weekday one is enough when both are given.
func hitsDay(f [5]cronField, t time.Time) bool {
	day, weekday := f[2].has(t.Day()), f[4].has(int(t.Weekday()))
	days := day && weekday
	if !f[2].any && !f[4].any {
		days = day || weekday
	}
	return f[3].has(int(t.Month())) && days
}
