package offline_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// TestNamesThatNoServerTakesAreRefused has an object of a kind of Kerf's and one of Kubernetes', each with its file.
func TestNamesThatNoServerTakesAreRefused(t *testing.T) {
	files := []offline.File{
		{Name: "pool.yaml", Data: []byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: My_Pool}\n" +
			"spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}}}\n")},
		{Name: "pod.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: \"${APP}\", namespace: shop}\nspec: {containers: [{name: c}]}\n")},
	}
	_, _, err := offline.Objects(files, manifest.Options{Assume: true})
	for _, want := range []string{
		`pool.yaml: NodePool My_Pool: metadata.name: Invalid value: "My_Pool"`, "my-pool would do",
		`pod.yaml: Pod shop/${APP}: metadata.name: Invalid value: "${APP}"`, "was not filled in",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
