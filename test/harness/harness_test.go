package harness_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-dev/kerf/test/harness"
)

var shared harness.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m, harness.Options{})) }

// patience is for machines that compile something beside the test; the waits end as soon as they can.
const patience = time.Minute

func admin(t *testing.T, c *harness.Cluster) kubernetes.Interface {
	t.Helper()
	client, err := c.Client(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// deployment is three pods that run only on nodes with the label test=NAME, with a budget that lets one go at a time.
func deployment(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {test: %[1]s}
      containers: [{name: main, image: none, resources: {requests: {cpu: 250m, memory: 1Gi}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: %[1]s}
spec:
  minAvailable: 2
  selector: {matchLabels: {app: web}}
`, name)
}

// addNode makes a Node object that kwok brings to life, and takes it away when the test ends.
func addNode(t *testing.T, client kubernetes.Interface, name, label string) {
	t.Helper()
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("29"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"test": label}, Annotations: map[string]string{harness.KwokAnnotation: harness.KwokValue},
		},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// unschedulable is done when all n pods of the namespace are marked so by the scheduler.
func unschedulable(client kubernetes.Interface, ns string, n int) harness.Check {
	return func(ctx context.Context) (string, bool) {
		pods, err := client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		marked := 0
		for i := range pods.Items {
			for _, cond := range pods.Items[i].Status.Conditions {
				if cond.Type == corev1.PodScheduled && cond.Reason == corev1.PodReasonUnschedulable {
					marked++
				}
			}
		}
		return fmt.Sprintf("%d of %d pods marked", marked, len(pods.Items)), marked == n && len(pods.Items) == n
	}
}

func TestPodsWaitForANodeAndRunOnIt(t *testing.T) {
	c := shared.Cluster(t)
	client, ns := admin(t, c), c.Namespace(t, "run")
	if err := c.Apply(t.Context(), []byte(deployment(ns))); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "three unschedulable pods", patience, unschedulable(client, ns, 3))

	addNode(t, client, ns+"-1", ns)
	harness.Eventually(t, "three running pods", patience, harness.Pods(client, ns, "app=web", 3, corev1.PodRunning))

	node, err := client.CoreV1().Nodes().Get(t.Context(), ns+"-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.Status.Allocatable.Cpu().String(); got != "2" {
		t.Errorf("kwok changed the node's cpu to %s, want 2", got)
	}
}

func TestTheEvictionAPIKeepsABudget(t *testing.T) {
	c := shared.Cluster(t)
	client, ns := admin(t, c), c.Namespace(t, "evict")
	if err := c.Apply(t.Context(), []byte(deployment(ns))); err != nil {
		t.Fatal(err)
	}
	addNode(t, client, ns+"-1", ns)
	harness.Eventually(t, "three running pods", patience, harness.Pods(client, ns, "app=web", 3, corev1.PodRunning))
	harness.Eventually(t, "a budget that allows one eviction", patience, func(ctx context.Context) (string, bool) {
		pdb, err := client.PolicyV1().PodDisruptionBudgets(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d allowed", pdb.Status.DisruptionsAllowed), pdb.Status.DisruptionsAllowed == 1
	})
	cordon := []byte(`{"spec":{"unschedulable":true}}`) // else an evicted pod's successor runs before the next eviction
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), ns+"-1", "application/merge-patch+json", cordon, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	evict := func(i int) error {
		return client.PolicyV1().Evictions(ns).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods.Items[i].Name, Namespace: ns}})
	}
	if err := evict(0); err != nil {
		t.Errorf("first eviction: %v", err)
	}
	if err := evict(1); !apierrors.IsTooManyRequests(err) {
		t.Errorf("second eviction: %v, want too many requests", err)
	}
}

func TestEachServiceHasOnlyItsRights(t *testing.T) {
	c := shared.Cluster(t)
	t.Run("in a cluster of ours", func(t *testing.T) { checkRights(t, c) })

	t.Setenv("KUBECONFIG", c.Kubeconfig(harness.Admin))
	t.Setenv("USE_EXISTING_CLUSTER", "true")
	theirs, err := harness.Start(t.Context(), harness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("in a cluster of the user's", func(t *testing.T) { checkRights(t, theirs) })
	if err := theirs.Kill(harness.Etcd); err == nil {
		t.Error("killed the etcd of a cluster that is not ours")
	}
	if err := theirs.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := admin(t, c).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the user's cluster does not answer after the harness has left it: %v", err)
	}
}

func checkRights(t *testing.T, c *harness.Cluster) {
	t.Helper()
	tests := map[string]struct {
		user, verb, group, resource, subresource string
		want                                     bool
	}{
		"the watcher sees pods":                   {harness.Watcher, "list", "", "pods", "", true},
		"the watcher sees pools":                  {harness.Watcher, "watch", "karpenter.sh", "nodepools", "", true},
		"the watcher changes no node":             {harness.Watcher, "patch", "", "nodes", "", false},
		"the watcher evicts no one":               {harness.Watcher, "create", "", "pods", "eviction", false},
		"the watcher writes no event":             {harness.Watcher, "create", "", "events", "", false},
		"the watcher reads no secret":             {harness.Watcher, "get", "", "secrets", "", false},
		"the actuator evicts":                     {harness.Actuator, "create", "", "pods", "eviction", true},
		"the actuator patches nodes":              {harness.Actuator, "patch", "", "nodes", "", true},
		"the actuator makes no nodes":             {harness.Actuator, "create", "", "nodes", "", false},
		"the actuator makes no pods":              {harness.Actuator, "create", "", "pods", "", false},
		"the actuator mirrors claims":             {harness.Actuator, "create", "karpenter.sh", "nodeclaims", "", true},
		"the actuator changes no pool":            {harness.Actuator, "patch", "karpenter.sh", "nodepools", "", false},
		"the actuator writes a pool's status":     {harness.Actuator, "update", "karpenter.sh", "nodepools", "status", true},
		"the actuator reads no secret":            {harness.Actuator, "get", "", "secrets", "", false},
		"the planner does not even look at nodes": {harness.Planner, "get", "", "nodes", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client, err := c.Client(tt.user)
			if err != nil {
				t.Fatal(err)
			}
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: tt.verb, Group: tt.group, Resource: tt.resource, Subresource: tt.subresource,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != tt.want {
				t.Errorf("allowed: %v, want %v (%s)", review.Status.Allowed, tt.want, review.Status.Reason)
			}
		})
	}
}

func TestAKilledComponentComesBackWithItsState(t *testing.T) {
	c := shared.Cluster(t)
	client, ns := admin(t, c), c.Namespace(t, "crash")
	for _, component := range harness.Components() {
		if err := c.Kill(component); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(t.Context(), component); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Apply(t.Context(), []byte(deployment(ns))); err != nil {
		t.Fatal(err)
	}
	addNode(t, client, ns+"-1", ns)
	harness.Eventually(t, "three running pods", patience, harness.Pods(client, ns, "app=web", 3, corev1.PodRunning))
}

// A definition can be well-formed and still be refused: its validation rules have a cost that only the server knows.
func TestTheServerTakesKerfsKinds(t *testing.T) {
	c := shared.Cluster(t)
	if err := c.ApplyFile(t.Context(), "../../deploy/crds"); err != nil {
		t.Error(err)
	}
}

func TestApplyKnowsAKindThatItHasJustDefined(t *testing.T) {
	c := shared.Cluster(t)
	err := c.Apply(t.Context(), []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kites.test.kerf.dev}
spec:
  group: test.kerf.dev
  scope: Cluster
  names: {kind: Kite, plural: kites}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
# Only a comment.
---
apiVersion: test.kerf.dev/v1
kind: Kite
metadata: {name: red}
`))
	if err != nil {
		t.Fatal(err)
	}
	client, err := c.Dynamic(harness.Admin)
	if err != nil {
		t.Fatal(err)
	}
	kites := client.Resource(schema.GroupVersionResource{Group: "test.kerf.dev", Version: "v1", Resource: "kites"})
	if _, err := kites.Get(t.Context(), "red", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestApplyNamesWhatItCannotApply(t *testing.T) {
	c := shared.Cluster(t)
	tests := map[string]struct {
		manifest string
		want     []string
	}{
		"text that is no YAML":            {"a: [", []string{"document 1"}},
		"a field that the API refuses":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}", []string{"ConfigMap", "Not_A_Name", "metadata.name"}},
		"an object that lacks its name":   {"apiVersion: v1\nkind: ConfigMap", []string{"ConfigMap", "name"}},
		"a namespace that does not exist": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: nowhere}", []string{"ConfigMap a", "nowhere"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := c.Apply(t.Context(), []byte(tt.manifest))
			if err == nil {
				t.Fatal("applied")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %q", err, want)
				}
			}
		})
	}
}

func TestAWaitThatFailsTellsWhatWasSeen(t *testing.T) {
	err := harness.Until(t.Context(), "rain", 10*time.Millisecond, func(context.Context) (string, bool) { return "sunshine", false })
	if err == nil || !strings.Contains(err.Error(), "rain") || !strings.Contains(err.Error(), "sunshine") {
		t.Errorf("error %v names neither what was waited for nor what was seen", err)
	}
}
