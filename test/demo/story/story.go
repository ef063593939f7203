// Package story plays the story that Kerf's documents begin with, step by step, on a running stack, and checks each step:
// pods that cannot be scheduled get the cheapest nodes, nodes that are not worth their price go, a spot interruption is
// drained in time, and nodes that are out of date, unhealthy or too old are replaced.
//
// It knows what must come of each step and how to see it, and nothing of how the services do it: it looks at the cluster,
// at AWS and at the services' public answers only. It is one code for the demo and for the tests. Start reading at Play,
// then steps_inflate.go.
package story

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
)

// stepTimeout is how long a step may take. A step takes a few seconds; the rest is for slow machines and killed services.
const stepTimeout = 60 * time.Second

// Step is one scene.
type Step struct {
	Number int
	Title  string // what is done
	Want   string // what must come of it
	play   func(context.Context, *Stage) error
	// lasts is about how long it takes, where that is more than a few seconds.
	lasts time.Duration
}

// quick is a step that takes a few seconds.
func quick(number int, title, want string, play func(context.Context, *Stage) error) Step {
	return Step{Number: number, Title: title, Want: want, play: play}
}

// Options says how to play.
type Options struct {
	Stack *stack.Stack
	Line  *show.Timeline
	Steps []Step
	// Chaos, if set, kills a service now and then.
	Chaos *Chaos
	// Late says that plans come late now and then, which costs nothing but time: so what has to be done by a time may
	// be late, too.
	Late bool
	// Fails says that the planner fails now and then: a plan may leave pods without a place that the next one has a
	// place for.
	Fails bool
}

// Play plays the steps until one is not as expected, and returns how each ended. The error is the first that went
// wrong, with what was seen last and the ends of the logs.
func Play(ctx context.Context, o Options) ([]show.Result, error) {
	s := &Stage{Stack: o.Stack, line: o.Line, chaos: o.Chaos, late: o.Late || o.Fails || o.Chaos != nil, excused: never, changed: make(chan struct{})}
	if o.Fails {
		s.excused = failedOn
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(ctx) })
	defer watching.Wait()
	defer cancel()

	var results []show.Result
	for _, step := range o.Steps {
		r := s.perform(ctx, step)
		results = append(results, r)
		o.Line.Done(r)
		if r.Err != nil {
			return results, fmt.Errorf("step %d, %s: %w", r.Number, r.Title, r.Err)
		}
	}
	if err := s.chaos.finish(); err != nil {
		return results, err
	}
	if err := s.audit(ctx); err != nil {
		return results, fmt.Errorf("after the last step: %w", err)
	}
	return results, nil
}

func never(*plannerpb.PendingPod) bool { return false }

// perform plays one step and measures it.
func (s *Stage) perform(ctx context.Context, step Step) show.Result {
	s.line.Step(step.Number, step.Title, step.Want)
	s.note = ""
	began := time.Now()
	s.chaos.begin(ctx, s, step.Number)
	err := step.play(ctx, s)
	w, _ := s.world()
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nlast seen:\n%s%s", err, indent(w.String()), s.Tails(8))
	}
	r := show.Result{
		Number: step.Number, Title: step.Title, Err: err, Took: time.Since(began), Note: s.note,
		Nodes: len(w.Nodes), Pods: w.RunningText(), PerHour: w.AWS.HourlyMicroUSD,
	}
	if s.peak != nil { // a step that cleans up behind itself shows what it had
		r.Nodes, r.Pods, r.PerHour = len(s.peak.Nodes), s.peak.RunningText(), s.peak.AWS.HourlyMicroUSD
		s.peak = nil
	}
	return r
}

// audit waits until the actuator answers, and checks that nothing is leaked or doubled.
func (s *Stage) audit(ctx context.Context) error {
	return s.expect(ctx, stepTimeout, func(w World) string {
		if err := w.Audit(); err != nil {
			return strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		return ""
	})
}

// Stage is where steps are played.
type Stage struct {
	*stack.Stack
	line  *show.Timeline
	chaos *Chaos
	late  bool
	note  string // of the present step, for the table
	// excused says which pods a plan may leave pending though they fit.
	excused func(*plannerpb.PendingPod) bool
	peak    *World // of the present step, when it was at its height
	away    bool   // a step has killed something by itself

	mu      sync.Mutex
	seen    World
	history history
	changed chan struct{} // closed at the next look
}

// watch looks at the world again and again, tells what is new, and wakes those who wait.
func (s *Stage) watch(ctx context.Context) {
	tell := newNarrator(s.line)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		last, _ := s.world()
		w := Look(ctx, s.Stack, last)
		if ctx.Err() != nil {
			return
		}
		tell.tell(w)
		s.mu.Lock()
		s.seen, s.history = w, s.history.seen(w, time.Now(), s.excused)
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// world is the last look, and what is closed at the next.
func (s *Stage) world() (World, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.changed
}

// past is all that was seen so far.
func (s *Stage) past() history {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history
}

// healthy is an error when a process has ended that no one killed.
func (s *Stage) healthy() error {
	if s.away || s.chaos.busy() {
		return nil
	}
	if dead := s.Dead(); len(dead) > 0 {
		return errors.New(strings.Join(dead, "; "))
	}
	return nil
}

// did says what the user, or AWS, does.
func (s *Stage) did(format string, args ...any) { s.line.Line(show.User, fmt.Sprintf(format, args...)) }

// top remembers the world as it is now for the table.
func (s *Stage) top() {
	w, _ := s.world()
	s.peak = &w
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func status(w World, waiting string) string {
	text := show.Counts(len(w.Nodes), w.RunningText(), w.AWS.HourlyMicroUSD)
	if waiting != "" {
		text += " · still wanted: " + waiting
	}
	return text
}
