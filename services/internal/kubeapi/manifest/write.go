package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/runtime"
)

// Encode writes objects as YAML documents that one could apply: without status
// and without what an API server or kubectl adds to metadata. Objects need
// apiVersion and kind, as Read sets them; they are not changed.
func Encode(w io.Writer, objects ...runtime.Object) error {
	for i, obj := range objects {
		text, err := encode(obj)
		if err != nil {
			return fmt.Errorf("write %T: %w", obj, err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("write manifests: %w", err)
		}
	}
	return nil
}

func encode(obj runtime.Object) ([]byte, error) {
	if obj.GetObjectKind().GroupVersionKind().Empty() {
		return nil, fmt.Errorf("apiVersion and kind are not set")
	}
	asJSON, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("to JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	tree := map[string]any{}
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("from JSON: %w", err)
	}
	clean(tree)
	// Not by way of JSON, which is YAML but for what a key of more than 1,024 characters may look like.
	text, err := yaml.Marshal(numbers(tree))
	if err != nil {
		return nil, fmt.Errorf("to YAML: %w", err)
	}
	return text, nil
}

// numbers makes JSON's numbers of a tree those of Go: whole ones where they are.
func numbers(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = numbers(value)
		}
	case []any:
		for i, item := range v {
			v[i] = numbers(item)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // in range, as Go has written it
		return f
	}
	return tree
}

// lastApplied is kubectl's copy of the object that was applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func clean(tree map[string]any) {
	delete(tree, "status")
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		for _, name := range []string{
			"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
			"deletionGracePeriodSeconds", "managedFields", "selfLink",
		} {
			delete(metadata, name)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, lastApplied)
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	}
	prune(tree)
}

// prune removes what Go types write although nothing was said: nulls everywhere,
// and empty objects in fields where empty means unset.
func prune(tree map[string]any) {
	for key, value := range tree {
		switch v := value.(type) {
		case nil:
			delete(tree, key)
		case []any:
			for _, item := range v {
				if inner, ok := item.(map[string]any); ok {
					prune(inner)
				}
			}
		case map[string]any:
			prune(v)
			if len(v) == 0 && emptyMeansUnset(key) {
				delete(tree, key)
			}
		}
	}
}

func emptyMeansUnset(key string) bool {
	switch key {
	case "metadata", "resources", "strategy", "updateStrategy", "status":
		return true
	default:
		return false
	}
}
