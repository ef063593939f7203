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

// Leave makes the room free of all pods that will soon have left. Those on nodes that go leave none that anybody can use,
// and are gone for rules about other pods all the same.
func Leave(t *topology.Tally, v *view.View) {
	each(v, func(_, pod int, soon bool, _ time.Time) {
		if soon {
			topology.SetLeft(t, v, pod, true)
		}
	})
}

// Stay takes all rooms back that Leave has made free: who is moved by choice does not wait for any. It returns when the first
// pod is overdue on whose node others are to be by then; zero for none.
func Stay(t *topology.Tally, v *view.View) (overdue time.Time) {
	each(v, func(host, pod int, _ bool, until time.Time) {
		if !view.Left(v, pod) {
			return
		}
		if v.Nominated(host) > 0 {
			overdue = rules.Earliest(overdue, until)
		}
		topology.SetLeft(t, v, pod, false)
	})
	return overdue
}

// each goes through the pods that are being deleted on nodes that are there.
func each(v *view.View, do func(host, pod int, soon bool, until time.Time)) {
	for i, h := range v.Hosts {
		if h.Node == nil || v.Removed(i) {
			continue
		}
		for _, p := range h.Pods {
			if pod := &v.Pods[p]; pod.Terminating {
				soon, until := rules.Leaves(pod.Pod, pod.Class.PodClass, h.Node, v.Policy.RoomWait, v.Now)
				do(i, p, soon, until)
			}
		}
	}
}
