package optimise_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise"
)

// TestDivesGoOnWhenLittleIsLeft although a plan is as good as asked for: most plans are better than that.
func TestDivesGoOnWhenLittleIsLeft(t *testing.T) {
	const problems, most = 12, 0.0025
	sum := 0.0
	for seed := range uint64(problems) {
		s := optimise.Solve(generated(10_000, 40, seed))
		sum += float64(s.Cost)/float64(s.Bound) - 1
	}
	if mean := sum / problems; mean > most {
		t.Errorf("plans cost %.5f above their bounds on average, want %.5f at most", mean, most)
	}
}
