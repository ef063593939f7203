package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

var seedFlag = flag.Uint64("seed", 0, "what all random choices come from; 0 chooses one, and prints it")

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Short() {
		if err := build(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// build makes the programs that the tests run, from the working tree.
func build() error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	return stack.Build(context.Background(), root, os.Stderr)
}

// seed is the flag's, or a new one; how to use it again is printed.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := *seedFlag
	if n == 0 {
		n = uint64(rand.Uint32())
	}
	t.Logf("to repeat: go test ./test/e2e -run '^%s$' -seed %d", t.Name(), n)
	return n
}

// The folders of deploy/examples: what is the default today, and what is going to be.
const (
	today = "config"
	next  = "config-next"
)

// start runs a stack until the test ends, with the config of a release. Its logs stay when the test fails.
func start(t *testing.T, seed uint64) *stack.Stack {
	t.Helper()
	return startWith(t, stack.Options{Seed: seed, Examples: today})
}

func startWith(t *testing.T, opts stack.Options) *stack.Stack {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the control plane, which -short leaves out")
	}
	dir, err := os.MkdirTemp("", "kerf-e2e-") //nolint:usetesting // it stays when the test fails
	if err != nil {
		t.Fatal(err)
	}
	opts.Dir = dir
	s, err := stack.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("all logs are in", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

// play plays steps, with the timeline in the test's log.
func play(t *testing.T, o story.Options) {
	t.Helper()
	var text strings.Builder
	o.Line = show.New(&text, true)
	results, err := story.Play(t.Context(), o)
	o.Line.Table(results)
	t.Log("\n" + text.String())
	if err != nil {
		t.Error(err)
	}
}
