package kustomize

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatches(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, text string
		want       []string
	}{
		"none":              {"a/kustomization.yaml", `{"resources": ["b.yaml"]}`, nil},
		"of today":          {"a/kustomization.yaml", `{"patches": [{"path": "b.yaml"}, {"patch": "- op: add", "target": {"kind": "Job"}}]}`, []string{"a/b.yaml"}},
		"in another folder": {"./a/prod/kustomization.yml", `{"patches": [{"path": "../b.yaml"}]}`, []string{"a/b.yaml"}},
		"in no folder":      {"kustomization.yaml", `{"patches": [{"path": "./b.yaml"}]}`, []string{"b.yaml"}},
		"on Windows":        {`a\kustomization.yaml`, `{"patches": [{"path": "b.yaml"}]}`, []string{"a/b.yaml"}},
		"of before": {
			"a/kustomization.yaml", `{"patchesStrategicMerge": ["b.yaml", "kind: Job\nspec: {}\n"], "patchesJson6902": [{"path": "c.yaml"}]}`,
			[]string{"a/c.yaml", "a/b.yaml"},
		},
		"settings":  {"a/kustomization.yaml", `{"configurations": ["b.yaml"], "replacements": [{"path": "c.yaml"}]}`, []string{"a/c.yaml", "a/b.yaml"}},
		"something": {"a/kustomization.yaml", `{"patches": "b.yaml"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !IsFile(tt.file) {
				t.Error("it is not taken for a kustomization")
			}
			if diff := cmp.Diff(tt.want, Patches(tt.file, []byte(tt.text))); diff != "" {
				t.Error("-want +got", diff)
			}
		})
	}
	if IsFile("a/values.yaml") {
		t.Error("values are taken for a kustomization")
	}
}
