package kube

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// byBudget is how the API server says that a budget forbids an eviction.
func byBudget(err *apierrors.StatusError, words string) *apierrors.StatusError {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: words})
	return err
}

func TestEvictionAnswersAreClassified(t *testing.T) {
	several := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	}}
	other := errors.New("neither")
	for name, tt := range map[string]struct {
		answer *apierrors.StatusError
		want   error  // other for one that is none of the port's
		words  string // that the error has
	}{
		"a budget says no": {
			byBudget(apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0), "The disruption budget web needs 3 healthy pods and has 3 currently"),
			cluster.ErrBlocked, "The disruption budget web needs 3 healthy pods",
		},
		"a budget's figures are impossible": {
			byBudget(apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), "web", errors.New("negative")), "The disruption budget web does not allow evicting pods currently"),
			cluster.ErrBlocked, "The disruption budget web does not allow",
		},
		"several budgets say no":         {several, cluster.ErrBlocked, "more than one PodDisruptionBudget"},
		"the pod is gone":                {apierrors.NewNotFound(corev1.Resource("pods"), "p"), cluster.ErrNotFound, ""},
		"it is another pod of that name": {apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("uid")), cluster.ErrNotFound, ""},
		"a webhook can't be reached":     {apierrors.NewInternalError(errors.New(`failed calling webhook "evictions.example.com"`)), other, `"evictions.example.com"`},
		"a webhook asks to wait":         {apierrors.NewTooManyRequests(`admission webhook "vms.example.com" denied the request: it is moved`, 0), other, `"vms.example.com"`},
		"the server has too much to do":  {apierrors.NewTooManyRequestsError("too many requests"), other, "too many requests"},
		"there is no right to it":        {apierrors.NewForbidden(corev1.Resource("pods"), "p", nil), other, "forbidden"},
		"the eviction was taken":         {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k, client := start(t, nil)
			client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if a.GetSubresource() != "eviction" {
					return false, nil, nil
				}
				if tt.answer == nil {
					return true, &policyv1.Eviction{}, nil
				}
				return true, nil, tt.answer
			})
			err := k.Evict(t.Context(), cluster.Eviction{Namespace: "default", Name: "p", UID: "u"})
			is := errors.Is(err, tt.want)
			if errors.Is(tt.want, other) {
				is = err != nil && !errors.Is(err, cluster.ErrBlocked) && !errors.Is(err, cluster.ErrNotFound)
			}
			if !is {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if blocked, ok := errors.AsType[*cluster.Blocked](err); ok && !strings.Contains(blocked.Says, tt.words) {
				t.Errorf("of the budget it says %q, want %q", blocked.Says, tt.words)
			}
			if tt.words != "" && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("error %q, want the server's words: %q", err, tt.words)
			}
		})
	}
}

// A server that asks to wait before an eviction is tried again must not have its word inside the client, where a slot
// is held meanwhile: of those there are few, and deletions by force need them too.
func TestAnEvictionThatIsToWaitHoldsNoSlot(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		status := byBudget(apierrors.NewTooManyRequests("Cannot evict pod", 10), "The disruption budget web is still being processed by the server.").ErrStatus
		status.Kind, status.APIVersion = "Status", "v1"
		w.Header().Set("Retry-After", "10")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(status)
	}))
	defer server.Close()
	k, err := New(Config{REST: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	err = k.Evict(t.Context(), cluster.Eviction{Namespace: "default", Name: "p", UID: "u"})
	if took := time.Since(begin); took > 5*time.Second || asked != 1 {
		t.Errorf("asked %d times in %s, want once", asked, took)
	}
	if !errors.Is(err, cluster.ErrBlocked) || !strings.Contains(err.Error(), "still being processed") {
		t.Errorf("error %v, want ErrBlocked with the server's words", err)
	}
}

func TestAPodThatIsDeletedByForceSaysThatItWasDisrupted(t *testing.T) {
	pod := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u"},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
	}
	e := cluster.Eviction{Namespace: "default", Name: "p", UID: "u", Node: "n1", Why: model.ReasonInterrupted, Force: true, Grace: time.Second}
	t.Run("first it says so", func(t *testing.T) {
		k, client := start(t, []runtime.Object{pod()})
		var last corev1.Pod
		client.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			p, err := client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "default", "p")
			if err == nil {
				last = *p.(*corev1.Pod) //nolint:forcetypeassert // that is what it tracks
			}
			return false, nil, nil
		})
		if err := k.Evict(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		conditions := map[corev1.PodConditionType]corev1.PodCondition{}
		for _, c := range last.Status.Conditions {
			conditions[c.Type] = c
		}
		c := conditions[corev1.DisruptionTarget]
		if c.Status != corev1.ConditionTrue || c.Reason == "" || !strings.Contains(c.Message, "n1") || c.LastTransitionTime.IsZero() {
			t.Errorf("conditions when it was deleted: %+v", last.Status.Conditions)
		}
		if conditions[corev1.PodReady].Status != corev1.ConditionTrue {
			t.Error("other conditions were lost")
		}
	})
	t.Run("it is deleted though it can't say so", func(t *testing.T) {
		k, client := start(t, []runtime.Object{pod()})
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "p", nil)
		})
		if err := k.Evict(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "default", "p"); !apierrors.IsNotFound(err) {
			t.Errorf("%v, want the pod deleted", err)
		}
	})
}
