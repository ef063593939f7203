package kube

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

func TestHealthIsLoggedWhenItChanges(t *testing.T) {
	var log bytes.Buffer
	revision := "1"
	h := &health{name: "pods", log: slog.New(slog.NewTextHandler(&log, nil)), revision: func() string { return revision }}
	lines := func(want int, after string) {
		t.Helper()
		if got := strings.Count(log.String(), "\n"); got != want {
			t.Errorf("%d lines after %s, want %d:\n%s", got, after, want, log.String())
		}
	}
	refused := errors.New("connection refused")
	h.works()
	h.fails(io.EOF)
	lines(0, "a watch that ended as they do")
	for range 10 {
		h.fails(refused)
		h.check()
	}
	lines(1, "ten failures")
	revision = "2"
	h.check()
	lines(2, "the cache has gone on")
	h.fails(refused)
	lines(3, "another failure")
	h.works()
	h.works()
	lines(4, "two events")
	h.fails(refused)
	revision = "3"
	h.fails(refused)
	lines(7, "a failure that came after the watch had worked unseen")
}

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
