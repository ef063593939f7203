package boot

import "testing"

func TestHowMuchGarbageThereMayBe(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tt := range map[string]struct{ inUse, garbage uint64 }{
		"no more than twice what is in use":                {1 * mib, 2 * mib},
		"4 MiB of what a service holds in a small cluster": {10 * mib, 4 * mib},
		"a quarter of more":                                {64 * mib, 16 * mib},
		"half of what a service holds in a large cluster":  {400 * mib, 200 * mib},
	} {
		if got := tt.inUse * uint64(garbagePercent(tt.inUse)) / 100; got != tt.garbage {
			t.Errorf("%s: %d bytes of %d, want %d", name, got, tt.inUse, tt.garbage)
		}
	}
}
