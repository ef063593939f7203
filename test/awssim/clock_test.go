package awssim_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/test/awssim"
)

func TestFakeClockFiresInOrderOfTimeAndAge(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := awssim.NewFakeClock(start)
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, name+" "+c.Now().Sub(start).String()) }
	}
	c.AfterFunc(2*time.Second, note("b"))
	c.AfterFunc(time.Second, func() {
		note("a")()
		c.AfterFunc(500*time.Millisecond, note("from a"))
	})
	c.AfterFunc(2*time.Second, note("c"))
	stopped := c.AfterFunc(time.Second, note("stopped"))
	late := c.AfterFunc(time.Minute, note("late"))
	if !stopped.Stop() || stopped.Stop() {
		t.Error("Stop does not tell whether it came in time")
	}
	c.AfterFunc(-time.Second, note("at once"))
	c.Advance(0)
	c.Advance(10 * time.Second)
	want := []string{"at once 0s", "a 1s", "from a 1.5s", "b 2s", "c 2s"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if now := c.Now().Sub(start); now != 10*time.Second {
		t.Errorf("the clock stands at %s", now)
	}
	if !late.Stop() {
		t.Error("a timer fired before its time")
	}
}

func TestOnlyAFakeClockIsAdvanced(t *testing.T) {
	w := newWorld(t, func(c *awssim.Config) { c.Clock = awssim.RealClock() })
	if err := w.Advance(time.Second); err == nil {
		t.Error("the machine's time was advanced")
	}
}
