package plan

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/budget"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/view"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

// demand is what needs a node. Pods are indexes into World.Pods, in order.
type demand struct {
	// pods are pending, or run on nodes that are going away.
	pods []int
	// refused are pods that Kerf does not plan for, with the reason.
	refused []refusal
	// queued are pods that the scheduler has not looked at yet, and that are in its queue behind others that it has
	// refused.
	queued []int
	// waiting are the other pods that the scheduler has not looked at yet, or that are about to come back.
	waiting []int
	// ending are pods that are being deleted on nodes that go. What takes their place may not be there yet. Those of a
	// StatefulSet are waiting: nothing takes their place before they have ended.
	ending []int
	// virtual are pods of buffers, which do not exist.
	virtual []int
	// preempting are pods that preemption frees capacity for, on nodes that stay.
	preempting []pack.Assignment
	// volumes says which pods have those that one at a time may use.
	volumes volumes.Exclusive
}

type refusal struct {
	pod    int
	reason model.Reason
}

func (c *cycle) findDemand() demand {
	d := demand{volumes: view.HeldVolumes(c.Pods)}
	for _, p := range c.heirs {
		d.volumes.Take(c.Pods[p].Class.PodClass, p)
	}
	var unseen []int
	var queue rules.SchedulerQueue
	for _, i := range c.unboundOrLeaving() {
		p := c.Pods[i]
		at := c.view.Node(p.Node)
		switch {
		case p.Class.Daemon || p.Class.Mirror:
		case p.Terminating:
			if at != nil && p.Class.OwnerKind != "" {
				d.addEnding(p, i)
			}
		case p.Node != "":
			if c.displaced(p, at) {
				d.add(c, i)
			}
		case p.Phase == model.PodWaiting:
			unseen = append(unseen, i)
		default:
			h := c.view.Node(p.NominatedNode)
			if h == nil || h.Closed {
				queue.Refused(p.Pod, p.Class.PodClass)
				d.add(c, i)
				continue
			}
			d.volumes.Take(p.Class.PodClass, i)
			d.preempting = append(d.preempting, pack.Assignment{Pod: i, Host: h.Index})
			d.refused = append(d.refused, refusal{i, preempts(h)})
		}
	}
	for _, i := range unseen {
		if p := c.Pods[i]; queue.Has(p.Pod, p.Class.PodClass) && d.refusal(c, i).OK() && !p.ID.Virtual() {
			d.queued = append(d.queued, i)
		} else {
			d.waiting = append(d.waiting, i)
		}
	}
	slices.Sort(d.waiting)
	return d
}

// unboundOrLeaving are the pods, in order, that are bound to no node, or to one that is going away.
func (c *cycle) unboundOrLeaving() []int {
	out := slices.Clone(c.Unbound)
	for _, h := range c.view.Hosts {
		if h.Leaving {
			out = append(out, h.Pods...)
		}
	}
	slices.Sort(out)
	return out
}

// displaced says whether a pod on a node that goes needs a node now. A pod that nothing would make again does not; one
// that holds up the drain only does where the node goes whether it agrees or not.
func (c *cycle) displaced(p view.Pod, h *view.Host) bool {
	if p.Class.OwnerKind == "" {
		return false
	}
	if h.Interrupted {
		return true
	}
	if c.neverEvictable == nil {
		c.neverEvictable = budget.NeverEvictable(c.view)
	}
	protected, _ := rules.Protected(p.Pod, c.Now)
	return protected.OK() && !c.neverEvictable[p.Class.Index]
}

func (d *demand) add(c *cycle, pod int) {
	if r := d.refusal(c, pod); !r.OK() {
		d.refused = append(d.refused, refusal{pod, r})
		return
	}
	if c.Pods[pod].ID.Virtual() {
		d.virtual = append(d.virtual, pod)
		return
	}
	d.pods = append(d.pods, pod)
}

// refusal says why a pod is not planned for, whatever nodes there are; one that is planned for has its volumes then.
func (d *demand) refusal(c *cycle, pod int) model.Reason {
	p := c.Pods[pod]
	if r := c.unsupported[p.Class.Index]; !r.OK() {
		return r
	}
	if other, volume := d.volumes.Take(p.Class.PodClass, pod); volume != "" {
		return volumes.InUse(volume, c.Pods[other].ID)
	}
	return model.Reason{}
}

func (d *demand) addEnding(p view.Pod, pod int) {
	if rules.KeepsName(p.Class.OwnerKind) {
		d.waiting = append(d.waiting, pod)
		return
	}
	d.ending = append(d.ending, pod)
}

func preempts(h *view.Host) model.Reason {
	return model.Reason{
		Code: model.CodePreemption, Subject: h.Name(),
		Message: fmt.Sprintf("preemption frees capacity for the pod on %s", h.Name()),
	}
}
