package shrink_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/shrink"
	"github.com/kerf-dev/kerf/services/core/model"
)

func TestDue(t *testing.T) {
	plan := []model.NodeVerdict{{Node: "n2", PodDeletionCost: -1000}, {Node: "n1", PodDeletionCost: -500}, {Node: "n3"}}
	want := []cluster.Replica{{ID: "a/other", DeletionCost: -1000}, {ID: "a/new", DeletionCost: -500}, {ID: "a/far", DeletionCost: -500}}
	for most := 1; most < 5; most++ {
		pods := map[model.NodeName][]cluster.Replica{
			"n1": {{ID: "a/new"}, {ID: "a/near", DeletionCost: -599}, {ID: "a/far", DeletionCost: -600}},
			"n2": {{ID: "a/right", DeletionCost: -1000}, {ID: "a/other"}},
			"n3": {{ID: "a/unknown"}},
		}
		on := func(n model.NodeName) []cluster.Replica { return pods[n] }
		write := func(due []cluster.Replica) {
			for _, r := range due {
				for _, list := range pods {
					for i := range list {
						if list[i].ID == r.ID {
							list[i].DeletionCost = r.DeletionCost
						}
					}
				}
			}
		}
		var o shrink.Order
		if due, more := o.Due(on, most); len(due) > 0 || more {
			t.Errorf("without a plan: %v, more: %v", due, more)
		}
		o.Take(plan)
		o.Take([]model.NodeVerdict{{Node: "n1"}}) // of a plan that did not look
		for left := want; ; {
			due, more := o.Due(on, most)
			first := left[:min(most, len(left))]
			left = left[len(first):]
			if diff := cmp.Diff(first, due, cmpopts.EquateEmpty()); diff != "" || more != (len(left) > 0) {
				t.Errorf("at most %d: more %v, %s", most, more, diff)
			}
			if write(due); !more {
				break
			}
		}
	}
}
