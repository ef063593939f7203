package jobs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
)

// passes asks for all jobs, in their order, in each pass until a time, and lets those that are begun by then end.
func passes(ctx context.Context, p *Pool, a *agenda.Agenda, until time.Time, list func() []Job) {
	for time.Now().Before(until) {
		a.Begin(time.Now())
		for _, j := range list() {
			p.Do(ctx, j)
		}
		wake, again := a.Next()
		if again {
			wake = time.Now().Add(20 * time.Millisecond)
		}
		if wake.IsZero() || wake.After(until) {
			wake = until
		}
		select {
		case f := <-p.Results():
			f()
		case <-time.After(time.Until(wake)):
		}
	}
	a.Begin(time.Now()) // nothing more is asked for
	for _, t := range p.tasks {
		for t.running {
			(<-p.Results())()
		}
	}
	p.Wait()
}

// refused are evictions that take a while and fail, and count in tries how often each was tried.
func refused(tries []int, takes time.Duration, queue bool) []Job {
	var out []Job
	for i := range tries {
		out = append(out, Job{
			Key: fmt.Sprintf("evict/%d", i), Kind: Evict, Queue: queue, First: 100 * time.Millisecond, Most: time.Second,
			Run: func(context.Context) error {
				time.Sleep(takes)
				return errors.New("no")
			},
			Done: func(error) { tries[i]++ },
		})
	}
	return out
}

func TestWhatIsNewFindsASlotHoweverMuchIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 4)
		list, begun := refused(make([]int, 100), time.Second, true), time.Now()
		var took time.Duration
		late := Job{Key: "delete/x", Kind: Evict, RepeatAfter: time.Hour, Run: func(context.Context) error {
			took = time.Since(begun)
			return nil
		}}
		passes(t.Context(), p, &a, begun.Add(2*time.Minute), func() []Job {
			if time.Since(begun) > time.Minute {
				return append(list, late)
			}
			return list
		})
		if took < time.Minute || took > time.Minute+2*time.Second {
			t.Errorf("what was asked for after a minute was done after %s", took)
		}
	})
}

func TestWhatWasRefusedIsTriedAgainInTurn(t *testing.T) {
	for _, x := range []struct {
		takes time.Duration
		queue bool
	}{{200 * time.Millisecond, false}, {3 * time.Second, false}, {200 * time.Millisecond, true}, {3 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			var a agenda.Agenda
			p := New(&a, 1, 4)
			tries := make([]int, 100)
			list := refused(tries, x.takes, x.queue)
			passes(t.Context(), p, &a, time.Now().Add(300*x.takes), func() []Job { return list })
			// Two at once are tried again, for 600 tries in all. The first ones have some more, from when not all had
			// been tried.
			for i, n := range tries {
				if n < 5 || n > 12 {
					t.Errorf("where each takes %s (queued: %v), that which is asked for as number %d was tried %d times", x.takes, x.queue, i, n)
				}
			}
		})
	}
}

func TestNoTurnIsKeptForWhatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 4)
		tries, begun := make([]int, 100), time.Now()
		list := refused(tries, time.Second, true)
		var before []int
		passes(t.Context(), p, &a, begun.Add(3*time.Minute), func() []Job {
			if time.Since(begun) < 2*time.Minute {
				return list
			}
			if before == nil {
				before = append(before, tries...)
			}
			return list[:2]
		})
		if tries[0]-before[0] < 25 || tries[1]-before[1] < 25 {
			t.Errorf("tried %d and %d times within a minute, want every two seconds", tries[0]-before[0], tries[1]-before[1])
		}
	})
}
