package kube

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
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
			err := k.Publish(t.Context(), cluster.Publication{
				Events: []cluster.Event{{Kind: "Pod", Namespace: "n", Name: "p", Reason: "FailedScheduling", Message: "why"}},
			})
			if (err != nil) != tt.again {
				t.Errorf("error %v, want one: %v", err, tt.again)
			}
		})
	}
}
