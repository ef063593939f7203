package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/actuator"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/harness"
)

// evicting is a node with a pod that runs there, and that a finalizer keeps visible once it is deleted.
type evicting struct {
	users
	port actuator.Kubernetes
	pod  cluster.Eviction
}

func newEvicting(t *testing.T, c *harness.Cluster) evicting {
	t.Helper()
	u := newUsers(t, c, "evict")
	port, run := openPort(t, c, nil)
	runPort(t, u, run)
	u.apply(t, strings.NewReplacer("NAME", u.name).Replace(`
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {kubernetes.io/hostname: NAME}}
spec: {providerID: aws:///us-east-1a/i-NAME}
status: {allocatable: {cpu: "2", memory: 7Gi, pods: "29"}, capacity: {cpu: "2", memory: 8Gi, pods: "29"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: NAME, labels: {app: web, tier: front}, finalizers: [kerf.dev/test]}
spec: {nodeName: NAME, tolerations: [{operator: Exists}], containers: [{name: main, image: none}]}
`))
	e := evicting{users: u, port: port, pod: cluster.Eviction{Namespace: u.name, Name: "web", Node: model.NodeName(u.name), Why: model.ReasonInterrupted}}
	harness.Eventually(t, "the pod runs", time.Minute, func(context.Context) (string, bool) {
		phase := e.now(t).Status.Phase
		return string(phase), phase == corev1.PodRunning
	})
	e.pod.UID = string(e.now(t).UID)
	return e
}

// now is the pod as the API server has it.
func (e evicting) now(t *testing.T) *corev1.Pod {
	t.Helper()
	p, err := e.client.CoreV1().Pods(e.name).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// budget makes one that selects the pod.
func (e evicting) budget(t *testing.T, name, label, value string) {
	t.Helper()
	e.apply(t, strings.NewReplacer("BUDGET", name, "NAMESPACE", e.name, "LABEL", label, "VALUE", value).Replace(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: BUDGET, namespace: NAMESPACE}
spec: {minAvailable: 1, selector: {matchLabels: {LABEL: VALUE}}}
`))
}

// TestPodsThatAreEvicted asks a real API server, with the actuator's rights and no others.
func TestPodsThatAreEvicted(t *testing.T) {
	c := controlPlane(t)
	t.Run("the API server says why one is not", func(t *testing.T) { testWhyNotEvicted(t, newEvicting(t, c)) })
	t.Run("to its Job one that is deleted by force is disrupted", func(t *testing.T) { testForcedIsDisrupted(t, newEvicting(t, c)) })
}

func testWhyNotEvicted(t *testing.T, e evicting) {
	t.Helper()
	e.budget(t, "first", "app", "web")
	evict := func(blocked bool, words string) {
		t.Helper()
		err := e.port.Evict(t.Context(), e.pod)
		if err == nil || errors.Is(err, cluster.ErrBlocked) != blocked || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v; want %q, by a budget: %t", err, words, blocked)
		}
	}
	evict(true, "disruption budget first")
	e.budget(t, "second", "tier", "front")
	evict(true, "more than one PodDisruptionBudget")

	e.webhook(t)
	// The API server reads its webhooks every second or so.
	harness.Eventually(t, "the webhook is in the way", time.Minute, func(ctx context.Context) (string, bool) {
		err := e.port.Evict(ctx, e.pod)
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "evictions.example.com")
	})
	evict(false, "evictions.example.com")
	if e.now(t).DeletionTimestamp != nil {
		t.Error("the pod is being deleted")
	}
}

// webhook puts one in the way of evictions behind whose address nothing listens.
func (e evicting) webhook(t *testing.T) {
	t.Helper()
	fail, none, url, seconds := admissionv1.Fail, admissionv1.SideEffectClassNone, "https://127.0.0.1:1/", int32(1)
	hooks := e.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "evictions.example.com", FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionv1.WebhookClientConfig{URL: &url},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.name}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hooks.Delete(context.WithoutCancel(t.Context()), e.name, metav1.DeleteOptions{}) })
}

// testForcedIsDisrupted looks at what a Job's podFailurePolicy looks at.
func testForcedIsDisrupted(t *testing.T, e evicting) {
	t.Helper()
	e.budget(t, "first", "app", "web")
	before := e.now(t).Status.Conditions
	e.pod.Force, e.pod.Grace = true, time.Second
	other := e.pod
	other.UID = "another"
	if err := e.port.Evict(t.Context(), other); !errors.Is(err, cluster.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	if p := e.now(t); p.DeletionTimestamp != nil || disrupted(p) != nil {
		t.Errorf("another pod of that name was meant; this one has %v", text(t, p.Status.Conditions))
	}
	if err := e.port.Evict(t.Context(), e.pod); err != nil {
		t.Fatal(err)
	}
	p := e.now(t)
	if c := disrupted(p); p.DeletionTimestamp == nil || c == nil || c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, e.name) {
		t.Errorf("deleted at %v, conditions %s", p.DeletionTimestamp, text(t, p.Status.Conditions))
	}
	if len(p.Status.Conditions) < len(before)+1 {
		t.Errorf("other conditions were lost: %s", text(t, p.Status.Conditions))
	}
}

func disrupted(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.DisruptionTarget {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
