// Package shrink knows which nodes are to lose their pods first when workloads are scaled down, and says which pods are
// to be told so: by the annotation controller.kubernetes.io/pod-deletion-cost.
//
// It decides only: it must never know an API server, and has no clock. Start reading at Order.
package shrink

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Order is what the newest plan that looked at nodes says of them. The zero value knows nothing.
type Order struct {
	costs map[model.NodeName]int32
	// nodes are those of costs, the one that goes first before the others, and at is the place of the one to go on at.
	nodes []model.NodeName
	at    int
}

// Known says that a plan has said something.
func (o *Order) Known() bool { return len(o.nodes) > 0 }

// Take takes a plan's word. One that did not look at nodes changes nothing.
func (o *Order) Take(nodes []model.NodeVerdict) {
	next := Order{costs: map[model.NodeName]int32{}}
	for _, v := range nodes {
		if v.PodDeletionCost != 0 {
			next.costs[v.Node] = v.PodDeletionCost
			next.nodes = append(next.nodes, v.Node)
		}
	}
	if !next.Known() || maps.Equal(next.costs, o.costs) {
		return
	}
	slices.SortFunc(next.nodes, func(a, b model.NodeName) int {
		return cmp.Or(cmp.Compare(next.costs[a], next.costs[b]), cmp.Compare(a, b))
	})
	*o = next
}

// Due are replicas with the cost that is to be written, at most so many; more says that there are others. It goes on at
// the node where it ended the last time, and goes through all at most.
func (o *Order) Due(on func(model.NodeName) []cluster.Replica, most int) (due []cluster.Replica, more bool) {
	for range o.nodes {
		node := o.nodes[o.at]
		for _, r := range on(node) {
			if !rules.DeletionCostDue(r.DeletionCost, o.costs[node]) {
				continue
			}
			if len(due) == most {
				return due, true
			}
			r.DeletionCost = o.costs[node]
			due = append(due, r)
		}
		o.at = (o.at + 1) % len(o.nodes)
	}
	return due, false
}
