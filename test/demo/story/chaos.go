package story

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kerf-dev/kerf/test/demo/show"
)

const (
	// kills is how often a service is killed over a story.
	kills = 5
	// killWithin is how long after the beginning of a quick step the latest kill comes.
	killWithin = 2500 * time.Millisecond
	// deadFor is how long a killed service stays dead, at most.
	deadFor = time.Second
)

// Chaos kills one service at random points of a story and starts it again. All of its choices come from its seed. A nil
// Chaos does nothing.
type Chaos struct {
	service string
	points  map[int][]point // by step

	killing sync.Mutex   // one kill at a time: those of an earlier step may still be under way
	active  atomic.Int32 // steps whose kills are under way
	errs    chan error
	group   sync.WaitGroup
}

// point is when a kill comes after the beginning of a step, and how long the service then stays dead.
type point struct {
	after, dead time.Duration
}

// NewChaos chooses the points at which the service is killed: five, one in each fifth of the story's steps.
func NewChaos(service string, seed uint64, steps []Step) *Chaos {
	r := rand.New(rand.NewPCG(seed, 0x6b657266)) //nolint:gosec // a test's choices must be repeatable
	c := &Chaos{service: service, points: map[int][]point{}, errs: make(chan error, kills)}
	for i := range kills {
		from, to := i*len(steps)/kills, (i+1)*len(steps)/kills
		step := steps[from+r.IntN(max(1, to-from))]
		early := r.Float64() * r.Float64() // most happens soon after a step begins
		if step.lasts > killWithin {
			early *= float64(step.lasts) / float64(killWithin)
		}
		p := point{after: time.Duration(early * float64(killWithin)), dead: time.Duration(r.Int64N(int64(deadFor)))}
		c.points[step.Number] = append(c.points[step.Number], p)
	}
	for _, p := range c.points {
		slices.SortFunc(p, func(a, b point) int { return int(a.after - b.after) })
	}
	return c
}

// String names the points.
func (c *Chaos) String() string {
	var parts []string
	for step := range 100 {
		for _, p := range c.points[step] {
			parts = append(parts, fmt.Sprintf("step %d +%s for %s", step, p.after.Round(time.Millisecond), p.dead.Round(time.Millisecond)))
		}
	}
	return "kill the " + c.service + " at " + strings.Join(parts, ", ")
}

// begin starts the kills of a step, in a goroutine that finish waits for. A kill may come after its step has ended.
func (c *Chaos) begin(ctx context.Context, s *Stage, step int) {
	if c == nil || len(c.points[step]) == 0 {
		return
	}
	c.active.Add(1)
	c.group.Go(func() {
		defer c.active.Add(-1)
		began := time.Now()
		for _, p := range c.points[step] {
			if err := c.kill(ctx, s, began.Add(p.after), p.dead); err != nil && ctx.Err() == nil {
				c.errs <- err
				return
			}
		}
	})
}

func (c *Chaos) kill(ctx context.Context, s *Stage, at time.Time, dead time.Duration) error {
	if err := pause(ctx, time.Until(at)); err != nil {
		return err
	}
	c.killing.Lock()
	defer c.killing.Unlock()
	s.line.Line(show.Bad, "the "+c.service+" is killed")
	if err := s.Kill(c.service); err != nil {
		return err
	}
	err := pause(ctx, dead)
	s.line.Line(show.User, "the "+c.service+" is started again")
	if revived := s.Revive(c.service); revived != nil {
		return revived
	}
	return err
}

// busy says whether a service may be dead because of a kill.
func (c *Chaos) busy() bool { return c != nil && c.active.Load() > 0 }

// finish waits for the kills that are under way.
func (c *Chaos) finish() error {
	if c == nil {
		return nil
	}
	c.group.Wait()
	select {
	case err := <-c.errs:
		return err
	default:
		return nil
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
