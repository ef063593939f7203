package skew_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

// drifting are a pool whose nodes drift one at a time, and pods of which each needs a node of its own.
const drifting = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: drifting}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: drifting, effect: NoSchedule}]
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never, budgets: [{nodes: "1"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: held, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: held}}
  template:
    metadata: {labels: {app: held}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{key: drifting}]
      nodeSelector: {karpenter.sh/nodepool: drifting}
      containers: [{name: main, image: none, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]
`

// kept keeps pods from being evicted: what has begun lasts as long as the test wants.
const kept = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: held, namespace: default}
spec:
  minAvailable: %d
  selector: {matchLabels: {app: held}}
`

// quiet is for how long a cluster that is left alone must be seen to be.
const quiet = 4 * time.Second

// TestANodeThatIsReplacedIsReplacedOnceAcrossReleases exchanges all services, leaders and those that stand by, one by
// one and back, while a drifted node is drained and others that have drifted wait for it. Nothing else may be launched,
// drained or ended, and in the end each drifted node has been replaced once.
func TestANodeThatIsReplacedIsReplacedOnceAcrossReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the control plane, which -short leaves out")
	}
	old := release(t)
	w := &fleet{world{Stack: start(t, old, true), claims: map[string]string{}}}
	w.apply(t)
	if err := w.Cluster.Apply(t.Context(), []byte(drifting)); err != nil {
		t.Fatal(err)
	}
	w.scale(t, 3)
	w.upgradeCRDs(t)
	w.running(t)
	before := w.instances(t)
	if len(before) != 6 {
		t.Fatalf("%d instances, want 6: %v", len(before), before)
	}
	if err := w.Cluster.Apply(t.Context(), []byte(strings.Replace(drifting, "  template:\n    spec:\n      nodeClassRef",
		"  template:\n    metadata: {labels: {round: two}}\n    spec:\n      nodeClassRef", 1))); err != nil {
		t.Fatal(err)
	}
	during := w.replacing(t, before)

	const now = "" // the working tree
	for _, step := range []struct{ service, folder string }{
		{"planner", now},
		{stack.ActuatorStandby, now},
		{"actuator", now},
		{"watcher", now},
		{stack.WatcherStandby, now},
		{"actuator", old},
		{stack.ActuatorStandby, old},
		{stack.WatcherStandby, old},
		{"watcher", old},
		{"planner", old},
		{"watcher", now},
		{stack.WatcherStandby, now},
		{"actuator", now},
		{stack.ActuatorStandby, now},
		{"planner", now},
	} {
		release := "the previous release"
		if step.folder == now {
			release = "the working tree"
		}
		if err := w.Exchange(t.Context(), step.service, step.folder); err != nil {
			t.Fatalf("%s of %s: %v%s", step.service, release, err, w.Tails(10))
		}
		w.left(t, fmt.Sprintf("%s of %s", step.service, release), during)
	}
	w.keep(t, 2)
	w.replaced(t, before)
	w.complaints(t)
}

// fleet is a world with a node that is being replaced.
type fleet struct{ world }

// scale sets how many pods the nodes that stay are for.
func (w *fleet) scale(t *testing.T, n int) {
	t.Helper()
	w.pods = n
	_, err := w.Kubernetes.AppsV1().Deployments(metav1.NamespaceDefault).Patch(t.Context(), "web", types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, n), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *fleet) running(t *testing.T) {
	t.Helper()
	for app, n := range map[string]int{"web": w.pods, "held": 3} {
		harness.Eventually(t, "pods of "+app, patience, harness.Pods(w.Kubernetes, metav1.NamespaceDefault, "app="+app, n, corev1.PodRunning))
	}
}

// instances are those that live, with the pools that they are of.
func (w *fleet) instances(t *testing.T) map[string]string {
	t.Helper()
	state, err := w.Sim.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, i := range state.Instances {
		if i.State == "pending" || i.State == "running" {
			out[i.ID] = i.Tags[labels.NodePool]
		}
	}
	return out
}

// keep sets how many of the pods that drift moves must run.
func (w *fleet) keep(t *testing.T, n int) {
	t.Helper()
	if err := w.Cluster.Apply(t.Context(), fmt.Appendf(nil, kept, n)); err != nil {
		t.Fatal(err)
	}
}

// replacing waits until a drifted node is replaced, and has its drain wait. It returns the instances, the replacement
// among them.
func (w *fleet) replacing(t *testing.T, before map[string]string) map[string]string {
	t.Helper()
	var during map[string]string
	harness.Eventually(t, "a drifted node to be replaced", patience, func(context.Context) (string, bool) {
		during = w.instances(t)
		return fmt.Sprint(during), len(during) == len(before)+1
	})
	w.keep(t, 3)
	return during
}

// left wants that nothing comes and nothing goes for a while, and that all nodes that stay are open.
func (w *fleet) left(t *testing.T, what string, want map[string]string) {
	t.Helper()
	for end := time.Now().Add(quiet); time.Now().Before(end); time.Sleep(time.Second) {
		if got := w.instances(t); !maps.Equal(got, want) {
			t.Fatalf("%s: instances %v, want those from before, %v%s", what, got, want, w.Tails(20))
		}
	}
	nodes, err := w.Kubernetes.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for i := range nodes.Items {
		for _, taint := range nodes.Items[i].Spec.Taints {
			if taint.Key == labels.TaintDisrupted {
				closed++
			}
		}
	}
	if closed != 1 {
		t.Errorf("%s: %d nodes are closed for a disruption, want 1", what, closed)
	}
	for _, c := range w.nodeClaims(t) {
		pool := c.GetLabels()[labels.NodePool]
		conditions, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
		for _, one := range conditions {
			if m, ok := one.(map[string]any); ok && pool == "default" && m["type"] == "Drifted" && m["status"] == "True" {
				t.Errorf("%s: %s of a pool that has not changed: %v", what, c.GetName(), m["message"])
			}
		}
	}
}

func (w *fleet) nodeClaims(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	list, err := w.Dynamic.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// replaced waits until each node of the pool that has changed is another, and wants that the others are the same and
// that none was launched beyond that.
func (w *fleet) replaced(t *testing.T, before map[string]string) {
	t.Helper()
	harness.Eventually(t, "the drifted nodes to be replaced", patience, func(context.Context) (string, bool) {
		got := w.instances(t)
		done := len(got) == len(before)
		for id, pool := range before {
			if _, is := got[id]; is != (pool == "default") {
				done = false
			}
		}
		return fmt.Sprint(got), done
	})
	w.running(t)
	state, err := w.Sim.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(state.Instances); n != len(before)+3 {
		t.Errorf("%d instances were launched, want %d", n, len(before)+3)
	}
}

// complaints wants that no service went on to complain: each exchange may give rise to one or two.
func (w *fleet) complaints(t *testing.T) {
	t.Helper()
	const most = 20
	for _, service := range append(stack.Services(), stack.ActuatorStandby, stack.WatcherStandby) {
		data, err := os.ReadFile(w.Log(service))
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for line := range bytes.Lines(data) {
			var entry struct{ Level, Msg, Error string }
			if json.Unmarshal(line, &entry) == nil && (entry.Level == "WARN" || entry.Level == "ERROR") {
				count[entry.Level+" "+entry.Msg+": "+entry.Error]++
			}
		}
		for _, what := range slices.Sorted(maps.Keys(count)) {
			t.Logf("%s: %d times %s", service, count[what], what)
			if count[what] > most {
				t.Errorf("%s: %d times %s; want %d at most", service, count[what], what, most)
			}
		}
	}
}
