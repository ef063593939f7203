package play

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kerf-dev/kerf/test/versus/load"
	"github.com/kerf-dev/kerf/test/versus/side"
)

func TestVolumesLieInTheZoneOfTheSelectedNode(t *testing.T) {
	t.Parallel()
	class := load.StorageClass
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "data-0", UID: "u", Annotations: map[string]string{selectedNode: "n"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z"}}}
	client := fake.NewClientset(node, claim)
	s := &Stage{Side: &side.Side{Client: client}}
	for range 2 { // it may be seen again before it is bound
		if err := s.volume(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	volumes, err := client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(volumes.Items) != 1 {
		t.Fatalf("%d volumes, error %v", len(volumes.Items), err)
	}
	v := volumes.Items[0]
	zone := v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values
	if len(zone) != 1 || zone[0] != "z" || v.Spec.ClaimRef.UID != "u" {
		t.Errorf("zone %v, claim %v", zone, v.Spec.ClaimRef)
	}
	claim.Annotations[selectedNode] = "gone"
	if err := s.volume(t.Context(), claim); err != nil {
		t.Errorf("a node that is gone again is an error: %v", err)
	}
}

func TestARolloutIsCompleteOnceNothingOldIsLeft(t *testing.T) {
	t.Parallel()
	n := int32(4)
	for name, tt := range map[string]struct {
		status appsv1.DeploymentStatus
		want   bool
	}{
		"all new":      {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 4, Replicas: 4, AvailableReplicas: 4}, true},
		"an old one":   {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 4, Replicas: 5, AvailableReplicas: 5}, false},
		"not ready":    {appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 4, Replicas: 4, AvailableReplicas: 3}, false},
		"not yet seen": {appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 4, Replicas: 4, AvailableReplicas: 4}, false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: &n}, Status: tt.status}
		if got := complete(d); got != tt.want {
			t.Errorf("%s: complete is %v", name, got)
		}
	}
}
