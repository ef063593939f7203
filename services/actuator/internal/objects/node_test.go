package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
)

func pod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: corev1.PodStatus{Phase: phase}}
}

// TestPodsAreAsIfAllWereReadAnew changes the pods on a node in all ways.
func TestPodsAreAsIfAllWereReadAnew(t *testing.T) {
	t.Parallel()
	a, b, c, d := pod("a", ""), pod("b", ""), pod("c", ""), pod("d", "")
	var known objects.Pods
	for i, list := range [][]*corev1.Pod{
		{}, {b, c}, {b, c}, {a, b, c, d}, {a, pod("b", corev1.PodFailed), d}, {pod("c", corev1.PodSucceeded), d}, {}, {a},
	} {
		known = known.Read(list)
		var want []cluster.Pod
		for _, p := range list {
			want = append(want, objects.Pod(p))
		}
		if diff := cmp.Diff(want, known.Values()); diff != "" {
			t.Errorf("list %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestThePodsOfACacheHaveTheirSize(t *testing.T) {
	t.Parallel()
	asks := corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("3Gi")}}
	whole, trimmed := pod("a", ""), pod("a", "")
	whole.Spec.Containers = []corev1.Container{{Resources: asks}}
	trimmed.Spec.Resources = &asks
	if got, want := objects.Pod(trimmed).Size, objects.Pod(whole).Size; got != want || got == 0 {
		t.Errorf("%d, want %d", got, want)
	}
	if got := objects.Pod(pod("a", "")).Size; got != 0 {
		t.Errorf("%d of a pod that asks for nothing", got)
	}
}
