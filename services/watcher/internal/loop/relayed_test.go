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
		if got := !r.knows(x.plan); got != x.want {
			t.Errorf("plan %d: relayed is %v, want %v", i, got, x.want)
		}
		r = r.next(x.plan)
	}
}

func TestDeletionCostsAreRelayedWhenTheyChangeMuch(t *testing.T) {
	r := relayed{}
	for i, x := range []struct {
		cost    int32
		relayed bool
	}{{-500, true}, {-460, false}, {-449, true}, {-449, false}, {-1000, true}} {
		plan := &plannerpb.Plan{Nodes: []*plannerpb.NodeVerdict{{Node: "n1", Deferred: new(false), PodDeletionCost: x.cost}}}
		knows := r.knows(plan)
		if knows == x.relayed {
			t.Errorf("plan %d: relayed is %v, want %v", i, !knows, x.relayed)
		}
		if !knows {
			r = r.next(plan)
		}
		if i == 0 && relayable(plan).GetNodes()[0].GetPodDeletionCost() != x.cost {
			t.Error("the cost is not relayed")
		}
	}
}
