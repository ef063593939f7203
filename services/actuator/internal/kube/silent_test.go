package kube

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestNodesAreNotSeenWhileNothingAnswersOrTheirWatchFails(t *testing.T) {
	k, _ := start(t, []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}})
	if err := Ask(t.Context(), k); err != nil {
		t.Error(err)
	}
	if s := observed(t, k); !s.Silent.IsZero() || s.PodsUnseen {
		t.Errorf("silent since %s, and pods unseen %v, though all works", s.Silent, s.PodsUnseen)
	}
	k.watches["pods"].Fails(errors.New("forbidden"))
	if s := observed(t, k); !s.Silent.IsZero() || !s.PodsUnseen {
		t.Errorf("silent since %s, and pods unseen %v, though nodes are seen and pods are not", s.Silent, s.PodsUnseen)
	}
	k.watches["pods"].Works()
	before := time.Now()
	k.watches["nodes"].Fails(errors.New("the server is currently unable to handle the request"))
	if s := observed(t, k); s.Silent.Before(before) || !s.PodsUnseen || len(s.Nodes) != 1 {
		t.Errorf("silent since %s with %d nodes, want it since the watch of nodes fails, and what was seen", s.Silent, len(s.Nodes))
	}
	k.silent = func() time.Time { return before.Add(-time.Minute) }
	if s := observed(t, k); !s.Silent.Equal(before.Add(-time.Minute)) {
		t.Errorf("silent since %s, want it since nothing answers", s.Silent)
	}
	k.watches["nodes"].Works()
	if s := observed(t, k); s.Silent.IsZero() || !s.PodsUnseen {
		t.Error("not silent, though nothing answers")
	}
}
