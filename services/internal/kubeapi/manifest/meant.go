package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/fields"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/renames"
)

// maxNested is how deep fields are looked for.
const maxNested = 6

// meant says which field was meant by an unknown one, where that can be guessed: one whose name is elsewhere in the
// object, or one of a like name in the same place. It begins with what separates it from the problem.
func meant(h header, obj any, path string) string {
	if was := renames.Of(h.Kind, path); was != "" {
		return was
	}
	if h.Kind == karpenterv1.KindNodePool && strings.Contains(path, "aints[") && strings.HasSuffix(path, ".operator") {
		return "; taints have none, tolerations do"
	}
	if slices.Contains([]string{"name", "namespace", "labels", "annotations"}, path) {
		return "; did you mean metadata." + path + "?"
	}
	place, name := fields.Unknown(reflect.TypeOf(obj), path)
	if place == nil {
		return ""
	}
	if at := fields.Elsewhere(reflect.TypeOf(obj), name, maxNested); len(at) == 1 {
		return "; did you mean " + at[0] + "?"
	}
	if question := near.Question(name, fields.Names(place)); question != "" {
		return "; " + question
	}
	return ""
}
