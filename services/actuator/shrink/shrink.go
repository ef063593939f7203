// Package shrink knows which nodes are to lose their pods first when workloads are scaled down, and says which pods are to be
// told so: by the annotation controller.kubernetes.io/pod-deletion-cost.
//
// It decides only: it must never know an API server, and has no clock. Start reading at Order.
package shrink

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Order is what the newest plan that looked at nodes says of them. The zero value knows nothing.
type Order map[model.NodeName]int32

// Take takes a plan's word. One that did not look at nodes changes nothing.
func (o *Order) Take(nodes []model.NodeVerdict) {
	next := Order{}
	for _, v := range nodes {
		if v.PodDeletionCost != 0 {
			next[v.Node] = v.PodDeletionCost
		}
	}
	if len(next) > 0 {
		*o = next
	}
}

// Due are replicas with the cost that is to be written, at most so many, by node; more says that there are others.
func (o Order) Due(on func(model.NodeName) []cluster.Replica, most int) (due []cluster.Replica, more bool) {
	for _, node := range slices.Sorted(maps.Keys(o)) {
		for _, r := range on(node) {
			if !rules.CostDue(r.DeletionCost, o[node]) {
				continue
			}
			if len(due) == most {
				return due, true
			}
			r.DeletionCost = o[node]
			due = append(due, r)
		}
	}
	return due, false
}
