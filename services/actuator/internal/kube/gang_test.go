package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A group's pods get nodes all together or not at all, and only the scheduler knows when that is.
func TestAPodOfAGroupIsBoundByTheSchedulerAlone(t *testing.T) {
	group := "training"
	pod := func(name string, g *corev1.PodSchedulingGroup) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u"},
			Spec:       corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, SchedulingGroup: g, Containers: []corev1.Container{{Name: "main"}}},
		}
	}
	k, _ := start(t, []runtime.Object{pod("alone", nil), pod("one-of-them", &corev1.PodSchedulingGroup{PodGroupName: &group})})
	if _, ok := k.nominator.Bindable("default/alone"); !ok {
		t.Error("a pod by itself can't be bound")
	}
	if _, ok := k.nominator.Bindable("default/one-of-them"); ok {
		t.Error("a pod of a group can be bound")
	}
}
