//go:build unix

package assets

import (
	"fmt"
	"os"
	"syscall"
)

// lock takes the lock on the file at path and says so when it has to wait for another process. The kernel releases the lock
// when its holder dies, so a killed build blocks no one.
func lock(path string, out *os.File) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the build: %w", err)
	}
	fd := int(f.Fd())
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		fmt.Fprintln(out, "  another process builds it: waiting")
		if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock the build: %w", err)
		}
	}
	return func() { _ = f.Close() }, nil
}
