package kube

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

func TestACopyFromBeforeTheLastWriteIsOld(t *testing.T) {
	at := func(version string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetName("a")
		o.SetResourceVersion(version)
		return o
	}
	var w wrote
	if w.after(karpenterv1.NodeClaimGVR(), at("1")) {
		t.Error("old, though nothing was written")
	}
	w.note(karpenterv1.NodeClaimGVR(), at("100"))
	for version, old := range map[string]bool{"99": true, "9": true, "100": false} {
		if w.note(karpenterv1.NodeClaimGVR(), at("100")); w.after(karpenterv1.NodeClaimGVR(), at(version)) != old {
			t.Errorf("version %s: want old %v", version, old)
		}
	}
	w.note(karpenterv1.NodeClaimGVR(), at("100"))
	if w.after(karpenterv1.NodePoolGVR(), at("1")) {
		t.Error("a pool is old by what was written to a claim")
	}
	if w.after(karpenterv1.NodeClaimGVR(), at("101")) || len(w.versions) != 0 {
		t.Errorf("a newer copy does not end the memory: %v", w.versions)
	}
}

func TestWhatOthersRemoveIsForgotten(t *testing.T) {
	k, _ := start(t, nil, object(t, class))
	u := object(t, class)
	k.wrote.note(awsv1.EC2NodeClassGVR(), u)
	if err := k.dynamic.Resource(awsv1.EC2NodeClassGVR()).Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		k.wrote.mu.Lock()
		defer k.wrote.mu.Unlock()
		return len(k.wrote.versions) == 0
	})
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for s, want := range map[string]string{"abcdef": "abcdef", "abcdefg": "abc...", "abédefg": "ab..."} {
		if got := cut(s, 6); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

func TestOnlyWhatIsReadIsToldOfPods(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{}
		p.Name, p.UID, p.Spec.NodeName = "web", "u", "n1"
		change(p)
		return p
	}
	same := pod(func(*corev1.Pod) {})
	waiting := pod(func(p *corev1.Pod) { p.Spec.NodeName = "" })
	for name, c := range map[string]struct {
		before, after *corev1.Pod
		want          bool
		nodes         []string
	}{
		"another resource version": {same, pod(func(p *corev1.Pod) { p.ResourceVersion = "2" }), false, nil},
		"a reason of its own":      {same, pod(func(p *corev1.Pod) { p.Status.Message = "why" }), false, nil},
		"it has ended":             {same, pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true, []string{"n1"}},
		"it is bound":              {waiting, same, true, []string{"n1"}},
		"it still waits":           {waiting, pod(func(p *corev1.Pod) { p.Spec.NodeName, p.ResourceVersion = "", "2" }), false, nil},
		"it is nominated":          {waiting, pod(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.NominatedNodeName = "", "n1" }), true, nil},
		"it is gone":               {same, nil, true, []string{"n1"}},
	} {
		var k Kube
		var after any
		if c.after != nil {
			after = c.after
		}
		got := k.podTouched(c.before, after)
		if names := slices.Sorted(maps.Keys(k.dirty.take().nodes)); got != c.want || !slices.Equal(names, c.nodes) {
			t.Errorf("%s: somebody looks: %v, at nodes %v", name, got, names)
		}
	}
}
