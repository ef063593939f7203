package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// TestWhatKeptTheClusterAutoscalerIsSaidNotToKeepKerf: who comes from there takes the annotation along.
func TestWhatKeptTheClusterAutoscalerIsSaidNotToKeepKerf(t *testing.T) {
	t.Parallel()
	const text = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: batch}, spec: {template: {metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: safe}, spec: {template: {metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: two, namespace: shop, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: kept, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false", karpenter.sh/do-not-disrupt: 2h}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {template: {metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: agent-0, ownerReferences: [{kind: DaemonSet, name: agent, controller: true}], annotations: {cluster-autoscaler.kubernetes.io/daemonset-pod: "true"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: logs, annotations: {cluster-autoscaler.kubernetes.io/daemonset-pod: "true"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: none, annotations: {cluster-autoscaler.kubernetes.io/daemonset-pod: "false"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: agent-1, ownerReferences: [{kind: DaemonSet, name: agent, controller: true}], annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}}
`
	read, _, err := manifest.Decode(strings.NewReader(text), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`Deployment batch, Pod shop/two: cluster-autoscaler.kubernetes.io/safe-to-evict: "false" keeps no pod from being moved here; karpenter.sh/do-not-disrupt: "true" does`,
		`Pod logs: cluster-autoscaler.kubernetes.io/daemonset-pod: "true" makes no pod a DaemonSet's here: nodes are bought for it, and a node that runs it is not empty; ` +
			`let a DaemonSet make it`,
	}
	if diff := cmp.Diff(want, convert.Unheeded(read)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
