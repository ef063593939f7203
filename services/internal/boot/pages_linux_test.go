package boot

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestOnlyWhatNothingWasWrittenToIsForgotten(t *testing.T) {
	const text = `00400000-00d17000 r-xp 00000000 fe:00 107 /bin/planner
Rss:                6480 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
00d17000-016d5000 r--p 00917000 fe:00 107 /bin/planner
Anonymous:             4 kB
016d5000-0174e000 rw-p 012d5000 fe:00 107 /bin/planner
Anonymous:             0 kB
01800000-01900000 r--p 00000000 fe:00 108 /lib/libc.so
Anonymous:             0 kB
dc9ba400000-dc9bac00000 rw-p 00000000 00:00 0
Anonymous:             0 kB
`
	got := unwritten(strings.NewReader(text), "/bin/planner")
	if len(got) != 1 || got[0] != (mapping{0x400000, 0xd17000}) {
		t.Errorf("%x, want the first mapping alone", got)
	}
}

func TestAProgramGoesOnAfterItsStartIsForgotten(t *testing.T) {
	resident := func() (kib int) {
		t.Helper()
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(status), "RssFile:")
		if _, err := fmt.Sscan(rest, &kib); err != nil || !found {
			t.Skip("this kernel does not say how much of files is mapped")
		}
		return kib
	}
	before := resident()
	if err := forgetPages(); err != nil {
		t.Fatal(err)
	}
	if after := resident(); after >= before {
		t.Errorf("%d KiB of the program are mapped, and %d were before", after, before)
	}
}
