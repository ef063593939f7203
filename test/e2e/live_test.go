package e2e_test

import (
	"flag"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/test/demo/live"
	"github.com/kerf-dev/kerf/test/demo/show"
	"github.com/kerf-dev/kerf/test/demo/stack"
)

var liveFor = flag.Duration("live", 0, "how long stories of new seeds are played, one after the other; 0 plays one")

// TestAStoryThatNoOneHasWritten plays what a seed draws: pools, and what users, AWS and machines do to the cluster, all at random. What
// must hold at any time, and once nothing happens any more, is package live's.
func TestAStoryThatNoOneHasWritten(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for n := seed(t); ; n++ {
		script := live.Draw(n)
		t.Run(script.Name(), func(t *testing.T) {
			t.Logf("to repeat: go test ./test/e2e -run '^TestAStoryThatNoOneHasWritten$' -seed %d", n)
			s := startWith(t, stack.Options{Seed: n, Examples: script.Examples})
			if err := live.Play(t.Context(), s, show.New(t.Output(), true), script); err != nil {
				t.Error(err)
			}
		})
		if time.Since(began) > *liveFor {
			return
		}
	}
}
