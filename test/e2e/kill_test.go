package e2e_test

import (
	"testing"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

// TestTheStoryEndsRightWhileAServiceIsKilled kills each service with SIGKILL at five random points. Play itself checks
// that no instance is leaked and that none was launched twice for a claim. Most of a story is waiting, so the stories run
// beside each other.
func TestTheStoryEndsRightWhileAServiceIsKilled(t *testing.T) {
	t.Parallel()
	for _, service := range stack.Services() {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			n := seed(t)
			steps := story.Steps()
			chaos := story.NewChaos(service, n, steps)
			t.Log(chaos)
			play(t, story.Options{Stack: start(t, n), Steps: steps, Chaos: chaos})
		})
	}
}
