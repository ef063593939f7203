package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/fields"
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
