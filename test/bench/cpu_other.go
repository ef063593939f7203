//go:build !unix

package bench

import (
	"errors"
	"time"
)

// cpuTime is for systems that tell a process its CPU time as POSIX does.
func cpuTime() (time.Duration, error) {
	return 0, errors.New("kerf bench measures CPU time with getrusage, which this system does not have: run it on Linux or macOS")
}
