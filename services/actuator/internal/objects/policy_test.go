package objects

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestInvalidPools reads the manifests that package reader refuses. The watcher's test of the same name does so too.
func TestInvalidPools(t *testing.T) {
	files, err := filepath.Glob("../../../internal/kubeapi/reader/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(text, &o.Object); err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(text), "\n")
			if got, want := Pool(o).NotReady.Message, strings.TrimPrefix(line, "# "); !strings.HasPrefix(got, want) {
				t.Errorf("reason %q, want %s", got, want)
			}
		})
	}
}

// TestRequirementsHaveOneNamePerLabel: claims have labels under their present names only. Under another one a requirement
// would find no label, so that nothing could be launched for the pool, and every node of it had drifted.
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

// TestAClassThatCanNotBeUsedSaysWhy is about what the kinds' validation leaves to the actuator.
func TestAClassThatCanNotBeUsedSaysWhy(t *testing.T) {
	for name, tt := range map[string]struct {
		spec map[string]any
		want string
	}{
		"podsPerCore on Bottlerocket": {map[string]any{"kubelet": map[string]any{"podsPerCore": int64(4)}}, "UnsupportedKubeletConfiguration"},
		"a disk without a volume":     {map[string]any{"blockDeviceMappings": []any{map[string]any{"deviceName": "/dev/xvda"}}}, "InvalidSpec"},
		"nothing wrong":               {nil, ""},
	} {
		spec := map[string]any{
			"role": "nodes", "amiSelectorTerms": []any{map[string]any{"alias": "bottlerocket@latest"}},
			"subnetSelectorTerms": []any{map[string]any{"id": "subnet-1"}}, "securityGroupSelectorTerms": []any{map[string]any{"id": "sg-1"}},
		}
		maps.Copy(spec, tt.spec)
		got := Class(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "default"}, "spec": spec,
		}})
		if got.InvalidWhy != tt.want || got.Invalid.OK() != (tt.want == "") {
			t.Errorf("%s: %q, %+v; want %q", name, got.InvalidWhy, got.Invalid, tt.want)
		}
	}
}
