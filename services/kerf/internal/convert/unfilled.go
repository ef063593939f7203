package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
)

// Unfilled says which pools and classes have variables that a program should have filled in, in fields that no plan depends
// on: in others they are wrong values, and errors.
func Unfilled(objects []runtime.Object) (notes []string) {
	for _, o := range objects {
		switch o.(type) {
		case *karpenterv1.NodePool, *awsv1.EC2NodeClass:
		default:
			continue
		}
		var tree struct {
			Spec map[string]any `json:"spec"`
		}
		text, err := json.Marshal(o)
		if err != nil || json.Unmarshal(text, &tree) != nil {
			continue
		}
		delete(tree.Spec, "userData") // a script has variables of its own
		if paths, what := variables(tree.Spec, "spec"); len(paths) > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s: %s; the plan does not depend on it", TitleOf(o), few(paths), strings.TrimPrefix(what, "; ")))
		}
	}
	return notes
}

// variables are the fields with such a value, in their order, and what is said of the first.
func variables(value any, path string) (paths []string, what string) {
	add := func(v any, at string) {
		more, said := variables(v, at)
		if what == "" {
			what = said
		}
		paths = append(paths, more...)
	}
	switch v := value.(type) {
	case string:
		if what = template.Unfilled(v); what != "" {
			return []string{path}, what
		}
	case []any:
		for i, item := range v {
			add(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			add(v[key], path+"."+key)
			if said := template.Unfilled(key); said != "" {
				paths, what = append(paths, path+"."+key), said
			}
		}
	}
	return paths, what
}
