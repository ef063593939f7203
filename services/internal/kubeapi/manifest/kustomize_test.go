package manifest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

// TestPatchesAreNoObjects: a folder of bases and overlays has objects, and patches that have their names.
func TestPatchesAreNoObjects(t *testing.T) {
	t.Parallel()
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	var sources []manifest.Source
	for _, f := range []struct{ name, text string }{
		{"k8s/base/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n"},
		{"k8s/base/web.yaml", web + "spec: {replicas: 3}\n"},
		{"k8s/prod/a.yaml", web + "spec: {replicas: 9}\n"},
		{"k8s/prod/kustomization.yaml", "kind: Kustomization\nresources: [../base]\npatches: [{path: a.yaml}]\n"},
	} {
		sources = append(sources, manifest.Source{Name: f.name, Reader: strings.NewReader(f.text), Found: true})
	}
	objects, warnings, err := manifest.Options{Assume: true}.Read(sources...)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, error %v", len(objects), err)
	}
	if n := objects[0].(*appsv1.Deployment).Spec.Replicas; n == nil || *n != 3 {
		t.Errorf("%v replicas, want those of the base", n)
	}
	var said []string
	for _, w := range warnings {
		said = append(said, w.String())
	}
	for _, want := range []string{
		"k8s/prod/a.yaml: skipped: a patch for kustomize: k8s/prod/kustomization.yaml changes other objects with it",
		"kustomize build k8s/prod | kerf plan -f -",
	} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
}
