package apply

import (
	"testing"
	"time"
)

func TestCronWithin(t *testing.T) {
	friday := time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC)
	for name, c := range map[string]struct {
		line     string
		duration time.Duration
		want     bool
	}{
		"every minute":                       {"* * * * *", time.Minute, true},
		"this morning, long enough":          {"0 9 * * *", 4 * time.Hour, true},
		"this morning, not long enough":      {"0 9 * * *", 3 * time.Hour, false},
		"at this very minute":                {"0 12 * * *", time.Minute, true},
		"in a minute":                        {"1 12 * * *", time.Hour, false},
		"working days by name":               {"0 12 * * mon-fri", time.Hour, true},
		"weekends":                           {"0 12 * * sat,sun", 24 * time.Hour, false},
		"Sunday as 7":                        {"0 0 * * 7", 6 * 24 * time.Hour, true},
		"steps":                              {"*/15 * * * *", time.Minute, true},
		"steps that miss":                    {"7/15 * * * *", time.Minute, false},
		"one day field is a star: both hold": {"0 12 13 * *", time.Hour, false},
		"both day fields set: either holds":  {"0 12 13 * 5", time.Hour, true},
		"a question mark is a star":          {"0 12 ? * fri", time.Hour, true},
		"a question mark, on another day":    {"0 12 ? * sat", time.Hour, false},
		"a star with a step is no star":      {"0 12 */2 * fri", time.Hour, true},
		"a star in a list is a star":         {"0 12 13,* * sat", time.Hour, false},
		"steps from Friday leave Sunday out": {"0 13 * * 5/2", 6 * 24 * time.Hour, false},
		"a step beyond all":                  {"0 0 */9223372036854775807 * *", 20 * 24 * time.Hour, true},
		"a month by name":                    {"0 0 1 nov *", 20 * 24 * time.Hour, true},
		"another month":                      {"0 0 1 dec *", 20 * 24 * time.Hour, false},
		"daily":                              {"@daily", 13 * time.Hour, true},
		"yearly":                             {"@yearly", 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			cron, err := ParseCron(c.line)
			if err != nil {
				t.Fatal(err)
			}
			if got := cron.Within(friday, c.duration); got != c.want {
				t.Errorf("%q within %s: %v, want %v", c.line, c.duration, got, c.want)
			}
		})
	}
}

// TestCronAgainstEveryMinute compares the search, which skips, with one that does not.
func TestCronAgainstEveryMinute(t *testing.T) {
	for _, line := range []string{"0 9 * * mon-fri", "*/7 3-5 1,15 * *", "59 23 31 12 *", "30 4 * 2 0"} {
		cron, err := ParseCron(line)
		if err != nil {
			t.Fatal(err)
		}
		for now := time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC); now.Month() != time.April; now = now.Add(37 * time.Minute) {
			for _, d := range []time.Duration{time.Minute, time.Hour, 30 * time.Hour} {
				want := false
				for m := now; now.Sub(m) < d; m = m.Add(-time.Minute) {
					want = want || (cron.minute&(1<<m.Minute()) != 0 && cron.hour&(1<<m.Hour()) != 0 &&
						cron.month&(1<<int(m.Month())) != 0 && cron.matchesDay(m))
				}
				if got := cron.Within(now, d); got != want {
					t.Fatalf("%q at %s within %s: %v, want %v", line, now, d, got, want)
				}
			}
		}
	}
}

func TestCronRefuses(t *testing.T) {
	for _, line := range []string{"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "x * * * *", "@often"} {
		if _, err := ParseCron(line); err == nil {
			t.Errorf("%q: accepted", line)
		}
	}
}
