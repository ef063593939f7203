package reader

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Taints reads taints, sorted by key and effect. One with an effect that is not known is left out: the scheduler ignores
// it too. So are those without a key, and the second one of a key and effect, which the API server refuses.
func Taints(taints []corev1.Taint) []model.Taint {
	var out []model.Taint
	for _, t := range taints {
		if e, ok := model.ParseTaintEffect(string(t.Effect)); ok && t.Key != "" {
			out = append(out, model.Taint{Key: t.Key, Value: t.Value, Effect: e})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Taint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	return slices.CompactFunc(out, func(a, b model.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect })
}

// Tolerations reads a pod's tolerations, sorted and without repeats, so that their order does not make classes. The text
// names the first one that can't be read, by its path in the pod.
func Tolerations(list []corev1.Toleration) (out []model.Toleration, unsupported string) {
	for i, t := range list {
		path := fmt.Sprintf("spec.tolerations[%d]", i)
		effect, known := model.ParseTaintEffect(string(t.Effect))
		c := model.Toleration{Key: t.Key, Value: t.Value, Effect: effect}
		switch t.Operator {
		case corev1.TolerationOpExists:
			c.Exists, c.Value = true, ""
		case corev1.TolerationOpEqual, "":
		default:
			return nil, fmt.Sprintf("%s.operator: %q is not planned for; want Equal or Exists", path, t.Operator)
		}
		if t.Key == "" && !c.Exists {
			return nil, path + ".key: is missing, which only operator Exists allows"
		}
		if t.Effect != "" && !known {
			return nil, fmt.Sprintf("%s.effect: %q is not known", path, t.Effect)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, compareTolerations)
	return slices.Compact(out), ""
}

func compareTolerations(a, b model.Toleration) int {
	exists := 0
	if a.Exists != b.Exists {
		exists = -1
		if a.Exists {
			exists = 1
		}
	}
	return cmp.Or(strings.Compare(a.Key, b.Key), exists, strings.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
}
