package convert

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// What pods say to the Cluster Autoscaler: that it must not evict them, and that it is to take them for a DaemonSet's.
const (
	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	daemonSetAs = "cluster-autoscaler.kubernetes.io/daemonset-pod"
)

// Unheeded says which pods tell the Cluster Autoscaler something that Kerf does not heed. Of a DaemonSet's own it does
// not heed it either.
func Unheeded(objects []runtime.Object) (notes []string) {
	var kept, daemons []string
	for _, o := range objects {
		p := podsIn(o)
		if p == nil || daemon(o) {
			continue
		}
		if p.annotations[safeToEvict] == "false" && p.annotations[labels.DoNotDisrupt] == "" {
			kept = append(kept, p.title)
		}
		if p.annotations[daemonSetAs] == "true" {
			daemons = append(daemons, p.title)
		}
	}
	if len(kept) > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s: \"false\" keeps no pod from being moved here; %s: \"true\" does", few(kept), safeToEvict, labels.DoNotDisrupt))
	}
	if len(daemons) > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s: \"true\" makes no pod a DaemonSet's here: nodes are bought for it, and a node that runs it is not empty; "+
			"let a DaemonSet make it", few(daemons), daemonSetAs))
	}
	return notes
}

// daemon says that the object is a DaemonSet, or a pod of one.
func daemon(o runtime.Object) bool {
	if p, ok := o.(*corev1.Pod); ok {
		c := metav1.GetControllerOf(p)
		return c != nil && c.Kind == "DaemonSet"
	}
	_, is := o.(*appsv1.DaemonSet)
	return is
}
