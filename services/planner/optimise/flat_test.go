package optimise_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// TestABoundOnFlatPrices has bins that cost what they have, so that by resources alone all are as good, and one pod in
// five keep apart from each other. Each bin lacks a little memory for the pods that would fill it, and by the worth of
// pods nothing but memory is scarce: only a table of whole pods knows what that leaves unused, and only one without
// cores is small enough for it.
func TestABoundOnFlatPrices(t *testing.T) {
	p := &problem.Problem{GapTarget: 0.003}
	apart := bits.New(60)
	for _, cores := range []int64{100, 250, 500, 1000, 1500} {
		for _, memory := range []int64{100, 256, 512, 1024, 2048, 4096} {
			for _, alone := range []bool{true, false} {
				count := 70
				if alone {
					apart.Add(len(p.Items))
					count = 26
				}
				p.Items = append(p.Items, problem.Item{Count: count, Request: []int64{cores, memory, 1}})
			}
		}
	}
	all := bits.New(len(p.Items))
	for i := range p.Items {
		all.Add(i)
	}
	for n := range int64(100) {
		cores := n + 1
		p.Bins = append(p.Bins, problem.Bin{Price: 19_000 * cores, Free: []int64{cores*1000 - 100, cores*2048 - 10, cores * 10}, Takes: all, Most: -1})
	}
	p.Rules = []problem.Rule{{Trigger: apart, Counted: apart, Most: 1}}
	plan := optimise.Solve(p)
	p.BoundOnly, p.Known = true, plan.Cost
	bound := optimise.Solve(p)
	if gap := float64(plan.Cost)/float64(bound.Bound) - 1; gap > 0.01 {
		t.Errorf("the plan costs %d, and no less than %d is proven: %.1f %% apart", plan.Cost, bound.Bound, 100*gap)
	}
}
