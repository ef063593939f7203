package offline_test

import (
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
	"github.com/kerf-dev/kerf/services/kerf/internal/offline"
)

// TestNamesThatNoServerTakesAreRefused has an object of a kind of Kerf's and one of Kubernetes', each with its file.
func TestNamesThatNoServerTakesAreRefused(t *testing.T) {
	t.Parallel()
	files := []offline.File{
		{Name: "pool.yaml", Data: []byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: My_Pool}\n" +
			"spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}}}\n")},
		{Name: "pod.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: \"${APP}\", namespace: shop}\nspec: {containers: [{name: c}]}\n")},
		{Name: "job.yaml", Data: []byte("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: \"${RUN}\"}\nspec: {replicatedJobs: [{name: a}]}\n")},
		{Name: "part.yaml", Found: true, Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: A_1, namespace: shop}\nspec: {containers: [{name: c}]}\n---\nvalues: {a: b}\n")},
	}
	_, _, err := offline.Objects(files, manifest.Options{Assume: true})
	for _, want := range []string{
		`pool.yaml: NodePool My_Pool: metadata.name: Invalid value: "My_Pool"`, "my-pool would do",
		`pod.yaml: Pod shop/${APP}: metadata.name: Invalid value: "${APP}"`, "was not filled in",
		`part.yaml: Pod shop/A_1: metadata.name: Invalid value: "A_1"`,        // beside what is no manifest, in a folder
		`job.yaml: JobSet ${RUN}-a: metadata.name: Invalid value: "${RUN}-a"`, // of another project's, read for its pods
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
