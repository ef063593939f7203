package reader_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestReplica(t *testing.T) {
	pod := func(owner string, notes map[string]string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		p.Annotations = notes
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Controller: new(true)}}
		}
		return p
	}
	const cost, byKerf = "controller.kubernetes.io/pod-deletion-cost", "kerf.dev/pod-deletion-cost"
	going := pod("ReplicaSet", nil)
	going.DeletionTimestamp = &metav1.Time{}
	starts, fails := pod("ReplicaSet", nil), pod("ReplicaSet", nil)
	starts.Status.Conditions, fails.Status.Conditions[0].Status = nil, corev1.ConditionFalse
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		cost int32
		is   bool
	}{
		"of a ReplicaSet":             {pod("ReplicaSet", nil), 0, true},
		"of a ReplicationController":  {pod("ReplicationController", nil), 0, true},
		"of a StatefulSet":            {pod("StatefulSet", nil), 0, false},
		"of no controller":            {pod("", nil), 0, false},
		"that goes anyway":            {going, 0, false},
		"that starts":                 {starts, 0, false},
		"that is not ready any more":  {fails, 0, false},
		"with Kerf's cost":            {pod("ReplicaSet", map[string]string{cost: "-7", byKerf: "-7"}), -7, true},
		"with a user's":               {pod("ReplicaSet", map[string]string{cost: "-7"}), 0, false},
		"with a user's after Kerf's":  {pod("ReplicaSet", map[string]string{cost: "-8", byKerf: "-7"}), 0, false},
		"whose cost a user took away": {pod("ReplicaSet", map[string]string{byKerf: "-7"}), 0, true},
	} {
		got, is := reader.Replica(tt.pod)
		if is != tt.is || is && got != tt.cost {
			t.Errorf("%s: cost %d, %v; want %d, %v", name, got, is, tt.cost, tt.is)
		}
	}
}
