package disrupt

import (
	"testing"
	"time"
)

func TestScheduleHits(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse("2006-01-02 15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
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
		"Sunday is 0 and 7":                 {"0 0 * * 7", "2026-03-02 00:00:00", "2026-03-08 00:00:00"},
		"the leap day is found":             {"0 0 29 2 *", "2026-03-02 00:00:00", "2028-02-29 00:00:00"},
		"@monthly is the first at midnight": {"@monthly", "2026-03-02 00:00:00", "2026-04-01 00:00:00"},
		"@weekly is Sunday at midnight":     {"@weekly", "2026-03-02 00:00:00", "2026-03-08 00:00:00"},
		"the year ends":                     {"59 23 31 12 *", "2026-12-31 23:59:00", "2027-12-31 23:59:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := parseSchedule(tt.line)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := s.next(at(tt.after)); !ok || !got.Equal(at(tt.want)) {
				t.Errorf("after %s comes %s (%v), want %s", tt.after, got, ok, tt.want)
			}
		})
	}
	if s, err := parseSchedule("0 0 30 2 *"); err != nil {
		t.Error(err)
	} else if hit, ok := s.next(at("2026-03-02 00:00:00")); ok {
		t.Errorf("February 30 is said to come on %s", hit)
	}
}

func TestScheduleIsActiveForItsDuration(t *testing.T) {
	s, err := parseSchedule("0 9 * * *")
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		now  time.Duration
		want bool
	}{
		"before the hit":           {8*time.Hour + 59*time.Minute, false},
		"at the hit":               {9 * time.Hour, true},
		"just before the end":      {16*time.Hour + 59*time.Minute + 59*time.Second, true},
		"at the end":               {17 * time.Hour, false},
		"in another zone's office": {23 * time.Hour, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := s.active(day.Add(tt.now), 8*time.Hour); got != tt.want {
				t.Errorf("active is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBadSchedulesAreRefused(t *testing.T) {
	for _, line := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "@noon"} {
		if _, err := parseSchedule(line); err == nil {
			t.Errorf("%q is taken for a schedule", line)
		}
	}
}
