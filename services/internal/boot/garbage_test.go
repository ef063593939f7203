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

func TestWhatIsCollectedAtRest(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	type look struct {
		live, allocated, held uint64
		want                  collection
	}
	for name, looks := range map[string][]look{
		"twice once it has started, and then nothing": {
			{10 * mib, 30 * mib, 40 * mib, collectNothing}, {10 * mib, 30 * mib, 40 * mib, collectTwice}, {10 * mib, 30 * mib, 12 * mib, collectNothing},
		},
		"nothing of a start that allocated little": {
			{1 * mib, 2 * mib, 3 * mib, collectNothing}, {1 * mib, 2 * mib, 3 * mib, collectNothing},
		},
		"once after work that leaves much": {
			{10 * mib, 30 * mib, 20 * mib, collectNothing},
			{10 * mib, 30 * mib, 20 * mib, collectTwice},
			{10 * mib, 60 * mib, 40 * mib, collectNothing},
			{10 * mib, 60 * mib, 40 * mib, collectOnce},
		},
		"nothing after work that leaves little": {
			{10 * mib, 30 * mib, 20 * mib, collectNothing},
			{10 * mib, 30 * mib, 20 * mib, collectTwice},
			{10 * mib, 37 * mib, 17 * mib, collectNothing},
			{10 * mib, 37 * mib, 17 * mib, collectNothing},
		},
		"nothing while it works": {
			{10 * mib, 30 * mib, 90 * mib, collectNothing}, {10 * mib, 32 * mib, 90 * mib, collectNothing},
		},
	} {
		var r rest
		for n, l := range looks {
			if got := r.look(l.live, l.allocated, l.held); got != l.want {
				t.Errorf("%s: look %d says %d, want %d", name, n, got, l.want)
			}
		}
	}
}
