package shrink_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/shrink"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestDue(t *testing.T) {
	pods := map[model.NodeName][]cluster.Replica{
		"n1": {{ID: "a/new"}, {ID: "a/near", DeletionCost: -599}, {ID: "a/far", DeletionCost: -600}},
		"n2": {{ID: "a/right", DeletionCost: -1000}, {ID: "a/other"}},
		"n3": {{ID: "a/unknown"}},
	}
	on := func(n model.NodeName) []cluster.Replica { return pods[n] }
	var o shrink.Order
	if due, more := o.Due(on, 9); len(due) > 0 || more {
		t.Errorf("without a plan: %v, more: %v", due, more)
	}
	o.Take([]model.NodeVerdict{{Node: "n2", PodDeletionCost: -1000}, {Node: "n1", PodDeletionCost: -500}, {Node: "n3"}})
	o.Take([]model.NodeVerdict{{Node: "n1"}}) // of a plan that did not look
	want := []cluster.Replica{{ID: "a/new", DeletionCost: -500}, {ID: "a/far", DeletionCost: -500}, {ID: "a/other", DeletionCost: -1000}}
	for most, left := range map[int]bool{1: true, 2: true, 3: false, 9: false} {
		due, more := o.Due(on, most)
		if diff := cmp.Diff(want[:min(most, len(want))], due); diff != "" || more != left {
			t.Errorf("at most %d: more %v, %s", most, more, diff)
		}
	}
}
