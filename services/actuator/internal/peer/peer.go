// Package peer tells a process that has died from one that is silent, sooner than a lease can. Start reading at Died.
package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	dialTimeout = 2 * time.Second
	// redial is how long after a connection that could not be made, and could not be known to be refused, the next is tried.
	redial = time.Second
	// mostOften is how often at most a process is dialled that takes connections and ends them at once.
	mostOften = 100 * time.Millisecond
)

// Died holds a connection to the process that listens at an address, and returns true once the process is gone: the connection has
// ended, and right after it the machine says that nothing listens there. Silence is not death, nor is a connection that could never
// be made, as where a network policy refuses it. It returns false when ctx ends.
func Died(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	for known := false; ctx.Err() == nil; {
		began := time.Now()
		conn, err := dialer.DialContext(ctx, "tcp", address)
		switch {
		case err == nil:
			known = true
			hold(ctx, conn)
			if time.Since(began) < mostOften {
				pause(ctx, mostOften)
			}
		case known && errors.Is(err, syscall.ECONNREFUSED):
			return true
		default:
			known = false // what listens there later may be another process
			pause(ctx, redial)
		}
	}
	return false
}

// hold returns once the connection has ended, or ctx. What is said on it is of no interest.
func hold(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
