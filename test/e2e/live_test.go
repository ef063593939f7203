package e2e_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/test/demo/live"
	"github.com/kerf-dev/kerf/test/demo/show"
)

var liveFor = flag.Duration("live", 0, "how long stories of new seeds are played, one after the other; 0 plays one")

// TestAStoryThatNoOneHasWritten plays what a seed draws: pools, and what users, AWS and machines do to the cluster, all at random. What
// must hold at any time, and once nothing happens any more, is package live's. Without a seed each commit has a story of its own.
func TestAStoryThatNoOneHasWritten(t *testing.T) {
	t.Parallel()
	began, n := time.Now(), *seedFlag
	if n == 0 && *liveFor == 0 {
		n = seedOfCommit(t)
	}
	if n == 0 {
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

// seedOfCommit is of the hash of what is checked out; 0 where that is no commit. A story that is tried again so is the same.
func seedOfCommit(t *testing.T) uint64 {
	t.Helper()
	const digits = 9
	hash, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil || len(hash) < digits {
		t.Log("no commit, whose hash would be the seed: ", err)
		return 0
	}
	n, err := strconv.ParseUint(string(hash[:digits]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
