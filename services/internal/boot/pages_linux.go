package boot

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// startTimes are after how long a service has started: where it has the machine to itself, and where it has not.
func startTimes() []time.Duration { return []time.Duration{time.Second, 10 * time.Second} }

// madvCold has the kernel take pages first when it needs some; syscall does not name it.
const madvCold = 20

// forgetStart unmaps the pages of the program once it has started: of those a quarter serves the start alone. The ones that are
// needed again are mapped again from the page cache, and the kernel takes the others first.
func forgetStart(ctx context.Context) {
	began := time.Now()
	for _, after := range startTimes() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(after))):
			_ = forgetPages() // nothing but memory depends on it
		}
	}
}

func forgetPages() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("forget the start: %w", err)
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("forget the start: %w", err)
	}
	defer maps.Close() //nolint:errcheck // nothing was written
	for _, m := range unwritten(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, madvCold) // kernels before 5.4 don't know it
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("forget the start: %w", errno)
		}
	}
	return nil
}

// mapping is a part of the address space.
type mapping struct{ start, end uintptr }

// unwritten are the mappings of a file that nothing can be written to and nothing was: all their pages are as in the file. A
// debugger and a loader that relocates write to theirs, which are pages of no file then.
func unwritten(smaps io.Reader, file string) []mapping {
	var out []mapping
	var at mapping
	ours := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		var m mapping
		var mode string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %4s", &m.start, &m.end, &mode); n == 3 {
			at, ours = m, len(mode) == 4 && mode[1] == '-' && mode[3] == 'p' && strings.HasSuffix(lines.Text(), " "+file)
			continue
		}
		if name, value, _ := strings.Cut(lines.Text(), ":"); ours && name == "Anonymous" && strings.TrimSpace(value) == "0 kB" {
			out = append(out, at)
		}
	}
	return out
}
