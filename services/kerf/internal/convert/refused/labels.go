package refused

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/manifest/template"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Labels is what is wrong with labels, or with a selector of nodes by them, a line each; at is the path of that.
func Labels(at string, own map[string]string) (problems []string) {
	for _, key := range slices.Sorted(maps.Keys(own)) {
		for _, problem := range []string{labelKey(key), labelValue(own[key])} {
			if problem != "" {
				problems = append(problems, fmt.Sprintf("%s[%s]: %s%s", at, key, problem, ByServer))
			}
		}
	}
	return problems
}

// labelKey says what is wrong with the key of a label; "" for nothing.
func labelKey(key string) string {
	if len(validation.IsQualifiedName(key)) == 0 {
		return ""
	}
	return fmt.Sprintf("%q is no key of a label; want one such as team or example.com/team", key) + template.Unfilled(key)
}

// labelValue says what is wrong with the value of a label; "" for nothing.
func labelValue(v string) string {
	if len(validation.IsValidLabelValue(v)) == 0 {
		return ""
	}
	return fmt.Sprintf("%q is no value of a label; want at most %d letters, digits, -, _ and ., with a letter or a digit at both ends",
		v, validation.LabelValueMaxLength) + template.Unfilled(v)
}

// Selector is what is wrong with the selector by which a workload finds its pods, which have these labels.
func Selector(s *metav1.LabelSelector, own map[string]string) []string {
	selector, _ := metav1.LabelSelectorAsSelector(s)
	at, problem := unreadable("spec.selector", s)
	switch {
	case problem != "":
		return []string{at + ": " + problem + ByServer}
	case s == nil || selector.Empty():
		return []string{"spec.selector: is missing" + ByServer}
	case !selector.Matches(labels.Set(own)):
		return []string{"spec.selector: does not select the labels of spec.template" + ByServer}
	default:
		return nil
	}
}

// unreadable is what is wrong with a selector of pods or namespaces, and where at or below its field; "" for nothing.
func unreadable(field string, s *metav1.LabelSelector) (at, problem string) {
	_, err := metav1.LabelSelectorAsSelector(s)
	if err == nil {
		return field, ""
	}
	if _, bad := reader.Selector(s); bad != "" { // it says where, and what would be right
		below, problem, _ := strings.Cut(bad, ": ")
		return field + "." + below, problem
	}
	return field, err.Error()
}

// nodeLabels are the labels by which a pod says where it may run.
func nodeLabels(at string, spec *corev1.PodSpec) []string {
	problems := Labels(at+".nodeSelector", spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return problems
	}
	at += ".affinity.nodeAffinity."
	if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for i, t := range required.NodeSelectorTerms {
			problems = append(problems, nodeTerm(fmt.Sprintf("%srequiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d]", at, i), t, true)...)
		}
	}
	for i, t := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		problems = append(problems, nodeTerm(fmt.Sprintf("%spreferredDuringSchedulingIgnoredDuringExecution[%d].preference", at, i), t.Preference, false)...)
	}
	return problems
}

// nodeTerm looks at keys and values alone: what no node can be compared with keeps its pod pending, and is told there.
// Of what is preferred the API server takes any value.
func nodeTerm(at string, t corev1.NodeSelectorTerm, required bool) (problems []string) {
	for i, e := range t.MatchExpressions {
		here := fmt.Sprintf("%s.matchExpressions[%d].", at, i)
		if problem := labelKey(e.Key); e.Key != "" && problem != "" {
			problems = append(problems, here+"key: "+problem+ByServer)
		}
		for k, v := range e.Values {
			if problem := labelValue(v); required && problem != "" {
				problems = append(problems, fmt.Sprintf("%svalues[%d]: %s%s", here, k, problem, ByServer))
			}
		}
	}
	return problems
}

// podTerms looks at the selectors of pods beside which a pod may run, or may not.
func podTerms(at string, a *corev1.Affinity) (problems []string) {
	if a == nil {
		return nil
	}
	check := func(path string, t corev1.PodAffinityTerm) {
		for _, s := range []struct {
			field    string
			selector *metav1.LabelSelector
		}{{"labelSelector", t.LabelSelector}, {"namespaceSelector", t.NamespaceSelector}} {
			if field, problem := unreadable(s.field, s.selector); problem != "" {
				problems = append(problems, fmt.Sprintf("%s.%s.%s: %s%s", at, path, field, problem, ByServer))
			}
		}
	}
	both := func(kind string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i, t := range required {
			check(fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", kind, i), t)
		}
		for i, t := range preferred {
			check(fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d].podAffinityTerm", kind, i), t.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		both("podAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		both("podAntiAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return problems
}
