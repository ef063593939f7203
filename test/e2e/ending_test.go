package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

// endingPod fills more than half of the nodes of its pool, and stays until its finalizer is taken off.
const endingPod = `
---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, finalizers: [example.com/held]}
spec:
  nodeSelector: {hardware: ending}
  containers: [{name: main, image: none, resources: {requests: {cpu: 1100m}}}]
`

// TestAPodWaitsForTheRoomOfOneThatIsEnding has pods of which each fills a node. The second one is made while the first
// is ending, and comes to its node once that is gone; the third one's predecessor does not go, so that it gets a node
// after all.
func TestAPodWaitsForTheRoomOfOneThatIsEnding(t *testing.T) {
	s := startWith(t, stack.Options{Seed: seed(t)})
	pods := s.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault)
	apply := func(manifests ...string) {
		t.Helper()
		if err := s.Cluster.Apply(t.Context(), []byte(strings.Join(manifests, ""))); err != nil {
			t.Fatal(err)
		}
	}
	end := func(name string, grace int64) {
		t.Helper()
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
			t.Fatal(err)
		}
	}
	nodes := func(ctx context.Context) (list []string) {
		all, err := s.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "hardware=ending"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			list = append(list, all.Items[i].Name)
		}
		return list
	}
	bound := func(name string) (node string) {
		t.Helper()
		harness.Eventually(t, name+" on a node", time.Minute, func(ctx context.Context) (string, bool) {
			p, err := pods.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err.Error(), false
			}
			node = p.Spec.NodeName
			return fmt.Sprint(p.Status.Conditions), node != "" && p.Status.Phase == corev1.PodRunning
		})
		return node
	}

	apply(fmt.Sprintf(hardwareClass, "linux", "al2023@latest"), strings.Replace(
		fmt.Sprintf(hardwarePool, "ending", "linux", "on-demand"), "requirements:", "requirements:\n        - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}", 1,
	), fmt.Sprintf(endingPod, "first"))
	at := bound("first")
	end("first", 30)
	apply(fmt.Sprintf(endingPod, "second"))
	harness.Eventually(t, "second nominated to the node", time.Minute, func(ctx context.Context) (string, bool) {
		p, err := pods.Get(ctx, "second", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(p.Status), p.Status.NominatedNodeName == at
	})
	release := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := pods.Patch(t.Context(), "first", types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := bound("second"); got != at || len(nodes(t.Context())) != 1 {
		t.Fatalf("second is on %s of %v, and first was on %s", got, nodes(t.Context()), at)
	}

	end("second", 5)
	apply(fmt.Sprintf(endingPod, "third"))
	if got := bound("third"); got == at || len(nodes(t.Context())) != 2 {
		t.Errorf("third is on %s of %v, and second is still on %s", got, nodes(t.Context()), at)
	}
}
