package server

import (
	"cmp"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kerf-dev/kerf/services/internal/boot/rpcerr"
)

// ReasonBusy says that the planner holds as much for all callers together as its configuration allows. It is part of
// the contract.
const ReasonBusy = "BUSY"

// Defaults of Limits.
const (
	DefaultSnapshotBytes = 512 << 20
	DefaultTotalBytes    = 1 << 30
	DefaultSessions      = 64
	DefaultWaiting       = 128
)

// objectBytes is what an object counts beside its size as sent: in memory the smallest take about as much.
const objectBytes = 512

// retryAfter is the advice to callers who found the planner busy.
const retryAfter = time.Second

// Limits is what callers may take of the planner. Zero is the default.
type Limits struct {
	// SnapshotBytes is how large the snapshot of one session may grow; each object counts with its size as sent and
	// objectBytes.
	SnapshotBytes int
	// TotalBytes is the sum over all sessions and requests.
	TotalBytes int
	// Sessions is how many there are at the same time.
	Sessions int
	// Decides is how many plans are made at the same time, over all callers; the others wait. Zero is one per processor.
	Decides int
	// Waiting is how many questions wait for that.
	Waiting int
}

func (l *Limits) defaults(processors int) {
	l.SnapshotBytes = cmp.Or(l.SnapshotBytes, DefaultSnapshotBytes)
	l.TotalBytes = cmp.Or(l.TotalBytes, DefaultTotalBytes)
	l.Sessions = cmp.Or(l.Sessions, DefaultSessions)
	l.Decides = cmp.Or(l.Decides, processors)
	l.Waiting = cmp.Or(l.Waiting, DefaultWaiting)
}

// bounds counts what all callers hold together. Safe for concurrent use.
type bounds struct {
	limits Limits

	mu                       sync.Mutex
	sessions, waiting, bytes int
}

// session takes a place for a session; the caller gives it up with left.
func (b *bounds) session() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions >= b.limits.Sessions {
		return busy("the planner has %d sessions, as many as sessions.max_sessions allows: end one, raise it, or add planners", b.sessions)
	}
	b.sessions++
	return nil
}

// left ends a session that held so many bytes.
func (b *bounds) left(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions--
	b.bytes -= bytes
}

// hold counts bytes more, or fewer where they are negative.
func (b *bounds) hold(bytes int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > 0 && b.bytes+bytes > b.limits.TotalBytes {
		return busy("the snapshots of all %d sessions have %d bytes, and with %d more they have more than the %d that "+
			"sessions.max_total_bytes allows: end a session, raise it (and the memory limit), or add planners",
			b.sessions, b.bytes, bytes, b.limits.TotalBytes)
	}
	b.bytes += bytes
	return nil
}

// wait takes a place among the questions that wait; the caller gives it up with waited.
func (b *bounds) wait() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting >= b.limits.Waiting {
		return busy("%d plans are being made and %d questions wait, as many as sessions.max_decides and sessions.max_waiting allow: "+
			"ask again later, or add planners", b.limits.Decides, b.waiting)
	}
	b.waiting++
	return nil
}

func (b *bounds) waited() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
}

func (b *bounds) counts() (sessions, waiting, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions, b.waiting, b.bytes
}

func busy(what string, args ...any) error {
	e := rpcerr.New(codes.ResourceExhausted, ReasonBusy, what, args...)
	e.RetryAfter = retryAfter
	return e
}
