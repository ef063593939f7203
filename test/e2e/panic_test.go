package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner"
	"github.com/kerf-dev/kerf/services/planner/plan"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
	"github.com/kerf-dev/kerf/test/harness/proc"
)

// TestTheStoryEndsRightWhileThePlannerPanics has a planner whose core panics at random times, once or a few times in a
// row, in place of the stack's own: plans go without disruptions then, or without some pods, or there is none. It costs
// nothing but time, and `kerf plan` plays again what the planner failed on.
func TestTheStoryEndsRightWhileThePlannerPanics(t *testing.T) {
	t.Parallel()
	p := panicky{random: rand.New(rand.NewPCG(seed(t), 0))}
	kept := t.TempDir()
	at := sync.OnceValue(func() string { return p.serve(t, kept) })
	s := startWith(t, stack.Options{Examples: today, Between: func(string) string { return at() }})
	play(t, story.Options{Stack: s, Steps: story.Steps(), Fails: true})
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("%d of %d plans ended in a panic", p.panics, p.plans)
	failed, err := filepath.Glob(filepath.Join(kept, "input-*.binpb"))
	if err != nil || len(failed) == 0 || p.panics == 0 {
		t.Fatalf("%v: there were %d panics, and %d inputs are kept", err, p.panics, len(failed))
	}
	for _, file := range failed {
		again := exec.CommandContext(t.Context(), s.Bin("kerf"), "plan", "-f", file)
		out, err := again.CombinedOutput()
		if code := again.ProcessState.ExitCode(); code != 0 && code != exitPending {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
}

// exitPending is what `kerf plan` ends with where some pods stay pending, as one does in the story's eleventh step.
const exitPending = 2

const (
	// panicIn is how many plans there are for each that begins to panic, and mostPanics how many do so in a row. Three
	// of them take a whole question, for which there is no plan then.
	panicIn    = 8
	mostPanics = 6
)

// panicky makes plans, and panics now and then.
type panicky struct {
	mu     sync.Mutex
	random *rand.Rand
	// left is how many of the next plans panic.
	left          int
	plans, panics int
}

// serve runs a planner until the test ends, and returns where.
func (p *panicky) serve(t *testing.T, kept string) string {
	t.Helper()
	ports, err := proc.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	cfg := planner.Config{FailedInputs: kept}
	cfg.Listen = fmt.Sprintf("127.0.0.1:%d", ports[0])
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- planner.RunWith(ctx, cfg, p.decide) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return cfg.Listen
}

func (p *panicky) decide(in model.Input) (model.Plan, error) {
	if p.fails() {
		panic("index out of range")
	}
	return plan.Decide(in)
}

func (p *panicky) fails() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans++
	if p.left == 0 && p.random.IntN(panicIn) == 0 {
		p.left = 1 + p.random.IntN(mostPanics)
	}
	if p.left == 0 {
		return false
	}
	p.left--
	p.panics++
	return true
}
