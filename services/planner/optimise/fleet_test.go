package optimise_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise"
)

// TestFewNodesOfManyRequestsAreCounted is of pods whose programme has parts of nodes only, which prove 1.7 % less than
// whole ones cost: without numbers of nodes the plans were as far above their bounds, and more expensive.
func TestFewNodesOfManyRequestsAreCounted(t *testing.T) {
	for seed, before := range map[uint64]int64{6: 2130200, 7: 1868640} {
		p := generated(600, 100, seed)
		s := optimise.Solve(p)
		if bad := check(p, s); bad != "" {
			t.Fatal(bad)
		}
		if s.Cost >= before || float64(s.Cost) > 1.007*float64(s.Bound) || s.Work.Fleets == 0 {
			t.Errorf("seed %d: the plan costs %d, %.2f %% above its bound", seed, s.Cost, 100*(float64(s.Cost)/float64(s.Bound)-1))
		}
	}
}
