package awssim

import (
	"container/heap"
	"sync"
	"time"
)

// Clock is the only source of time in the simulator. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the current time, UTC.
	Now() time.Time
	// AfterFunc calls f once d has passed, on a goroutine of the clock's choosing. Stop of the returned timer
	// reports whether it came before the call.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending AfterFunc.
type Timer interface {
	Stop() bool
}

// RealClock is the machine's time.
func RealClock() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now().UTC() }

func (realClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// FakeClock stands still until Advance. A timer of zero or negative duration fires at the next Advance, which may be
// Advance(0). Safe for concurrent use; concurrent Advances run one after the other.
type FakeClock struct {
	advancing sync.Mutex // serialises Advance, so that callbacks run one at a time and in order

	mu     sync.Mutex
	now    time.Time
	nextID uint64
	timers timerHeap
}

// NewFakeClock stands at start.
func NewFakeClock(start time.Time) *FakeClock { return &FakeClock{now: start.UTC()} }

// Now is the time the clock stands at.
func (c *FakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc schedules f; it never calls f itself.
func (c *FakeClock) AfterFunc(d time.Duration, f func()) Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{clock: c, at: c.now.Add(max(d, 0)), id: c.nextID, f: f}
	c.nextID++
	heap.Push(&c.timers, t)
	return t
}

// Advance moves the clock by d and runs, in order of their time, the callbacks that fall due on the way, each with the
// clock standing at its own due time. Callbacks run on the caller's goroutine; when Advance returns they are done.
func (c *FakeClock) Advance(d time.Duration) {
	c.advancing.Lock()
	defer c.advancing.Unlock()
	end := c.Now().Add(d)
	for {
		t := c.popDue(end)
		if t == nil {
			return
		}
		t.f()
	}
}

// popDue takes the next timer due by end and sets the clock to its time, or sets the clock to end.
func (c *FakeClock) popDue(end time.Time) *fakeTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].at.After(end) {
		c.now = end
		return nil
	}
	t := heap.Pop(&c.timers).(*fakeTimer)
	c.now = t.at
	return t
}

type fakeTimer struct {
	clock *FakeClock
	at    time.Time
	id    uint64
	index int // position in the heap, -1 once taken
	f     func()
}

// Stop removes the timer and reports whether it was still pending.
func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.clock.timers, t.index)
	return true
}

// timerHeap orders by time, then by age, so that equal times fire first in, first out.
type timerHeap []*fakeTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].id < h[j].id
	}
	return h[i].at.Before(h[j].at)
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*fakeTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
