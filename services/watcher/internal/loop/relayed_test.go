package loop

import (
	"fmt"
	"testing"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
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

func TestWhatKeepsNodesIsRelayedWhenItChanges(t *testing.T) {
	r := relayed{}
	for i, x := range []struct {
		code    clusterpb.ReasonCode
		relayed bool
	}{
		{clusterpb.ReasonCode_REASON_CODE_CONSOLIDATE_AFTER, false}, // passes by itself
		{clusterpb.ReasonCode_REASON_CODE_PDB, true},
		{clusterpb.ReasonCode_REASON_CODE_PDB, false},
		{clusterpb.ReasonCode_REASON_CODE_NO_CHEAPER, true},
	} {
		plan := &plannerpb.Plan{Nodes: []*plannerpb.NodeVerdict{{
			Node: "n1", Claim: "c1", Deferred: new(false), Reason: &clusterpb.Reason{Code: x.code, Message: "why"},
		}}}
		if knows := r.knows(plan); knows == x.relayed {
			t.Errorf("plan %d: relayed is %v, want %v", i, !knows, x.relayed)
		}
		r = r.next(plan)
		if got := relayable(plan).GetNodes()[0].GetReason().GetMessage(); (got != "") != (i > 0) {
			t.Errorf("plan %d: %q is relayed", i, got)
		}
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

func TestWhatBecameOfObjectsIsRelayedWhenItChanges(t *testing.T) {
	r := relayed{}
	object := func(generation int64, why string, coming int64) *plannerpb.Plan {
		o := &plannerpb.ObjectState{Object: &clusterpb.ObjectRef{Kind: "capacitybuffer", Name: "shop/a"}, Generation: generation}
		if why != "" {
			o.NotReady = &clusterpb.Reason{Message: why}
		} else {
			o.Capacity = &plannerpb.BufferCapacity{Replicas: 3, Coming: coming}
		}
		return &plannerpb.Plan{Objects: []*plannerpb.ObjectState{o}}
	}
	for i, x := range []struct {
		plan    *plannerpb.Plan
		relayed bool
	}{
		{&plannerpb.Plan{}, false},
		{object(1, "", 0), true},
		{object(1, "", 0), false},
		{object(1, "", 3), true},
		{object(2, "", 3), true},
		{object(2, "lost", 0), true},
		{&plannerpb.Plan{}, true},
	} {
		if knows := r.knows(x.plan); knows == x.relayed {
			t.Errorf("plan %d: relayed is %v, want %v", i, !knows, x.relayed)
		}
		r = r.next(x.plan)
		if got := len(relayable(x.plan).GetObjects()); got != len(x.plan.GetObjects()) {
			t.Errorf("plan %d: %d objects are relayed", i, got)
		}
	}
}
