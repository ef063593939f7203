//go:build unix

package bench

import (
	"fmt"
	"syscall"
	"time"
)

// cpuTime is what the process has used so far, in user and system mode, all its threads together.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the CPU time of the process: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
