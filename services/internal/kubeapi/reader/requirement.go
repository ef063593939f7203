package reader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Requirement reads a pool's or an overlay's requirement. The error begins with the field's path below it.
func Requirement(r karpenterv1.Requirement) (model.Requirement, error) {
	op, ok := operator(r.Operator)
	if !ok {
		return model.Requirement{}, fmt.Errorf("operator: %q is not known", r.Operator)
	}
	out := model.Requirement{Key: labels.Normal(r.Key), Operator: op}
	if r.MinValues != nil && *r.MinValues > 0 {
		out.MinValues = int(*r.MinValues)
	}
	if op != model.Exists && op != model.DoesNotExist {
		out.Values = slices.Compact(slices.Sorted(slices.Values(r.Values)))
	}
	if problem := malformed(out); problem != "" {
		return model.Requirement{}, errors.New(problem)
	}
	return out, nil
}

// SortRequirements puts requirements that all must hold into their canonical order.
func SortRequirements(list []model.Requirement) {
	slices.SortFunc(list, func(a, b model.Requirement) int {
		return cmp.Or(
			strings.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator),
			slices.Compare(a.Values, b.Values), cmp.Compare(a.MinValues, b.MinValues))
	})
}

// malformed says what no requirement may look like, by the field's path below it.
func malformed(r model.Requirement) string {
	switch r.Operator {
	case model.In, model.NotIn:
		if len(r.Values) == 0 {
			return "values: are missing; want at least one"
		}
	case model.Gt, model.Lt, model.Gte, model.Lte:
		if len(r.Values) != 1 || !isInteger(r.Values[0]) {
			return "values: want one whole number"
		}
	case model.Exists, model.DoesNotExist: // have no values
	}
	if r.Key == "" {
		return "key: is missing"
	}
	return ""
}

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func operator(op karpenterv1.Operator) (model.Operator, bool) {
	for known := model.In; known <= model.Lte; known++ { // the model writes operators as Kubernetes does
		if known.String() == string(op) {
			return known, true
		}
	}
	return 0, false
}
