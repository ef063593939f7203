package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/test/demo/stack"
	"github.com/kerf-dev/kerf/test/harness"
)

// block is a block of capacity: the only room for its type, which AWS does not sell on demand here.
const block = "cr-0123456789abcdef0"

const hardwareClass = `
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: KerfNodeRole-kerf-demo
  amiSelectorTerms: [{alias: %s}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: kerf-demo}}]
`

const hardwarePool = `
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  template:
    metadata: {labels: {hardware: %[1]s}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[2]s}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [%[3]s]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
`

const hardwarePod = `
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  nodeSelector: {hardware: %[1]s%[3]s}
  containers: [{name: main, image: none, resources: {requests: {cpu: "1"}, limits: {%[2]s}}}]
`

// TestPodsGetTheHardwareThatTheyAskFor has a pod for each kind of node that is launched another way than most: with
// GPUs, with elastic fabric adapters, with Windows, and into a block of capacity.
func TestPodsGetTheHardwareThatTheyAskFor(t *testing.T) {
	s := startWith(t, stack.Options{Seed: seed(t), Reserved: []string{block + ",p5.48xlarge,us-east-1b,1,block"}})
	var manifest strings.Builder
	fmt.Fprintf(&manifest, hardwareClass, "linux", "al2023@latest")
	fmt.Fprintf(&manifest, hardwareClass, "windows", "windows2022@latest")
	fmt.Fprintf(&manifest, hardwareClass+"  capacityReservationSelectorTerms: [{id: %s}]\n", "block", "al2023@latest", block)
	for pool, class := range map[string]string{"gpu": "linux", "efa": "linux", "windows": "windows", "block": "block"} {
		sold := "on-demand"
		if pool == "block" {
			sold = "reserved"
		}
		fmt.Fprintf(&manifest, hardwarePool, pool, class, sold)
	}
	fmt.Fprintf(&manifest, hardwarePod, "gpu", `nvidia.com/gpu: "1"`, "")
	fmt.Fprintf(&manifest, hardwarePod, "efa", `vpc.amazonaws.com/efa: "2"`, "")
	fmt.Fprintf(&manifest, hardwarePod, "windows", "", ", kubernetes.io/os: windows")
	fmt.Fprintf(&manifest, hardwarePod, "block", `nvidia.com/gpu: "8", vpc.amazonaws.com/efa: "32"`, "")
	if err := s.Cluster.Apply(t.Context(), []byte(manifest.String())); err != nil {
		t.Fatal(err)
	}
	nodes := hardwareNodes(t, s)
	label := func(pod, key string) string { return nodes[pod].Labels[key] }
	has := func(pod string, resource corev1.ResourceName) int64 {
		n := nodes[pod].Status.Allocatable[resource]
		return n.Value()
	}
	if has("gpu", "nvidia.com/gpu") < 1 || label("gpu", "karpenter.k8s.aws/instance-gpu-manufacturer") != "nvidia" {
		t.Errorf("the GPU pod is on %v with %v", nodes["gpu"].Labels, nodes["gpu"].Status.Allocatable)
	}
	if has("efa", "vpc.amazonaws.com/efa") < 2 {
		t.Errorf("the EFA pod is on a node with %v", nodes["efa"].Status.Allocatable)
	}
	if nodes["windows"].Status.NodeInfo.OperatingSystem != "windows" || label("windows", "node.kubernetes.io/windows-build") != "10.0.20348" {
		t.Errorf("the Windows pod is on %v", nodes["windows"].Labels)
	}
	if label("block", corev1.LabelInstanceTypeStable) != "p5.48xlarge" || label("block", "karpenter.sh/capacity-type") != "reserved" ||
		label("block", "karpenter.k8s.aws/capacity-reservation-id") != block ||
		label("block", "karpenter.k8s.aws/capacity-reservation-type") != "capacity-block" {
		t.Errorf("the pod for the block is on %v", nodes["block"].Labels)
	}
	if free := has("gpu", "vpc.amazonaws.com/efa"); free != 0 {
		t.Errorf("the GPU pod's node has %d adapters, and no pod asked for them", free)
	}
}

// hardwareNodes are the nodes of the test's pods, by pod, once Kerf is done with all of them.
func hardwareNodes(t *testing.T, s *stack.Stack) map[string]*corev1.Node {
	t.Helper()
	nodes := map[string]*corev1.Node{}
	harness.Eventually(t, "all pods bound to nodes that are ready for them", 4*time.Minute, func(ctx context.Context) (string, bool) {
		pods, err := s.Kubernetes.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		var wait []string
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Spec.NodeName == "" {
				wait = append(wait, p.Name)
				continue
			}
			n, err := s.Kubernetes.CoreV1().Nodes().Get(ctx, p.Spec.NodeName, metav1.GetOptions{})
			if err != nil {
				return err.Error(), false
			}
			if n.Labels["karpenter.sh/initialized"] != "true" {
				wait = append(wait, p.Name+"'s node")
			}
			nodes[p.Name] = n
		}
		return "waiting for " + strings.Join(wait, ", "), len(pods.Items) == 4 && len(wait) == 0
	})
	return nodes
}
