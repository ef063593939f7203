package convert

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// safeToEvict is the annotation by which the Cluster Autoscaler is kept from a pod.
const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

// Unheeded says which pods were kept from the Cluster Autoscaler, and are not from Kerf. Pods of DaemonSets were not.
func Unheeded(objects []runtime.Object) []string {
	var pods []string
	for _, o := range objects {
		if p := podsIn(o); p != nil && p.annotations[safeToEvict] == "false" && p.annotations[labels.DoNotDisrupt] == "" && !daemon(o) {
			pods = append(pods, p.title)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: \"false\" keeps no pod from being moved here; %s: \"true\" does", few(pods), safeToEvict, labels.DoNotDisrupt)}
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
