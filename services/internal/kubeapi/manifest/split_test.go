package manifest_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

// TestDocumentsThatSayNull are empty, as kubectl has them.
func TestDocumentsThatSayNull(t *testing.T) {
	t.Parallel()
	objects, warnings, err := manifest.Decode(strings.NewReader("---\nnull\n---\n~\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), "f.yaml")
	if err != nil || len(objects) != 1 || len(warnings) != 0 {
		t.Errorf("%d objects, warnings %v, error %v", len(objects), warnings, err)
	}
}

// TestNoDocumentIsLost to how its file was written: by old editors, or by putting files with byte order marks together.
func TestNoDocumentIsLost(t *testing.T) {
	t.Parallel()
	const a, b = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n"
	for name, text := range map[string]string{
		"lines that end as usual":            a + "---\n" + b,
		"carriage returns alone":             strings.ReplaceAll(a+"---\n"+b, "\n", "\r"),
		"carriage returns and line feeds":    strings.ReplaceAll(a+"---\n"+b, "\n", "\r\n"),
		"a byte order mark before an object": a + "---\n\ufeff" + b,
		"a byte order mark before a marker":  "\ufeff" + a + "\ufeff---\n" + b,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, warnings, err := manifest.Decode(strings.NewReader(text), "f.yaml")
			if err != nil || len(objects) != 2 || len(warnings) != 0 {
				t.Errorf("%d objects, warnings %v, error %v", len(objects), warnings, err)
			}
		})
	}
}

// TestMergeKeysRepeatNothing: a field that stands beside a merge key has its own value. What is there twice is told.
func TestMergeKeysRepeatNothing(t *testing.T) {
	t.Parallel()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - &base {name: a, image: x, tty: true}\n  - {<<: *base, name: b"
	for name, tt := range map[string]struct{ text, problem string }{
		"a field that takes the place of another": {pod + "}\n", ""},
		"a field that is there twice besides":     {pod + ", image: y, image: z}\n", "already set in map"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, warnings, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if c := objects[0].(*corev1.Pod).Spec.Containers[1]; c.Name != "b" || !c.TTY {
				t.Errorf("merged to %v", c)
			}
			if (tt.problem == "") != (len(warnings) == 0) {
				t.Errorf("warnings %v", warnings)
			}
			_, _, err = manifest.Options{Strict: true}.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tt.text)})
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("strictly: %v, want %q", err, tt.problem)
			}
		})
	}
}

// TestWhatIsNoYAMLMayBeMeantForOthers: what fills it in, or what is missing, is told.
func TestWhatIsNoYAMLMayBeMeantForOthers(t *testing.T) {
	t.Parallel()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n"
	for name, tt := range map[string]struct {
		text, problem string
		skipped       bool // where it is found in a folder
	}{
		"a chart's":              {pod + "    {{- toYaml .Values.labels }}\n", "helm template", true},
		"lines of Terraform":     {pod + "    ${indent(4, yamlencode(labels))}\n    tier: a\n", "templatefile", true},
		"conditions of it":       {pod + "%{ if team != \"\" ~}\n    team: ${team}\n%{ endif ~}\n", "templatefile", true},
		"a list of Terraform's":  {pod + "    tier: a\nspec: {nodeSelector: {a: [${zones}]}}\n", "templatefile", true},
		"a script's":             {pod + "    tier: a\n__MORE_LABELS__\nspec: {}\n", "__MORE_LABELS__ was not filled in", false},
		"an excerpt":             {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  ...\n  nodeName: b\n", "left out", false},
		"an excerpt of a page":   {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n…\n  nodeName: b\n", "left out", false},
		"indented with a tab":    {pod + "\t\tteam: a\n", "a line begins with a tab", false},
		"something else, broken": {pod + "    a: b: c\n", "mapping values are not allowed in this context", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := manifest.Decode(strings.NewReader(tt.text), "f.yaml")
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			_, warnings, err := manifest.Read(manifest.Source{Name: "f.yaml", Reader: strings.NewReader(tt.text), Found: true})
			if (err == nil) != tt.skipped || tt.skipped && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), tt.problem)) {
				t.Errorf("in a folder: warnings %v, error %v", warnings, err)
			}
		})
	}
}
