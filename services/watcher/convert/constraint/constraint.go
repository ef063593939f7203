// Package constraint reads the constraints that several Kubernetes objects write alike: node selector terms, label
// selectors and tolerations, as messages in their canonical order.
//
// What can't be read is a text that names the field, below the path that the caller knows. It must never know which
// object a constraint is part of. Start reading at NodeTerm and Selector.
package constraint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func nodeOperator(op corev1.NodeSelectorOperator) clusterpb.Operator {
	switch op {
	case corev1.NodeSelectorOpIn:
		return clusterpb.Operator_OPERATOR_IN
	case corev1.NodeSelectorOpNotIn:
		return clusterpb.Operator_OPERATOR_NOT_IN
	case corev1.NodeSelectorOpExists:
		return clusterpb.Operator_OPERATOR_EXISTS
	case corev1.NodeSelectorOpDoesNotExist:
		return clusterpb.Operator_OPERATOR_DOES_NOT_EXIST
	case corev1.NodeSelectorOpGt:
		return clusterpb.Operator_OPERATOR_GT
	case corev1.NodeSelectorOpLt:
		return clusterpb.Operator_OPERATOR_LT
	default:
		return clusterpb.Operator_OPERATOR_UNSPECIFIED
	}
}

// nodeRequirements converts the label expressions of a node selector term. The text names the first one that can't be
// converted, by its path below the term.
func nodeRequirements(exprs []corev1.NodeSelectorRequirement) (out []*clusterpb.Requirement, unsupported string) {
	for i, e := range exprs {
		path := fmt.Sprintf("matchExpressions[%d]", i)
		r := &clusterpb.Requirement{Key: labels.Normal(e.Key), Operator: nodeOperator(e.Operator)}
		switch r.GetOperator() {
		case clusterpb.Operator_OPERATOR_UNSPECIFIED:
			return nil, fmt.Sprintf("%s.operator: %q is not known", path, e.Operator)
		case clusterpb.Operator_OPERATOR_IN, clusterpb.Operator_OPERATOR_NOT_IN:
			r.Values = SortedSet(e.Values)
		case clusterpb.Operator_OPERATOR_GT, clusterpb.Operator_OPERATOR_LT:
			r.Values = slices.Clone(e.Values)
		default: // EXISTS and DOES_NOT_EXIST have no values
		}
		if bad := malformed(r); bad != "" {
			return nil, path + "." + bad
		}
		out = append(out, r)
	}
	Sort(out)
	return out, ""
}

// keyNodeName is the key of requirements on a node's name; the planner's model has the name among a node's labels, under
// this key. No label can be called that.
const keyNodeName = "field:metadata.name"

// NodeTerm converts a node selector term, fields included. The only field that nodes are selected by is their
// name. The text names the first requirement that can't be converted, by its path below the term.
func NodeTerm(t corev1.NodeSelectorTerm) (out []*clusterpb.Requirement, unsupported string) {
	out, bad := nodeRequirements(t.MatchExpressions)
	if bad != "" {
		return nil, bad
	}
	for i, f := range t.MatchFields {
		path := fmt.Sprintf("matchFields[%d]", i)
		r := &clusterpb.Requirement{Key: keyNodeName, Operator: nodeOperator(f.Operator), Values: SortedSet(f.Values)}
		switch {
		case f.Key != metav1.ObjectNameField:
			return nil, fmt.Sprintf("%s.key: %q is not a field that nodes are selected by; want metadata.name", path, f.Key)
		case r.GetOperator() != clusterpb.Operator_OPERATOR_IN && r.GetOperator() != clusterpb.Operator_OPERATOR_NOT_IN:
			return nil, fmt.Sprintf("%s.operator: %q is not one that fields are compared by; want In or NotIn", path, f.Operator)
		case len(f.Values) != 1:
			return nil, fmt.Sprintf("%s.values: are %d; a field is compared with exactly one", path, len(f.Values))
		}
		out = append(out, r)
	}
	Sort(out)
	return out, ""
}

// Selector converts a label selector; nil stays nil, and an empty one selects everything.
func Selector(s *metav1.LabelSelector) (out *clusterpb.LabelSelector, unsupported string) {
	if s == nil {
		return nil, ""
	}
	out = &clusterpb.LabelSelector{}
	for k, v := range s.MatchLabels {
		out.Requirements = append(out.Requirements, In(k, v))
	}
	for i, e := range s.MatchExpressions {
		r := &clusterpb.Requirement{Key: e.Key}
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			r.Operator, r.Values = clusterpb.Operator_OPERATOR_IN, SortedSet(e.Values)
		case metav1.LabelSelectorOpNotIn:
			r.Operator, r.Values = clusterpb.Operator_OPERATOR_NOT_IN, SortedSet(e.Values)
		case metav1.LabelSelectorOpExists:
			r.Operator = clusterpb.Operator_OPERATOR_EXISTS
		case metav1.LabelSelectorOpDoesNotExist:
			r.Operator = clusterpb.Operator_OPERATOR_DOES_NOT_EXIST
		default:
			return nil, fmt.Sprintf("labelSelector.matchExpressions[%d].operator: %q is not known", i, e.Operator)
		}
		if bad := malformed(r); bad != "" {
			return nil, fmt.Sprintf("labelSelector.matchExpressions[%d].%s", i, bad)
		}
		out.Requirements = append(out.Requirements, r)
	}
	out.Requirements = normal(out.GetRequirements())
	return out, ""
}

// WithKeys narrows a selector to pods that have (or have not) the given pod's values of some labels. The API server has
// mostly done so already, and doing it twice changes nothing.
func WithKeys(s *clusterpb.LabelSelector, keys []string, labels map[string]string, op clusterpb.Operator) {
	if s == nil {
		return
	}
	for _, k := range keys {
		if v, ok := labels[k]; ok {
			s.Requirements = append(s.Requirements, &clusterpb.Requirement{Key: k, Operator: op, Values: []string{v}})
		}
	}
	s.Requirements = normal(s.GetRequirements())
}

func taintEffect(e corev1.TaintEffect) clusterpb.TaintEffect {
	known, _ := reader.TaintEffect(e)
	return clusterpb.TaintEffect(known)
}

// Tolerations converts tolerations, sorted and without repeats, so that their order does not make classes.
func Tolerations(list []corev1.Toleration) (out []*clusterpb.Toleration, unsupported string) {
	for i, t := range list {
		c := &clusterpb.Toleration{Key: t.Key, Value: t.Value, Effect: taintEffect(t.Effect)}
		switch t.Operator {
		case corev1.TolerationOpExists:
			c.Exists, c.Value = true, ""
		case corev1.TolerationOpEqual, "":
		default:
			return nil, fmt.Sprintf("spec.tolerations[%d].operator: %q is not planned for; want Equal or Exists", i, t.Operator)
		}
		if t.Key == "" && !c.GetExists() {
			return nil, fmt.Sprintf("spec.tolerations[%d].key: is missing, which only operator Exists allows", i)
		}
		if t.Effect != "" && c.GetEffect() == clusterpb.TaintEffect_TAINT_EFFECT_UNSPECIFIED {
			return nil, fmt.Sprintf("spec.tolerations[%d].effect: %q is not known", i, t.Effect)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, compareTolerations)
	out = slices.CompactFunc(out, func(a, b *clusterpb.Toleration) bool { return compareTolerations(a, b) == 0 })
	return out, ""
}

func compareTolerations(a, b *clusterpb.Toleration) int {
	return cmp.Or(
		strings.Compare(a.GetKey(), b.GetKey()), compareBools(a.GetExists(), b.GetExists()),
		strings.Compare(a.GetValue(), b.GetValue()), cmp.Compare(a.GetEffect(), b.GetEffect()))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// In is the requirement that a label has one of the values.
func In(key string, values ...string) *clusterpb.Requirement {
	return &clusterpb.Requirement{Key: key, Operator: clusterpb.Operator_OPERATOR_IN, Values: SortedSet(values)}
}

// normal sorts requirements and drops repeats.
func normal(list []*clusterpb.Requirement) []*clusterpb.Requirement {
	Sort(list)
	return slices.CompactFunc(list, func(a, b *clusterpb.Requirement) bool { return Compare(a, b) == 0 })
}

// Sort puts requirements that all must hold into their canonical order.
func Sort(list []*clusterpb.Requirement) { slices.SortFunc(list, Compare) }

// Compare is the canonical order of requirements.
func Compare(a, b *clusterpb.Requirement) int {
	return cmp.Or(
		strings.Compare(a.GetKey(), b.GetKey()), cmp.Compare(a.GetOperator(), b.GetOperator()),
		slices.Compare(a.GetValues(), b.GetValues()), cmp.Compare(a.GetMinValues(), b.GetMinValues()))
}

// SortedSet is the values in order, each once.
func SortedSet(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// malformed says what the contract does not allow about a requirement, by the field's path below it.
func malformed(r *clusterpb.Requirement) string {
	switch r.GetOperator() {
	case clusterpb.Operator_OPERATOR_IN, clusterpb.Operator_OPERATOR_NOT_IN:
		if len(r.GetValues()) == 0 {
			return "values: are missing; want at least one"
		}
	case clusterpb.Operator_OPERATOR_GT, clusterpb.Operator_OPERATOR_LT:
		if len(r.GetValues()) != 1 || !isInteger(r.GetValues()[0]) {
			return "values: want one whole number"
		}
	default: // EXISTS and DOES_NOT_EXIST have no values
	}
	if r.GetKey() == "" {
		return "key: is missing"
	}
	return ""
}
