package e2e_test

import (
	"testing"

	"github.com/kerf-dev/kerf/test/demo/story"
)

// TestTroubleIsToldAndNothingIsLost plays the scenes of bad input and of parts that are away.
func TestTroubleIsToldAndNothingIsLost(t *testing.T) {
	t.Parallel()
	play(t, start(t, seed(t)), append(story.Steps()[:1], story.Trouble()...), nil)
}
