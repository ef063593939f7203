// Package peer tells a process that has died from one that is silent, sooner than a lease can. Start reading at Watch.
package peer

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

const (
	// every is how often a process is dialled. No connection is held: a server that stops waits for those that say nothing.
	every       = 250 * time.Millisecond
	dialTimeout = 2 * time.Second
	// sure is how many refusals in a row it takes. One that is asked to stop refuses connections too, and hands over by
	// itself meanwhile.
	sure = 3
)

// Watch is Died for processes that have names as one's own is, or nil where such a name is not where others reach one:
// as that of a process that listens everywhere, which others may have, too.
func Watch(own string) func(ctx context.Context, address string) bool {
	host, _, err := net.SplitHostPort(own)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return nil
	}
	return Died
}

// Died dials the process that listens at an address, "host:port", from time to time, and returns true once the process
// is gone: it was reached, and now its machine says that nothing listens there. Silence is not death, nor is an address
// that was never reached, as where a network policy refuses connections. It returns false when ctx ends.
func Died(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	reached, refused := false, 0
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		switch {
		case err == nil:
			_ = conn.Close()
			reached, refused = true, 0
		case reached && errors.Is(err, syscall.ECONNREFUSED):
			if refused++; refused == sure {
				return true
			}
		default:
			refused = 0
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(every):
		}
	}
}
