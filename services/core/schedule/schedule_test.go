package schedule_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/schedule"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func parse(t *testing.T, line string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNext(t *testing.T) {
	tests := map[string]struct {
		line, after, want string
	}{
		"every minute":                      {"* * * * *", "2026-03-02 12:00:30", "2026-03-02 12:01:00"},
		"a hit is strictly later":           {"0 12 * * *", "2026-03-02 12:00:00", "2026-03-03 12:00:00"},
		"working hours on weekdays":         {"0 9 * * mon-fri", "2026-03-06 09:00:00", "2026-03-09 09:00:00"},
		"steps":                             {"*/15 * * * *", "2026-03-02 12:16:00", "2026-03-02 12:30:00"},
		"a step from a value":               {"5/20 * * * *", "2026-03-02 12:30:00", "2026-03-02 12:45:00"},
		"lists and names":                   {"0 0 1 JAN,jul *", "2026-03-02 00:00:00", "2026-07-01 00:00:00"},
		"either day field is enough":        {"0 0 13 * 5", "2026-03-02 00:00:00", "2026-03-06 00:00:00"},
		"a star with a step is no star":     {"0 0 */2 * 5", "2026-03-02 00:00:00", "2026-03-03 00:00:00"},
		"a star in a list is a star":        {"0 0 13,* * sat", "2026-03-02 00:00:00", "2026-03-07 00:00:00"},
		"a question mark is a star":         {"0 0 ? * sat", "2026-03-02 00:00:00", "2026-03-07 00:00:00"},
		"a step beyond the field":           {"0 0 */9223372036854775807 * *", "2026-03-02 00:00:00", "2026-04-01 00:00:00"},
		"the leap day is found":             {"0 0 29 2 *", "2026-03-02 00:00:00", "2028-02-29 00:00:00"},
		"@hourly is at the full hour":       {"@hourly", "2026-03-02 00:00:00", "2026-03-02 01:00:00"},
		"@midnight is @daily":               {"@midnight", "2026-03-02 00:00:00", "2026-03-03 00:00:00"},
		"@monthly is the first at midnight": {"@monthly", "2026-03-02 00:00:00", "2026-04-01 00:00:00"},
		"@weekly is Sunday at midnight":     {"@weekly", "2026-03-02 00:00:00", "2026-03-08 00:00:00"},
		"@annually is New Year":             {"@annually", "2026-03-02 00:00:00", "2027-01-01 00:00:00"},
		"the year ends":                     {"59 23 31 12 *", "2026-12-31 23:59:00", "2027-12-31 23:59:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := parse(t, tt.line)
			if got := s.Next(at(t, tt.after)); !got.Equal(at(t, tt.want)) {
				t.Errorf("after %s comes %s, want %s", tt.after, got, tt.want)
			}
		})
	}
	if hit := parse(t, "0 0 30 2 *").Next(at(t, "2026-03-02 00:00:00")); !hit.IsZero() {
		t.Errorf("February 30 is said to come on %s", hit)
	}
}

func TestActive(t *testing.T) {
	const hour, week, year = time.Hour, 7 * 24 * time.Hour, 365 * 24 * time.Hour
	// 2026-11-20 is a Friday.
	tests := map[string]struct {
		line     string
		now      string
		duration time.Duration
		active   bool
		until    string // "" for never
	}{
		"before the hit":                {"0 9 * * *", "2026-11-20 08:59:00", 8 * hour, false, "2026-11-20 09:00:00"},
		"at the hit":                    {"0 9 * * *", "2026-11-20 09:00:00", 8 * hour, true, "2026-11-20 17:00:00"},
		"just before the end":           {"0 9 * * *", "2026-11-20 16:59:59", 8 * hour, true, "2026-11-20 17:00:00"},
		"at the end":                    {"0 9 * * *", "2026-11-20 17:00:00", 8 * hour, false, "2026-11-21 09:00:00"},
		"over the weekend":              {"0 9 * * mon-fri", "2026-11-20 17:00:00", 8 * hour, false, "2026-11-23 09:00:00"},
		"since yesterday":               {"0 18 19 11 *", "2026-11-20 12:30:00", 24 * hour, true, "2026-11-20 18:00:00"},
		"hits that follow each other":   {"0 * * * mon-fri", "2026-11-20 12:30:00", hour, true, "2026-11-21 00:00:00"},
		"hits of one day overlap":       {"0 9,12 * * *", "2026-11-20 10:00:00", 4 * hour, true, "2026-11-20 16:00:00"},
		"hits of one day do not":        {"0 9,12 * * *", "2026-11-20 10:00:00", 2 * hour, true, "2026-11-20 11:00:00"},
		"overnight":                     {"0 22 * * *", "2026-11-20 23:00:00", 8 * hour, true, "2026-11-21 06:00:00"},
		"always, by the minute":         {"* * * * *", "2026-11-20 12:30:30", time.Minute, true, ""},
		"always, by the day":            {"@daily", "2026-11-20 12:30:30", 24 * hour, true, ""},
		"always, by the month":          {"@monthly", "2026-11-20 12:30:30", 31 * 24 * hour, true, ""},
		"all months but February":       {"@monthly", "2026-11-20 12:30:30", 30 * 24 * hour, true, "2026-12-31 00:00:00"},
		"all days but those of a year":  {"@yearly", "2026-11-20 12:30:30", year, true, "2028-12-31 00:00:00"},
		"all weekdays but one":          {"0 0 * * 0-5", "2026-11-20 12:30:30", 24 * hour, true, "2026-11-21 00:00:00"},
		"each Friday for a week":        {"0 13 * * fri", "2026-11-20 12:30:30", week, true, ""},
		"less than a minute":            {"* * * * *", "2026-11-20 12:30:30", 10 * time.Second, false, "2026-11-20 12:31:00"},
		"no time at all":                {"* * * * *", "2026-11-20 12:30:00", 0, false, ""},
		"a day that does not exist":     {"0 0 31 2 *", "2026-11-20 12:30:00", 200 * year, false, ""},
		"the leap day, for two hundred": {"0 0 29 2 *", "2026-11-20 12:30:00", 200 * year, true, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var want time.Time
			if tt.until != "" {
				want = at(t, tt.until)
			}
			active, until := parse(t, tt.line).Active(at(t, tt.now), tt.duration)
			if active != tt.active || !until.Equal(want) {
				t.Errorf("%v until %s, want %v until %s", active, until, tt.active, want)
			}
		})
	}
}

func TestZonesDoNotMatter(t *testing.T) {
	s, now := parse(t, "0 9 * * *"), at(t, "2026-11-20 09:30:00")
	active, until := s.Active(now.In(time.FixedZone("far", 7*3600)), time.Hour)
	if want := at(t, "2026-11-20 10:00:00"); !active || !until.Equal(want) {
		t.Errorf("%v until %s, want true until %s", active, until, want)
	}
}

func TestRefused(t *testing.T) {
	for name, line := range map[string]string{
		"nothing": "", "four fields": "* * * *", "minute 60": "60 * * * *", "hour 24": "* 24 * * *", "day 0": "* * 0 * *",
		"month 13": "* * * 13 *", "weekday 7, which Karpenter's parser does not know": "* * * * 7", "weekday 8": "* * * * 8",
		"step 0": "*/0 * * * *", "a range that runs backwards": "5-1 * * * *", "letters": "a * * * *", "an unknown name": "@noon",
		"seconds": "0 0 9 * * *", "an interval": "@every 1h", "an interval of five words": "@every 1h * * *",
		"a zone": "TZ=Asia/Tokyo 0 9 * * *", "a zone for cron": "CRON_TZ=Asia/Tokyo 0 9 * * *", "a zone and four fields": "TZ=UTC 0 9 * *",
		"a zone alone": "TZ=", "a name with a space": " @daily", "a long line": "0" + strings.Repeat(",0", 200) + " * * * *",
	} {
		if _, err := schedule.Parse(line); err == nil {
			t.Errorf("%s: %q is taken for a schedule", name, line)
		}
	}
}

// naive reads a line of the parts below in the plainest way, and says whether it hits at a minute.
func naive(fields []string) func(t time.Time) bool {
	var sets [5][60]bool
	for i, low := range []int{0, 0, 1, 1, 0} {
		high := []int{59, 23, 31, 12, 6}[i]
		for v := low; v <= high; v++ {
			sets[i][v] = has(fields[i], low, high, v)
		}
	}
	both := star(fields[2]) || star(fields[4])
	return func(t time.Time) bool {
		day, weekday := sets[2][t.Day()], sets[4][t.Weekday()]
		return sets[0][t.Minute()] && sets[1][t.Hour()] && sets[3][t.Month()] && (day && weekday || !both && (day || weekday))
	}
}

func star(field string) bool {
	for part := range strings.SplitSeq(field, ",") {
		if part == "*" || part == "?" || part == "*/1" {
			return true
		}
	}
	return false
}

// has looks in a list of values, ranges and steps; all numbers of the test have one or two digits, and names come first.
func has(field string, low, high, v int) bool {
	names := strings.NewReplacer("feb", "2", "jan", "1", "mar", "3", "sun", "0", "mon", "1", "fri", "5")
	number := func(s string) (n int) {
		for _, c := range s {
			n = 10*n + int(c-'0')
		}
		return n
	}
	for part := range strings.SplitSeq(names.Replace(strings.ToLower(field)), ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step, from, to := 1, low, high
		if stepped {
			step = number(stepText)
		}
		if span != "*" && span != "?" {
			first, last, ranged := strings.Cut(span, "-")
			from = number(first)
			switch {
			case ranged:
				to = number(last)
			case !stepped:
				to = from
			}
		}
		if v >= from && v <= to && (v-from)%step == 0 {
			return true
		}
	}
	return false
}

// TestAgainstEveryMinute holds Active against a walk over every minute: back for the answer, and on to where it changes.
func TestAgainstEveryMinute(t *testing.T) {
	parts := [5][]string{
		{"*", "0", "30", "*/15", "5-59/7", "0,30", "59"},
		{"*", "0", "9", "*/6", "22-23", "8-18/5", "?"},
		{"*", "?", "1", "13", "31", "*/2", "1-7", "*,5", "30,31", "*/1"},
		{"*", "2", "FEB", "jan-mar", "*/3", "4,6", "12"},
		{"*", "?", "0", "sun", "mon-fri", "*/2", "5", "*,5", "6,0", "*/1", "3-6", "0-6", "1/3"},
	}
	start := time.Date(2027, 12, 20, 0, 0, 0, 0, time.UTC) // the leap day of 2028 is ahead
	rapid.Check(t, func(t *rapid.T) {
		fields := make([]string, len(parts))
		for i := range parts {
			fields[i] = rapid.SampledFrom(parts[i]).Draw(t, "field")
		}
		now := start.Add(time.Duration(rapid.IntRange(0, 366*86400).Draw(t, "second")) * time.Second)
		d := time.Duration(rapid.IntRange(1, 3*24*60).Draw(t, "minutes")) * time.Minute
		line := strings.Join(fields, " ")
		s, err := schedule.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		hits, since := naive(fields), -1 // minutes since the last hit
		for m := now.Truncate(time.Minute); now.Sub(m) < d; m = m.Add(-time.Minute) {
			if hits(m) {
				since = int(now.Truncate(time.Minute).Sub(m) / time.Minute)
				break
			}
		}
		active, until := s.Active(now, d)
		if active != (since >= 0) {
			t.Fatalf("%q for %s at %s: active %v", line, d, now, active)
		}
		const ahead = 20 * 24 * 60
		var change time.Time
		last := now.Truncate(time.Minute).Add(-time.Duration(since) * time.Minute)
		for i := range ahead {
			m := now.Truncate(time.Minute).Add(time.Duration(i+1) * time.Minute)
			hit := hits(m)
			if active && m.Sub(last) >= d && !hit || !active && hit {
				change = m
				break
			}
			if hit {
				last = m
			}
		}
		horizon := now.Truncate(time.Minute).Add(ahead * time.Minute)
		if change.IsZero() && (until.IsZero() || until.After(horizon)) {
			return
		}
		if !until.Equal(change) {
			t.Fatalf("%q for %s at %s: active %v until %s, want until %s", line, d, now, active, until, change)
		}
	})
}

// FuzzParse reads any line: what is accepted can be asked at any time, and its hits are where they are looked for.
func FuzzParse(f *testing.F) {
	for i, line := range []string{
		"* * * * *", "0 9 * * mon-fri", "*/15 8-18/2 1,15 JAN,jul *", "@daily", " @weekly ", "@annually", "0 0 */2 * 1",
		"5/20 * ? * sun", "0 0 29 2 *", "? ? ? ? ?", "+5 * * * *", "5/9223372036854775807 * * * *", "0 0 * * 5-7", "TZ= * * * *", "@every 1s",
	} {
		f.Add(line, uint32(i*1_000_003), uint16(i*37))
	}
	start := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string, after uint32, minutes uint16) {
		s, err := schedule.Parse(line)
		if err != nil {
			return
		}
		now := start.Add(time.Duration(after%(2*366*86400)) * time.Second)
		d := time.Duration(minutes%(2*24*60)+1) * time.Minute
		active, until := s.Active(now, d)
		if until.IsZero() {
			return
		}
		before, _ := s.Active(until.Add(-time.Nanosecond), d)
		if then, _ := s.Active(until, d); !until.After(now) || before != active || then == active {
			t.Fatalf("%q for %s at %s: active %v, %v before %s, and %v then", line, d, now, active, before, until, then)
		}
	})
}
