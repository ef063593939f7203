package watch

import "testing"

func TestStatIsReadBehindTheName(t *testing.T) {
	t.Parallel()
	const text = "42 (a (b) c) S 1 42 42 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 9 0 100 1000000 300 18446744073709551615 1 1"
	cpu, memory, err := parseStat(text, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if cpu != 3 || memory != 300*4096 {
		t.Errorf("CPU %v s, memory %d, want 3 and %d", cpu, memory, 300*4096)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 (a) S 1 42 42 0 -1 4194560 900 0 0 0 x 50 0 0 20 0 9 0 100 1000000 300 1"} {
		if _, _, err := parseStat(bad, 4096); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestAnonymousMemoryIsReadFromTheStatus(t *testing.T) {
	t.Parallel()
	const text = "Name:\ta b\nVmRSS:\t    1300 kB\nRssAnon:\t    300 kB\nRssFile:\t    1000 kB\n"
	if got, err := parseStatus(text); err != nil || got != 300<<10 {
		t.Errorf("%d, %v, want %d", got, err, 300<<10)
	}
	for _, bad := range []string{"", "RssAnon:\tx kB\n"} {
		if _, err := parseStatus(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
