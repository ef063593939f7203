package validation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	content "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

const maxValues = 1000

// Requirements is everything that is wrong with a list of requirements
// that all must hold, together with a template's labels (nil for none):
// each entry for itself, and entries that contradict each other.
func Requirements(rs []karpenterv1.Requirement, template map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(rs) > maxRequirements {
		errs = append(errs, field.TooMany(path, len(rs), maxRequirements))
	}
	for i := range rs {
		errs = append(errs, validateRequirement(&rs[i], path.Index(i))...)
	}
	if len(errs) > 0 {
		return errs // whether broken entries contradict each other means nothing
	}
	return impossible(rs, template, path)
}

func validateRequirement(r *karpenterv1.Requirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range content.IsQualifiedName(r.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), r.Key, problem))
	}
	if why := restrictedLabel(r.Key); why != "" {
		errs = append(errs, field.Forbidden(path.Child("key"), r.Key+": "+why+": remove the requirement"))
	}
	if len(r.Values) > maxValues {
		errs = append(errs, field.TooMany(path.Child("values"), len(r.Values), maxValues))
	}
	for i, v := range r.Values {
		for _, problem := range content.IsValidLabelValue(v) {
			errs = append(errs, field.Invalid(path.Child("values").Index(i), v, problem))
		}
	}
	if r.MinValues != nil && (*r.MinValues < 1 || *r.MinValues > maxMinValues) {
		errs = append(errs, field.Invalid(path.Child("minValues"), *r.MinValues, "want 1 to 50"))
	}
	errs = append(errs, validateOperator(r, path)...)
	return append(errs, validateCapacityTypes(r, path.Child("values"))...)
}

func validateOperator(r *karpenterv1.Requirement, path *field.Path) field.ErrorList {
	values := path.Child("values")
	switch r.Operator {
	case karpenterv1.OpIn:
		if len(r.Values) == 0 {
			return field.ErrorList{field.Required(values, "operator In needs at least one value")}
		}
		if r.MinValues != nil && len(r.Values) < int(*r.MinValues) {
			return field.ErrorList{field.Invalid(path.Child("minValues"), *r.MinValues,
				fmt.Sprintf("only %d values are listed: list more or lower minValues", len(r.Values)))}
		}
	case karpenterv1.OpGt, karpenterv1.OpLt, karpenterv1.OpGte, karpenterv1.OpLte:
		if len(r.Values) != 1 {
			return field.ErrorList{field.Invalid(values, strings.Join(r.Values, ","),
				fmt.Sprintf("operator %s needs exactly one value", r.Operator))}
		}
		if _, ok := wholeNumber(r.Values[0]); !ok {
			return field.ErrorList{field.Invalid(values.Index(0), r.Values[0],
				fmt.Sprintf("operator %s needs a whole number that is not negative", r.Operator))}
		}
	case karpenterv1.OpNotIn, karpenterv1.OpExists, karpenterv1.OpDoesNotExist: // values are allowed, as the API server allows them
	default:
		return field.ErrorList{field.NotSupported(path.Child("operator"), r.Operator,
			[]karpenterv1.Operator{karpenterv1.OpIn, karpenterv1.OpNotIn, karpenterv1.OpExists, karpenterv1.OpDoesNotExist, karpenterv1.OpGt, karpenterv1.OpLt, karpenterv1.OpGte, karpenterv1.OpLte})}
	}
	return nil
}

// validateCapacityTypes refuses a list of capacity types of which none exists. One
// that exists beside others that don't is enough, as it is in Karpenter.
func validateCapacityTypes(r *karpenterv1.Requirement, path *field.Path) field.ErrorList {
	if r.Key != labels.CapacityType || r.Operator != karpenterv1.OpIn || len(r.Values) == 0 {
		return nil
	}
	known := 0
	for _, v := range r.Values {
		if v == karpenterv1.CapacityTypeSpot || v == karpenterv1.CapacityTypeOnDemand || v == karpenterv1.CapacityTypeReserved {
			known++
		}
	}
	if known == 0 {
		return field.ErrorList{field.NotSupported(path, strings.Join(r.Values, ","),
			[]string{karpenterv1.CapacityTypeOnDemand, karpenterv1.CapacityTypeReserved, karpenterv1.CapacityTypeSpot})}
	}
	if r.MinValues != nil && known < int(*r.MinValues) {
		return field.ErrorList{field.Invalid(path, strings.Join(r.Values, ","),
			fmt.Sprintf("only %d of them exist, and minValues wants %d", known, *r.MinValues))}
	}
	return nil
}

// allowed is what all entries for one key leave together.
type allowed struct {
	in      map[string]bool // nil: any value
	notIn   map[string]bool
	least   int64
	most    int64
	bounded bool // a value must be a number between least and most
	absent  bool // some entry wants the label not to exist
	present bool // some entry wants it to exist
	minimum int32
	entries []int // indexes of the entries, for the message
	label   string
}

// impossible finds keys whose entries no value can satisfy together.
func impossible(rs []karpenterv1.Requirement, template map[string]string, path *field.Path) field.ErrorList {
	byKey := map[string]*allowed{}
	for i := range rs {
		key := labels.Normal(rs[i].Key)
		a := byKey[key]
		if a == nil {
			a = &allowed{notIn: map[string]bool{}, most: math.MaxInt64}
			byKey[key] = a
		}
		a.add(&rs[i], i)
	}
	for key, value := range template {
		if a := byKey[labels.Normal(key)]; a != nil {
			a.intersect([]string{value})
			a.label = value
		}
	}
	var errs field.ErrorList
	for _, key := range sortedKeys(byKey) {
		a := byKey[key]
		if why := a.contradiction(); why != "" {
			errs = append(errs, field.Invalid(path, key, fmt.Sprintf("impossible: %s: %s", a.describe(rs), why)))
		}
	}
	return errs
}

func (a *allowed) add(r *karpenterv1.Requirement, index int) {
	a.entries = append(a.entries, index)
	if r.MinValues != nil {
		a.minimum = max(a.minimum, *r.MinValues)
	}
	switch r.Operator {
	case karpenterv1.OpIn:
		a.intersect(r.Values)
	case karpenterv1.OpNotIn:
		for _, v := range r.Values {
			a.notIn[v] = true
		}
	case karpenterv1.OpExists:
		a.present = true
	case karpenterv1.OpDoesNotExist:
		a.absent = true
	default:
		a.bound(r)
	}
}

func (a *allowed) intersect(values []string) {
	a.present = true
	next := map[string]bool{}
	for _, v := range values {
		if a.in == nil || a.in[v] {
			next[v] = true
		}
	}
	a.in = next
}

func (a *allowed) bound(r *karpenterv1.Requirement) {
	a.present, a.bounded = true, true
	n, _ := wholeNumber(r.Values[0])
	switch r.Operator {
	case karpenterv1.OpGt:
		if n == math.MaxInt64 {
			a.most = -1 // nothing is greater
			return
		}
		a.least = max(a.least, n+1)
	case karpenterv1.OpGte:
		a.least = max(a.least, n)
	case karpenterv1.OpLt:
		a.most = min(a.most, n-1)
	default:
		a.most = min(a.most, n)
	}
}

// contradiction says why no value is left, or "" when one is.
func (a *allowed) contradiction() string {
	if a.absent && a.present {
		return "the label can't both exist and not exist"
	}
	if a.bounded && a.least > a.most {
		return "no number lies between these bounds"
	}
	if a.in == nil {
		return ""
	}
	left := 0
	for v := range a.in {
		if a.admits(v) {
			left++
		}
	}
	if left == 0 {
		return "no value satisfies all of them"
	}
	if left < int(a.minimum) {
		return fmt.Sprintf("only %d values satisfy all of them, and minValues wants %d", left, a.minimum)
	}
	return ""
}

func (a *allowed) admits(v string) bool {
	if a.notIn[v] {
		return false
	}
	if !a.bounded {
		return true
	}
	n, ok := wholeNumber(v)
	return ok && n >= a.least && n <= a.most
}

func (a *allowed) describe(rs []karpenterv1.Requirement) string {
	const show = 5
	var parts []string
	for _, i := range a.entries {
		values := rs[i].Values
		text := strings.Join(values[:min(len(values), show)], " ")
		if len(values) > show {
			text += fmt.Sprintf(" and %d more", len(values)-show)
		}
		if text != "" {
			text = " [" + text + "]"
		}
		parts = append(parts, fmt.Sprintf("entry %d: %s%s", i, rs[i].Operator, text))
	}
	if a.label != "" {
		parts = append(parts, "the template's label: "+a.label)
	}
	return strings.Join(parts, "; ")
}

// wholeNumber reads digits; a number that is too large counts as the largest.
func wholeNumber(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MaxInt64, true
	}
	return n, true
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
