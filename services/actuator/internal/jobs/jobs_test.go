package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
)

// owner asks for a job again and again until a time, and returns when it was run.
func owner(t *testing.T, p *Pool, a *agenda.Agenda, until time.Time, j Job) []time.Duration {
	t.Helper()
	begun := time.Now()
	var runs []time.Duration
	run := j.Run
	j.Run = func(ctx context.Context) error {
		runs = append(runs, time.Since(begun))
		return run(ctx)
	}
	for time.Now().Before(until) {
		a.Begin(time.Now())
		p.Do(t.Context(), j)
		wake, _ := a.Next()
		if wake.IsZero() {
			wake = until
		}
		select {
		case f := <-p.Results():
			f()
		case <-time.After(time.Until(wake)):
		}
	}
	return runs
}

func TestPausesAfterFailuresDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 1)
		runs := owner(t, p, &a, time.Now().Add(20*time.Second), Job{
			Key: "k", First: time.Second, Most: 5 * time.Second, Run: func(context.Context) error { return errors.New("no") },
		})
		if got := fmt.Sprint(runs); got != "[0s 1s 3s 7s 12s 17s]" {
			t.Errorf("run at %s", got)
		}
		p.Wait()
	})
}

func TestSuccessSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 1)
		runs := owner(t, p, &a, time.Now().Add(25*time.Second), Job{
			Key: "k", RepeatAfter: 10 * time.Second, Run: func(context.Context) error { return nil },
		})
		if got := fmt.Sprint(runs); got != "[0s 10s 20s]" {
			t.Errorf("run at %s", got)
		}
		p.Wait()
	})
}

func TestWorkThatHangsIsGivenUpAndItsSlotIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 1)
		a.Begin(time.Now())
		begun := time.Now()
		var err error
		p.Do(t.Context(), Job{
			Key: "hangs", Kind: Launch, Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, Done: func(e error) { err = e },
		})
		ran := false
		p.Do(t.Context(), Job{Key: "next", Kind: Launch, Run: func(context.Context) error { ran = true; return nil }})
		(<-p.Results())()
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != Timeout || ran {
			t.Errorf("%v after %s; that there was no slot for was run: %v", err, took, ran)
		}
		p.Do(t.Context(), Job{Key: "next", Kind: Launch, Run: func(context.Context) error { ran = true; return nil }})
		(<-p.Results())()
		if !ran {
			t.Error("the slot is not free")
		}
		p.Wait()
	})
}

func TestNothingIsHandedOverOnceTheTermIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		p.Do(ctx, Job{Key: "k", Run: func(context.Context) error { return nil }})
		synctest.Wait()
		cancel()
		p.Wait()
	})
}

func TestWorkIsForgottenOnceItIsOver(t *testing.T) {
	var a agenda.Agenda
	p := New(&a, 1, 1)
	now := time.Unix(1000, 0)
	for i := range 100 {
		p.add(fmt.Sprint("evict/", i), &task{notYet: now})
	}
	p.add("running", &task{running: true})
	p.add("waiting", &task{notYet: now.Add(time.Hour)})
	a.Begin(now.Add(2 * memory))
	if !p.Tidy() || len(p.tasks) != 2 {
		t.Errorf("%d tasks are remembered, want two", len(p.tasks))
	}
	if p.Tidy() {
		t.Error("tidied again at once")
	}
	p.add("launch/1/c1", &task{notYet: now, fails: 3})
	p.Inherit("launch/2/c1", "launch/1/c1")
	if p.tasks["launch/2/c1"].fails != 3 {
		t.Error("the next attempt does not wait as long as a repetition")
	}
	p.Forget("/c1")
	if len(p.tasks) != 2 {
		t.Errorf("%d tasks are remembered, want those of no claim", len(p.tasks))
	}
	if len(p.of) != len(p.tasks) {
		t.Errorf("%d parts of keys are remembered of %d tasks", len(p.of), len(p.tasks))
	}
}

func TestTheTimeInLineIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 1)
		free := make(chan struct{})
		ask := func(what string) {
			a.Begin(time.Now())
			p.Do(t.Context(), Job{Key: "launch/" + what, Kind: Launch, For: "/" + what, Run: func(context.Context) error {
				<-free
				return nil
			}})
		}
		ask("a")
		for range 4 {
			ask("b")
			time.Sleep(time.Minute)
		}
		close(free)
		(<-p.Results())()
		ask("b")
		(<-p.Results())()
		if waited := p.Waited("/b"); p.Waited("/a") != 0 || waited != 3*time.Minute {
			t.Errorf("b has waited for %s, a for %s, want the three minutes in which b was asked for, and none", waited, p.Waited("/a"))
		}
		p.Forget("/b")
		if p.Waited("/b") != 0 {
			t.Error("what is forgotten has waited")
		}
		p.Wait()
	})
}

// Each attempt of a launch of several has a name of its own, and only the last one is forgotten with its claim.
func TestTheTimeInLineIsForgottenOnceNooneAsks(t *testing.T) {
	var a agenda.Agenda
	p := New(&a, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	begun := time.Now()
	a.Begin(begun)
	p.Do(ctx, Job{Key: "launch/first", Kind: Launch, Run: func(ctx context.Context) error { <-ctx.Done(); return nil }})
	stand := func(name string) {
		p.Do(ctx, Job{Key: "launch/" + name, Kind: Launch, For: "/" + name, Run: func(context.Context) error { return nil }})
	}
	for i := range 100 {
		a.Begin(begun.Add(time.Duration(i) * 6 * time.Minute))
		stand(strconv.Itoa(i))
		stand("patient")
		p.Tidy()
	}
	if want := 99 * 6 * time.Minute; len(p.lines) > 3 || p.Waited("/patient") != want {
		t.Errorf("%d lines are remembered, want those of who still waits; that is for %s, want %s", len(p.lines), p.Waited("/patient"), want)
	}
	cancel()
	p.Wait()
}

func TestTheLogHasEverFewerOfTheFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda.Agenda
		p := New(&a, 1, 1)
		var out strings.Builder
		log := p.LogFailure(t.Context(), slog.New(slog.NewTextHandler(&out, nil)), "k", "taint")
		tries := 0
		owner(t, p, &a, time.Now().Add(time.Minute), Job{
			Key: "k", First: time.Second, Most: time.Second, Done: log, Run: func(context.Context) error {
				if tries++; tries == 40 {
					return nil
				}
				return errors.New("no")
			},
		})
		if n := strings.Count(out.String(), "work=taint error=no"); n != 11 {
			t.Errorf("%d lines, want those of the failures 1, 2, 4, 8, 16 and 32, and of 1, 2, 4, 8 and 16 after the success", n)
		}
		p.Wait()
	})
}

// BenchmarkForget is what it costs that so many claims end at once, of whose nodes 25 pods each were evicted a moment
// before.
func BenchmarkForget(b *testing.B) {
	for _, claims := range []int{500, 2000} {
		b.Run(fmt.Sprint(claims), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p := New(&agenda.Agenda{}, 1, 1)
				for i := range claims {
					for _, of := range []string{"node/TaintNode/Draining", "node/RemoveNode/Terminating", "pods", "terminate"} {
						p.add(fmt.Sprint(of, "/c", i), &task{})
					}
					for k := range 25 {
						p.add(fmt.Sprint("evict/", i, "-", k), &task{})
					}
				}
				b.StartTimer()
				for i := range claims {
					p.Forget(fmt.Sprint("/c", i))
				}
			}
		})
	}
}
