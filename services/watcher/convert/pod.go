package convert

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// Pod converts a pod and its class. It is false for a pod that is not part of a snapshot: one that has finished takes
// nothing any more, and one behind a scheduling gate nothing yet. No node is bought or kept for it.
func Pod(p *corev1.Pod, refs References) (snapshot.Object, bool) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || gated(p) {
		return snapshot.Object{}, false
	}
	class := wire.Class(podClass(p, refs))
	out := &clusterpb.Pod{
		Id: objectID(p), Uid: string(p.UID), ClassId: class.ID,
		Node: p.Spec.NodeName, Phase: podPhase(p),
		CreateTime:   timestamp(p.CreationTimestamp),
		Terminating:  p.DeletionTimestamp != nil,
		Ready:        reader.Ready(p),
		DeletionCost: reader.DisruptionCost(p),
	}
	if p.DeletionTimestamp != nil {
		out.TerminationDeadline = timestamp(*p.DeletionTimestamp)
	}
	if node, byKerf := reader.Nomination(p); byKerf {
		out.ExpectedNode = node
	} else {
		out.NominatedNode = node
	}
	out.BindTime = timestamp(BindTime(p))
	if out.GetPhase() == clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE {
		out.UnschedulableTime = timestamp(podCondition(p, corev1.PodScheduled, corev1.ConditionFalse).LastTransitionTime)
	}
	out.Devices = device.OfPod(p, refs.ResourceClaim)
	protected, until := reader.DoNotDisrupt(p)
	out.DoNotDisrupt = protected
	if !until.IsZero() {
		out.DoNotDisruptUntil = stamp(until)
	}
	o := wire.Object(snapshot.Pod, out.GetId(), out)
	o.Class = class
	return o, true
}

// BindTime is when a pod got its node; zero where it has none, or nothing tells. The scheduler may say that a pod has
// none after Kerf has bound it, as what came of an attempt before that: then it was about when it said so.
func BindTime(p *corev1.Pod) (at metav1.Time) {
	if p.Spec.NodeName == "" {
		return at
	}
	if p.Status.StartTime != nil {
		at = *p.Status.StartTime
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && !c.LastTransitionTime.IsZero() {
			at = c.LastTransitionTime
		}
	}
	return at
}

func gated(p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }

// podPhase reads a bound pod's phase from its status as a whole, not from its containers': one that crashes and starts
// over again and again would otherwise change the snapshot each time, and nothing that is planned.
func podPhase(p *corev1.Pod) clusterpb.PodPhase {
	if p.Spec.NodeName != "" {
		if p.Status.Phase == corev1.PodRunning {
			return clusterpb.PodPhase_POD_PHASE_RUNNING
		}
		return clusterpb.PodPhase_POD_PHASE_STARTING
	}
	c := podCondition(p, corev1.PodScheduled, corev1.ConditionFalse)
	if c != nil && c.Reason == corev1.PodReasonUnschedulable {
		return clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE
	}
	return clusterpb.PodPhase_POD_PHASE_WAITING
}

// podCondition finds a condition that has the given status; nil when it has another or is not there.
func podCondition(p *corev1.Pod, t corev1.PodConditionType, status corev1.ConditionStatus) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == t && c.Status == status {
			return c
		}
	}
	return nil
}
