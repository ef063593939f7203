// Package variables finds variables that a program should have filled in, where no plan depends on them: in other
// fields they are wrong values, and errors.
//
// It looks at values alone, and knows of an object no more than its name. Start reading at Notes.
package variables

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
	"github.com/kerf-dev/kerf/services/kerf/internal/convert"
)

// Notes says which pools and classes have such variables, a line each.
func Notes(objects []runtime.Object) (notes []string) {
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
		if paths, what := find(tree.Spec, "spec"); len(paths) > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s: %s; the plan does not depend on it", convert.TitleOf(o), first(paths), strings.TrimPrefix(what, "; ")))
		}
	}
	return notes
}

// find finds the fields with such a value, in their order, and what is said of the first.
func find(value any, path string) (paths []string, what string) {
	add := func(v any, at string) {
		more, said := find(v, at)
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
			at := path + "." + key
			said := template.Unfilled(key)
			if said == "" {
				add(v[key], at)
				continue
			}
			if what == "" { // the field's path names it once, whatever stands in its value
				what = said
			}
			paths = append(paths, at)
		}
	}
	return paths, what
}

// first are the first of the fields, and how many more there are.
func first(paths []string) string {
	const most = 3
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
