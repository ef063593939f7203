package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
)

// counted are jobs that note in ran when they are begun, and give err after a moment.
func counted(n int, queue bool, ran *[]int, err error) []Job {
	var out []Job
	for i := range n {
		out = append(out, Job{
			Key: fmt.Sprint("evict/", i), Kind: Evict, Queue: queue, First: time.Hour, Most: time.Hour, RepeatAfter: time.Hour,
			Run: func(context.Context) error {
				time.Sleep(time.Millisecond)
				return err
			},
			Done: func(error) { *ran = append(*ran, i) },
		})
	}
	return out
}

// results calls results until none comes any more.
func results(p *Pool) {
	for {
		synctest.Wait()
		select {
		case f := <-p.Results():
			f()
		case <-time.After(time.Minute):
			return
		}
	}
}

// TestAPassFillsMoreThanItsSlots: in a cluster with thousands of pods to evict a pass takes its time, and the next one
// more than that.
func TestAPassFillsMoreThanItsSlots(t *testing.T) {
	for queue, want := range map[bool]int{true: 100, false: 4} {
		synctest.Test(t, func(t *testing.T) {
			var a agenda.Agenda
			p := New(&a, 1, 4)
			var ran []int
			a.Begin(time.Now())
			for _, j := range slices.Concat(counted(100, queue, &ran, nil), counted(100, queue, &ran, nil)) { // each twice
				p.Do(t.Context(), j)
			}
			if results(p); len(ran) != want {
				t.Errorf("of what one pass asked for %d were done, want %d where it is queued: %v", len(ran), want, queue)
			}
			p.Wait()
		})
	}
}

func TestWhatTheNextPassDoesNotAskForIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 4)
		var ran []int
		a.Begin(time.Now())
		for _, j := range counted(100, true, &ran, nil) {
			p.Do(t.Context(), j)
		}
		a.Begin(time.Now())
		if results(p); len(ran) != 4 {
			t.Errorf("%d were done, want the four that had begun", len(ran))
		}
		a.Begin(time.Now())
		p.Do(t.Context(), counted(100, true, &ran, nil)[50])
		if results(p); len(ran) != 5 || ran[4] != 50 {
			t.Errorf("done are %v, want the 50th at the end, and no others", ran)
		}
		p.Wait()
	})
}

// TestWhatHasFailedIsTriedAgainBesideWhatIsNew: all of it in one pass, in turn, and with half of the slots at most.
func TestWhatHasFailedIsTriedAgainBesideWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 4)
		var first, again, fresh []int
		a.Begin(time.Now())
		for _, j := range counted(40, true, &first, errors.New("no")) {
			p.Do(t.Context(), j)
		}
		results(p)
		time.Sleep(2 * time.Hour)
		a.Begin(time.Now())
		for _, j := range counted(40, true, &again, nil) {
			p.Do(t.Context(), j)
		}
		for _, j := range counted(80, true, &fresh, nil)[40:] {
			p.Do(t.Context(), j)
		}
		for len(again) < 20 {
			synctest.Wait()
			(<-p.Results())()
		}
		if len(fresh) < 15 || len(fresh) > 25 {
			t.Errorf("while 20 were tried again, %d that are new were done, want as many", len(fresh))
		}
		results(p)
		if len(again) != 40 || len(fresh) != 40 {
			t.Errorf("%d were tried again, and %d that are new done, want 40 of both", len(again), len(fresh))
		}
		p.Wait()
	})
}
