package reader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Requirement reads a pool's or an overlay's requirement. The error begins with the field's path below it.
func Requirement(r karpenterv1.Requirement) (model.Requirement, error) {
	out, problem := requirement(labels.Normal(r.Key), string(r.Operator), r.Values, model.Lte)
	if problem != "" {
		return model.Requirement{}, errors.New(problem)
	}
	if r.MinValues != nil && *r.MinValues > 0 {
		out.MinValues = int(*r.MinValues)
	}
	return out, nil
}

// keyNodeName is the key of requirements on a node's name; the planner's model has the name among a node's labels, under
// this key. No label can be called that.
const keyNodeName = "field:metadata.name"

// NodeTerm reads a node selector term, fields included. The only field that nodes are selected by is their name. The text
// names the first requirement that can't be read, by its path below the term.
func NodeTerm(t corev1.NodeSelectorTerm) (out []model.Requirement, unsupported string) {
	for i, e := range t.MatchExpressions {
		r, problem := requirement(labels.Normal(e.Key), string(e.Operator), e.Values, model.Lt)
		if problem = cmp.Or(problem, noLabel(r)); problem != "" {
			return nil, fmt.Sprintf("matchExpressions[%d].%s", i, problem)
		}
		out = append(out, r)
	}
	for i, f := range t.MatchFields {
		path := fmt.Sprintf("matchFields[%d]", i)
		op, _ := model.ParseOperator(string(f.Operator))
		switch {
		case f.Key != metav1.ObjectNameField:
			return nil, fmt.Sprintf("%s.key: %q is not a field that nodes are selected by; want metadata.name", path, f.Key)
		case op != model.In && op != model.NotIn:
			return nil, fmt.Sprintf("%s.operator: %q is not one that fields are compared by; want In or NotIn", path, f.Operator)
		case len(f.Values) != 1:
			return nil, fmt.Sprintf("%s.values: are %d; a field is compared with exactly one", path, len(f.Values))
		}
		out = append(out, model.Requirement{Key: keyNodeName, Operator: op, Values: slices.Clone(f.Values)})
	}
	SortRequirements(out)
	return out, ""
}

// Selector reads a label selector; nil stays nil, and an empty one selects everything. The text names the first
// requirement that can't be read, by its path below the selector.
func Selector(s *metav1.LabelSelector) (out *model.Selector, unsupported string) {
	if s == nil {
		return nil, ""
	}
	out = &model.Selector{}
	for k, v := range s.MatchLabels {
		out.Requirements = append(out.Requirements, In(k, v))
	}
	for i, e := range s.MatchExpressions {
		r, problem := requirement(e.Key, string(e.Operator), e.Values, model.DoesNotExist)
		if problem = cmp.Or(problem, noLabel(r)); problem != "" {
			return nil, fmt.Sprintf("matchExpressions[%d].%s", i, problem)
		}
		out.Requirements = append(out.Requirements, r)
	}
	out.Requirements = normal(out.Requirements)
	return out, ""
}

// WithKeys narrows a selector to pods that have (or have not) the given pod's values of some labels. The API server has
// mostly done so already, and doing it twice changes nothing.
func WithKeys(s *model.Selector, op model.Operator, keys []string, labels map[string]string) {
	if s == nil {
		return
	}
	for _, k := range keys {
		if v, ok := labels[k]; ok {
			s.Requirements = append(s.Requirements, model.Requirement{Key: k, Operator: op, Values: []string{v}})
		}
	}
	s.Requirements = normal(s.Requirements)
}

// In is the requirement that a label has one of the values.
func In(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: SortedSet(values)}
}

// SortRequirements puts requirements that all must hold into their canonical order.
func SortRequirements(list []model.Requirement) { slices.SortFunc(list, model.Requirement.Compare) }

// normal sorts requirements and drops repeats.
func normal(list []model.Requirement) []model.Requirement {
	SortRequirements(list)
	return slices.CompactFunc(list, func(a, b model.Requirement) bool { return a.Compare(b) == 0 })
}

// SortedSet is the values in order, each once.
func SortedSet(values []string) []string { return slices.Compact(slices.Sorted(slices.Values(values))) }

// requirement reads what all requirements have in common; last is the last operator that there is for them. The text says
// what no requirement may look like, by the field's path below it.
func requirement(key, operator string, values []string, last model.Operator) (out model.Requirement, problem string) {
	op, ok := model.ParseOperator(operator)
	if !ok || op > last {
		return out, fmt.Sprintf("operator: %q is none of %s", operator, operators(last))
	}
	out = model.Requirement{Key: key, Operator: op}
	switch op {
	case model.In, model.NotIn:
		if out.Values = SortedSet(values); len(values) == 0 {
			return out, "values: are missing; want at least one"
		}
	case model.Gt, model.Lt, model.Gte, model.Lte:
		if out.Values = slices.Clone(values); len(values) != 1 || !isInteger(values[0]) {
			return out, "values: want one whole number"
		}
	case model.Exists, model.DoesNotExist: // have no values
	}
	if key == "" {
		return out, "key: is missing"
	}
	return out, ""
}

// operators are those that there are, in words; last is the last of them.
func operators(last model.Operator) string {
	var words []string
	for op := model.In; op <= last; op++ {
		words = append(words, op.String())
	}
	return strings.Join(words, ", ")
}

// noLabel says which value no label can have. The scheduler can't read such a requirement, whatever its operator.
func noLabel(r model.Requirement) (problem string) {
	for _, v := range r.Values {
		if len(validation.IsValidLabelValue(v)) > 0 {
			return fmt.Sprintf("values: %q is no value of a label", v)
		}
	}
	return ""
}

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}
