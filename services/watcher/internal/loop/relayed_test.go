package loop

import (
	"fmt"
	"testing"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
)

func TestDeferredRemovalsAreRelayedWhenTheyChange(t *testing.T) {
	r := relayed{}
	plan := func(deferred ...bool) *plannerpb.Plan {
		p := &plannerpb.Plan{}
		for i, is := range deferred {
			p.Nodes = append(p.Nodes, &plannerpb.NodeVerdict{Claim: fmt.Sprintf("c-%d", i), Deferred: &is})
		}
		return p
	}
	for i, x := range []struct {
		plan *plannerpb.Plan
		want bool
	}{
		{plan(false, false), false},
		{plan(false, true), true},
		{plan(), false}, // a plan for pods alone says nothing of it
		{plan(false, true), false},
		{plan(true, false), true},
		{plan(false, false), true},
	} {
		if got := !r.says(x.plan); got != x.want {
			t.Errorf("plan %d: relayed is %v, want %v", i, got, x.want)
		}
		r = r.next(x.plan)
	}
}
