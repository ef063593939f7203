package e2e_test

import (
	"testing"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/demo/story"
)

// TestTroubleIsToldAndNothingIsLost plays the scenes of bad input and of parts that are away, with the config of the
// next release.
func TestTroubleIsToldAndNothingIsLost(t *testing.T) {
	t.Parallel()
	play(t, story.Options{
		Stack: startWith(t, stack.Options{Seed: seed(t), Examples: next}), Steps: append(story.Steps()[:1], story.Trouble()...),
	})
}
