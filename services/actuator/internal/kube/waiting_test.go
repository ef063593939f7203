package kube

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestPodsWithoutANodeAreFoundByTheirController(t *testing.T) {
	yes, made := true, metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pod := func(name, owner, node string, age time.Duration) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, UID: types.UID("u-" + name), CreationTimestamp: metav1.NewTime(made.Add(-age)),
				OwnerReferences: []metav1.OwnerReference{{Kind: "Other", UID: "uninvolved"}, {Kind: "ReplicaSet", UID: types.UID(owner), Controller: &yes}},
			},
			Spec: corev1.PodSpec{NodeName: node},
		}
	}
	ending := pod("ending", "web", "", 0)
	ending.DeletionTimestamp, ending.Finalizers = &made, []string{"test/finalizer"}
	k, _ := start(t, []runtime.Object{
		zoneNode("a", "za"), pod("young", "web", "", 0), pod("old", "web", "", time.Minute), pod("runs", "web", "a", 0), pod("other", "api", "", 0), ending,
	})
	observed(t, k)
	for owner, want := range map[string][]model.PodID{"web": {"default/old", "default/young"}, "api": {"default/other"}, "uninvolved": nil, "": nil} {
		var got []model.PodID
		for _, p := range k.nominator.Waiting(owner) {
			if p.Owner != owner {
				t.Errorf("pod %s of %q is of %q", p.ID, owner, p.Owner)
			}
			got = append(got, p.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %q wait %v, want %v", owner, got, want)
		}
	}
}
