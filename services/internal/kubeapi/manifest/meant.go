package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// maxNested is how deep fields are looked for.
const maxNested = 6

// meant says which field was meant by an unknown one, where that can be guessed: one whose name is elsewhere in the
// object, or one of a like name in the same place. It begins with what separates it from the problem.
func meant(h header, obj any, path string) string {
	if was := renamed(h, path); was != "" {
		return was
	}
	if h.Kind == karpenterv1.KindNodePool && strings.Contains(path, "aints[") && strings.HasSuffix(path, ".operator") {
		return "; taints have none, tolerations do"
	}
	if slices.Contains([]string{"name", "namespace", "labels", "annotations"}, path) {
		return "; did you mean metadata." + path + "?"
	}
	place, name := unknownIn(reflect.TypeOf(obj), path)
	if place == nil {
		return ""
	}
	if at := elsewhere(reflect.TypeOf(obj), name, maxNested); len(at) == 1 {
		return "; did you mean " + at[0] + "?"
	}
	if question := near.Question(name, fieldNames(place)); question != "" {
		return "; " + question
	}
	return ""
}

// renamed says what became of a field of a pool's older forms; it begins as meant does.
func renamed(h header, path string) string {
	if h.Kind != karpenterv1.KindNodePool {
		return ""
	}
	switch path {
	case "spec.template.spec.kubelet":
		return "; the settings are spec.kubelet of the EC2NodeClass since v1"
	case "spec.template.spec.nodeClassRef.apiVersion":
		return "; since v1 it is group: " + awsv1.Group
	case "spec.limits.resources":
		return "; since v1beta1 what is limited stands right under spec.limits"
	case "spec.ttlSecondsAfterEmpty":
		return "; since v1beta1 it is spec.disruption.consolidateAfter, such as 30s, with consolidationPolicy: WhenEmpty"
	case "spec.ttlSecondsUntilExpired":
		return "; since v1 it is spec.template.spec.expireAfter, such as 720h"
	case "spec.consolidation":
		return "; since v1 it is spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized"
	case "spec.providerRef":
		return "; since v1beta1 it is spec.template.spec.nodeClassRef"
	default:
		return ""
	}
}

// unknownIn follows a path to the struct that does not know its next field.
func unknownIn(t reflect.Type, path string) (place reflect.Type, name string) {
	for {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Slice:
			_, rest, ok := cutIndex(path)
			if !ok {
				return nil, ""
			}
			t, path = t.Elem(), rest
		case reflect.Struct:
			i := slices.IndexFunc(fieldsOf(t), func(f field) bool {
				_, ok := cutKey(path, f.name)
				return ok
			})
			if i < 0 {
				name, _, _ = strings.Cut(path, ".")
				name, _, _ = strings.Cut(name, "[")
				return t, name
			}
			f := fieldsOf(t)[i]
			path, _ = cutKey(path, f.name)
			t = f.of
		default: // of a map any key may be one
			return nil, ""
		}
	}
}

// field is one of a struct, by its name in manifests.
type field struct {
	name string
	of   reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, field{name, f.Type})
		}
	}
	return out
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for _, f := range fieldsOf(t) {
		out = append(out, f.name)
	}
	return out
}

// elsewhere are the paths of fields of that name, but for those of lists' items and of the metadata that all kinds have.
func elsewhere(t reflect.Type, name string, depth int) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth == 0 {
		return nil
	}
	var out []string
	for _, f := range fieldsOf(t) {
		if f.name == name {
			out = append(out, f.name)
		}
		if f.name == "metadata" || f.name == "status" {
			continue
		}
		for _, at := range elsewhere(f.of, name, depth-1) {
			out = append(out, f.name+"."+at)
		}
	}
	return out
}
