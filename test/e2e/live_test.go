package e2e_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/test/demo/live"
	"github.com/kerf-dev/kerf/test/demo/show"
)

// goodStory is the seed that is played where none is given.
const goodStory = 5017

var liveFor = flag.Duration("live", 0, "how long stories of new seeds are played, one after the other; 0 plays one")

// TestAStoryThatNoOneHasWritten plays what a seed draws: pools, and what users, AWS and machines do to the cluster, all
// at random. What must hold at any time, and once nothing happens any more, is package live's. Without a seed it is one
// that is known to end well: what a new story finds is looked into (make live), and holds up nothing else meanwhile.
func TestAStoryThatNoOneHasWritten(t *testing.T) {
	t.Parallel()
	began, n := time.Now(), *seedFlag
	switch {
	case n == 0 && *liveFor == 0:
		n = goodStory
	case n == 0:
		n = uint64(rand.Uint32())
	}
	for ; ; n++ {
		script := live.Draw(n)
		t.Run(fmt.Sprintf("seed %d", n), func(t *testing.T) {
			t.Logf("to repeat: go test ./test/e2e -run '^TestAStoryThatNoOneHasWritten$' -seed %d", n)
			s := startWith(t, script.Options())
			if err := live.Play(t.Context(), s, show.New(t.Output(), true), script); err != nil {
				t.Error(err)
			}
		})
		if time.Since(began) > *liveFor {
			return
		}
	}
}
