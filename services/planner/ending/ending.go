// Package ending decides for whose room pods may wait: that of pods which will soon have left their nodes, where a node of
// their own would come no sooner.
//
// It knows a view, and how its pods are counted; it must never know what is bought. Start reading with Leave.
package ending

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Leave makes the room free of all pods that will soon have left. Those on nodes that go leave none that anybody can use, and are
// gone for rules about other pods all the same.
func Leave(t *topology.Tally, v *view.View) {
	for i, h := range v.Hosts {
		if h.Node == nil || v.Removed(i) {
			continue
		}
		for _, p := range h.Pods {
			if soon, _ := leaves(v, h, p); soon {
				topology.Leave(t, v, p)
			}
		}
	}
}

// Overdue is when the first pod is overdue on whose node others are to be; zero for none.
func Overdue(v *view.View) (first time.Time) {
	for i, h := range v.Hosts {
		if v.Nominated(i) <= 0 {
			continue
		}
		for _, p := range h.Pods {
			if view.Left(v, p) {
				_, until := leaves(v, h, p)
				first = rules.Earliest(first, until)
			}
		}
	}
	return first
}

func leaves(v *view.View, on *view.Host, pod int) (soon bool, until time.Time) {
	p := v.Pods[pod]
	if !p.Terminating {
		return false, time.Time{}
	}
	return rules.Leaves(p.Pod, p.Class.PodClass, on.Node, v.Policy.RoomWait, v.Now)
}
