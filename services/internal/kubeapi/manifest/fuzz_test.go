package manifest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest"
)

// problems are all *Errors that an error joins.
func problems(err error) []*manifest.Error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*manifest.Error
		for _, e := range many.Unwrap() {
			out = append(out, problems(e)...)
		}
		return out
	}
	if one, ok := errors.AsType[*manifest.Error](err); ok {
		return []*manifest.Error{one}
	}
	return nil
}

// FuzzRead reads two sources as one input. Whatever stands there, nothing panics; each problem says where it is and what
// is wrong; and what is taken is complete, unique and can be checked.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(examples, "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, text)
	}
	for i, text := range texts {
		f.Add(text, texts[(i+1)%len(texts)])
	}
	f.Add([]byte(fullPool), []byte(oldest))
	f.Add([]byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},7]}`), []byte("---\n# nothing\n"))
	f.Add([]byte("kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{name: a, resources: {requests: {cpu: x}}}]}\n"), []byte("a: b: c"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		objects, warnings, err := manifest.Read(
			manifest.Source{Name: "a.yaml", Reader: bytes.NewReader(first)}, manifest.Source{Name: "b.yaml", Reader: bytes.NewReader(second)})
		if err != nil && objects != nil {
			t.Fatal("objects beside an error")
		}
		if err != nil {
			told(t, err)
			return
		}
		for _, w := range warnings {
			ofSource := slices.ContainsFunc([]string{"skipped, because ", "not planned for, though ", "not looked at: "}, func(begin string) bool {
				return strings.HasPrefix(w.Message, begin) // one for all that is skipped in it
			})
			if w.Place.Source == "" || w.Place.Document == 0 && !ofSource || w.Message == "" {
				t.Fatalf("an incomplete warning: %+v", w)
			}
		}
		seen := map[string]bool{}
		for _, obj := range objects {
			accessor, err := meta.Accessor(obj)
			kind := obj.GetObjectKind().GroupVersionKind()
			if err != nil || accessor.GetName() == "" || kind.Kind == "" || kind.Version == "" {
				t.Fatalf("an incomplete object: %v %v", kind, err)
			}
			id := strings.Join([]string{kind.GroupKind().String(), accessor.GetNamespace(), accessor.GetName()}, "|")
			if seen[id] {
				t.Fatalf("%s is there twice", id)
			}
			seen[id] = true
			kubeapi.SetDefaults(obj)
			if err := kubeapi.Validate(obj); err != nil && !strings.Contains(err.Error(), accessor.GetName()) {
				t.Fatalf("what is wrong with %s does not name it: %v", id, err)
			}
		}
	})
}

// told checks that each problem says where it stands, and what it is about as far as that can be told.
func told(t *testing.T, err error) {
	t.Helper()
	all := problems(err)
	if len(all) == 0 {
		t.Fatalf("an error of no kind: %v", err)
	}
	for _, p := range all {
		if p.Place.Source != "a.yaml" && p.Place.Source != "b.yaml" || p.Problem == "" {
			t.Fatalf("an incomplete problem: %+v", p)
		}
		unnamed := strings.HasPrefix(p.Problem, "not YAML") || strings.HasPrefix(p.Problem, "not a Kubernetes object") || p.Place.Document == 0
		if p.Object == "" && !unnamed {
			t.Fatalf("a problem without its object: %+v", p)
		}
		if p.Place.Document > 0 && p.Place.Line == 0 {
			t.Fatalf("a problem without its line: %+v", p)
		}
	}
}
