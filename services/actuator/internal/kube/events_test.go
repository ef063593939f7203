package kube

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/correlator"
)

func TestEventThatIsNeverTakenHoldsUpNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		again  bool
	}{
		"the namespace is being deleted": {apierrors.NewForbidden(corev1.Resource("events"), "p", errors.New("is being terminated")), false},
		"the namespace is gone":          {apierrors.NewNotFound(corev1.Resource("namespaces"), "n"), false},
		"the API server is busy":         {apierrors.NewTooManyRequests("busy", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			k, client := start(t, nil)
			client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, tt.answer
			})
			e := cluster.Event{Kind: "Pod", Namespace: "n", Name: "p", Reason: "FailedScheduling", Message: "why"}
			err := k.Publish(t.Context(), cluster.Publication{Events: []cluster.Event{e}})
			var failed cluster.NotPublished
			if errors.As(err, &failed) != tt.again || (failed[cluster.EventEntry(e)] != nil) != tt.again {
				t.Errorf("error %v, want that of the event: %v", err, tt.again)
			}
		})
	}
}

func TestAnObjectThatFlapsFillsNothing(t *testing.T) {
	k, client := start(t, nil)
	n := 0
	client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		n++
		return true, &corev1.Event{}, nil
	})
	for i := range 10 * correlator.Burst {
		err := k.Publish(t.Context(), cluster.Publication{
			Events: []cluster.Event{{Kind: "Node", Name: "n1", Reason: "DisruptionBlocked", Message: fmt.Sprint("why ", i)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < correlator.Burst || n > correlator.Burst+2 {
		t.Errorf("%d events, want %d and then one a minute", n, correlator.Burst)
	}
}
