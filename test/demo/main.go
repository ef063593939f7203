// Command demo plays Kerf's whole story on this machine: it builds what is missing, starts a real control plane, a
// simulated AWS and the three services, and shows what Kerf decides, why, and what it costs per hour. It exits with 1
// when a step is not as expected.
//
// The story is in package story, everything that runs in package stack, and what one sees in package show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
	"github.com/kerf-dev/kerf/test/demo/traces"
	"github.com/kerf-dev/kerf/test/harness"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	switch err := o.parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

type options struct {
	keep, plain bool
	last        int
	seed        uint64
	kill        string
}

func (o *options) parse(args []string) error {
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.BoolVar(&o.keep, "keep", false, "leave everything running after the story, until Ctrl-C")
	f.BoolVar(&o.plain, "plain", false, "neither colours nor a status line, also on a terminal")
	f.IntVar(&o.last, "step", len(story.Steps()), "play up to and including this `number`; 0 plays nothing, for use with -keep")
	f.Uint64Var(&o.seed, "seed", 1, "`number` that all random choices come from")
	f.StringVar(&o.kill, "kill", "", "kill this `service` (watcher, planner or actuator) at five random points of the story")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	}
	if o.kill != "" && !slices.Contains(stack.Services(), o.kill) {
		return fmt.Errorf("-kill %s: want one of %s", o.kill, strings.Join(stack.Services(), ", "))
	}
	return nil
}

// run builds, starts, plays and cleans up.
func run(ctx context.Context, o options) (err error) {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	if err := stack.Build(ctx, root, os.Stdout); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kerf-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nall logs are in %s", err, dir)
		} else {
			err = os.RemoveAll(dir)
		}
	}()
	line := show.New(os.Stdout, o.plain)
	line.Title("kerf demo", "everything runs on this machine; only AWS is simulated")
	collector, err := traces.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, collector.Stop()) }()
	s, err := stack.Start(ctx, stack.Options{Dir: dir, Seed: o.seed, Env: collector.Env(), Started: line.Fact})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()

	err = play(ctx, o, s, line, collector)
	if o.keep && ctx.Err() == nil {
		keep(ctx, s, dir, err)
	}
	return err
}

func play(ctx context.Context, o options, s *stack.Stack, line *show.Timeline, collector *traces.Collector) error {
	steps := slices.DeleteFunc(story.Steps(), func(step story.Step) bool { return step.Number > o.last })
	if len(steps) == 0 {
		return nil
	}
	var chaos *story.Chaos
	if o.kill != "" {
		chaos = story.NewChaos(o.kill, o.seed, steps)
		line.Fact("chaos", chaos.String())
	}
	results, err := story.Play(ctx, story.Options{Stack: s, Line: line, Steps: steps, Chaos: chaos})
	line.Table(results)
	if err != nil {
		return err
	}
	if o.last >= 2 {
		if err := showTrace(ctx, line, collector); err != nil {
			return err
		}
	}
	line.Title("\nthe story ended as expected", fmt.Sprintf("%s in all", line.Elapsed().Round(time.Second/10)))
	return nil
}

// showTrace prints the life of one node, from the pods that fit on no node to the node that has it, across the
// three services.
func showTrace(ctx context.Context, line *show.Timeline, collector *traces.Collector) error {
	trace, err := story.LaunchTrace(ctx, collector)
	if err != nil {
		return err
	}
	line.Title("\none launch, traced across the three services", "trace "+trace.ID)
	var text strings.Builder
	if err := trace.Write(&text, "kerf.plan.id", "kerf.claim.id"); err != nil {
		return err
	}
	line.Block(text.String())
	return nil
}

// keep says how to go on playing, and waits for Ctrl-C.
func keep(ctx context.Context, s *stack.Stack, dir string, failed error) {
	if failed != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", failed)
	}
	kerf := s.Bin("kerf")
	fmt.Printf(`
Everything is still running. In another terminal:

  export KUBECONFIG=%s
  alias kubectl=%s
  kubectl get nodepools,nodeclaims,nodes
  kubectl scale deployment inflate --replicas 7
  %s claims --actuator %s
  %s snapshot --watcher %s | %s plan -f -
  curl -s %s/_sim/state

Kerf's logs are in %s. Ctrl-C ends everything.
`, s.Cluster.Kubeconfig(harness.Admin), s.Cluster.Kubectl(),
		kerf, s.Conn("actuator").Target(), kerf, s.Conn("watcher").Target(), kerf, s.Sim.URL, dir)
	<-ctx.Done()
}
