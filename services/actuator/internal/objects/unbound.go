package objects

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Unbound reads a pod without a node.
func Unbound(p *corev1.Pod) cluster.UnboundPod {
	node, byKerf := reader.Nomination(p)
	out := cluster.UnboundPod{
		ID: model.PodID(p.Namespace + "/" + p.Name), UID: string(p.UID), Nominated: model.NodeName(node), ByKerf: byKerf,
	}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		out.Owner = string(owner.UID)
	}
	return out
}

// PodNode indexes pods by their node.
func PodNode(o any) ([]string, error) {
	if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}, nil
	}
	return nil, nil
}

// PodNominee indexes pods without a node that Kerf has nominated, by the node that they are nominated to.
func PodNominee(o any) ([]string, error) {
	p, ok := o.(*corev1.Pod)
	if !ok || p.DeletionTimestamp != nil {
		return nil, nil
	}
	if node, byKerf := reader.Nomination(p); byKerf {
		return []string{node}, nil
	}
	return nil, nil
}

// PodWaiting indexes pods without a node by the uid of their controller.
func PodWaiting(o any) ([]string, error) {
	p, ok := o.(*corev1.Pod)
	if !ok || p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
		return nil, nil
	}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

// AttachmentNode indexes attachments of volumes by their node.
func AttachmentNode(o any) ([]string, error) {
	if a, ok := o.(*storagev1.VolumeAttachment); ok {
		return []string{a.Spec.NodeName}, nil
	}
	return nil, nil
}
