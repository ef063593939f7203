package plan

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/planner/disrupt"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// demand is what needs a home. Pods are places in World.Pods, in order.
type demand struct {
	// pods are pending, or run on nodes that are going away.
	pods []int
	// refused are pods that Kerf does not plan for, with the reason.
	refused []refusal
	// waiting are pods that the scheduler has not looked at yet, or that are about to come back.
	waiting []int
	// ending are pods that are being deleted on nodes that go. What takes their place may not be there yet. Those of a
	// StatefulSet are waiting: nothing takes their place before they have ended.
	ending []int
	// preempting are pods that preemption makes room for, on nodes that stay.
	preempting []pack.Seat
}

type refusal struct {
	pod    int
	reason model.Reason
}

func (c *cycle) findDemand() demand {
	var d demand
	hosts := make(map[model.NodeName]*view.Host)
	for _, h := range c.view.Hosts {
		if h.Node != nil {
			hosts[h.Node.Name] = h
		}
	}
	stuck := disrupt.NeverEvictable(c.view)
	for i, p := range c.Pods {
		switch {
		case p.Class.Daemon || p.Class.Mirror:
		case p.Terminating:
			if h := hosts[p.Node]; h != nil && h.Leaving && p.Class.OwnerKind != "" {
				d.addEnding(p, i)
			}
		case p.Node != "":
			if h := hosts[p.Node]; h != nil && h.Leaving && c.displaced(p, h, stuck) {
				d.add(c, i)
			}
		case p.Phase == model.PodWaiting:
			d.waiting = append(d.waiting, i)
		case hosts[p.NominatedNode] != nil && !hosts[p.NominatedNode].Closed:
			h := hosts[p.NominatedNode]
			d.preempting = append(d.preempting, pack.Seat{Pod: i, Host: h.Index})
			d.refused = append(d.refused, refusal{i, preempts(h)})
		default:
			d.add(c, i)
		}
	}
	return d
}

// displaced says whether a pod on a node that goes needs a home now. A pod that nothing would make again does not; one
// that holds up the drain only does where the node goes whether it agrees or not.
func (c *cycle) displaced(p view.Pod, h *view.Host, stuck []bool) bool {
	if p.Class.OwnerKind == "" {
		return false
	}
	return h.Interrupted || (!disrupt.Protected(p, c.Now) && !stuck[p.Class.Index])
}

func (d *demand) add(c *cycle, pod int) {
	if r := c.unsupported[c.Pods[pod].Class.Index]; !r.OK() {
		d.refused = append(d.refused, refusal{pod, r})
		return
	}
	d.pods = append(d.pods, pod)
}

func (d *demand) addEnding(p view.Pod, pod int) {
	if p.Class.OwnerKind == "StatefulSet" {
		d.waiting = append(d.waiting, pod)
		return
	}
	d.ending = append(d.ending, pod)
}

func preempts(h *view.Host) model.Reason {
	return model.Reason{
		Code: model.CodePreemption, Subject: h.Name(),
		Message: fmt.Sprintf("preemption makes room for the pod on %s", h.Name()),
	}
}
