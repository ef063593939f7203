package objects

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRequirementsHaveOneNamePerLabel: claims have labels under their present names only. Under another one a requirement
// would find no label, so that nothing could be bought for the pool, and every node of it had drifted.
func TestRequirementsHaveOneNamePerLabel(t *testing.T) {
	for key, want := range map[string]string{
		"topology.kubernetes.io/zone":            "topology.kubernetes.io/zone",
		"topology.ebs.csi.aws.com/zone":          "topology.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
		"beta.kubernetes.io/arch":                "kubernetes.io/arch",
		"example.com/team":                       "example.com/team",
	} {
		t.Run(key, func(t *testing.T) {
			pool := Pool(&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
				"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
					"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
					"requirements": []any{map[string]any{"key": key, "operator": "In", "values": []any{"a"}}},
				}}},
			}})
			if len(pool.Requirements) != 1 || pool.Requirements[0].Key != want {
				t.Errorf("requirements %+v, want one of %s; %s", pool.Requirements, want, pool.NotReady.Message)
			}
		})
	}
}
