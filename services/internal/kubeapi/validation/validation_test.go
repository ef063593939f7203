package validation_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/validation"
)

func in(key string, values ...string) v1.Requirement {
	return v1.Requirement{Key: key, Operator: v1.OpIn, Values: values}
}

func req(key string, op v1.Operator, values ...string) v1.Requirement {
	return v1.Requirement{Key: key, Operator: op, Values: values}
}

func atLeast(n int32, r v1.Requirement) v1.Requirement {
	r.MinValues = &n
	return r
}

func TestImpossibleRequirementsAreFound(t *testing.T) {
	tests := map[string]struct {
		requirements []v1.Requirement
		labels       map[string]string
		possible     bool
	}{
		"two lists with a value in common":         {requirements: []v1.Requirement{in("a", "x", "y"), in("a", "y", "z")}, possible: true},
		"two lists without":                        {requirements: []v1.Requirement{in("a", "x"), in("a", "z")}},
		"the same under an older name":             {requirements: []v1.Requirement{in("kubernetes.io/arch", "amd64"), in("beta.kubernetes.io/arch", "arm64")}},
		"different keys":                           {requirements: []v1.Requirement{in("a", "x"), in("b", "z")}, possible: true},
		"a list and its complement":                {requirements: []v1.Requirement{in("a", "x"), req("a", v1.OpNotIn, "x")}},
		"a list and a part of its complement":      {requirements: []v1.Requirement{in("a", "x", "y"), req("a", v1.OpNotIn, "x")}, possible: true},
		"a list and absence":                       {requirements: []v1.Requirement{in("a", "x"), req("a", v1.OpDoesNotExist)}},
		"presence and absence":                     {requirements: []v1.Requirement{req("a", v1.OpExists), req("a", v1.OpDoesNotExist)}},
		"an exclusion and absence":                 {requirements: []v1.Requirement{req("a", v1.OpNotIn, "x"), req("a", v1.OpDoesNotExist)}, possible: true},
		"bounds with a number between":             {requirements: []v1.Requirement{req("a", v1.OpGt, "3"), req("a", v1.OpLt, "5")}, possible: true},
		"strict bounds with none":                  {requirements: []v1.Requirement{req("a", v1.OpGt, "3"), req("a", v1.OpLt, "4")}},
		"bounds that touch":                        {requirements: []v1.Requirement{req("a", v1.OpGte, "4"), req("a", v1.OpLte, "4")}, possible: true},
		"less than nothing":                        {requirements: []v1.Requirement{req("a", v1.OpLt, "0")}},
		"a bound and absence":                      {requirements: []v1.Requirement{req("a", v1.OpGt, "3"), req("a", v1.OpDoesNotExist)}},
		"a list with one number in bounds":         {requirements: []v1.Requirement{in("a", "2", "4"), req("a", v1.OpGt, "3")}, possible: true},
		"a list with no number in bounds":          {requirements: []v1.Requirement{in("a", "2", "large"), req("a", v1.OpGt, "3")}},
		"enough values left":                       {requirements: []v1.Requirement{atLeast(2, in("a", "x", "y", "z")), req("a", v1.OpNotIn, "x")}, possible: true},
		"too few values left":                      {requirements: []v1.Requirement{atLeast(3, in("a", "x", "y", "z")), req("a", v1.OpNotIn, "x")}},
		"the template's label against the list":    {requirements: []v1.Requirement{in("a", "x")}, labels: map[string]string{"a": "y"}},
		"the template's label in the list":         {requirements: []v1.Requirement{in("a", "x")}, labels: map[string]string{"a": "x"}, possible: true},
		"a bound larger than any number":           {requirements: []v1.Requirement{req("a", v1.OpGt, "99999999999999999999")}},
		"the same list, one value after the other": {requirements: []v1.Requirement{in("a", "x", "x")}, possible: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			errs := validation.Requirements(tc.requirements, tc.labels, field.NewPath("requirements"))
			if (len(errs) == 0) != tc.possible {
				t.Fatalf("errors: %v, want possible: %v", errs, tc.possible)
			}
			if !tc.possible && !strings.Contains(errs[0].Error(), "impossible") {
				t.Errorf("%v does not say that it is impossible", errs[0])
			}
		})
	}
}

func TestAnImpossibleRequirementNamesItsEntries(t *testing.T) {
	errs := validation.Requirements([]v1.Requirement{
		in("zone", "a", "b"), in("other", "x"), in("zone", "c"),
	}, nil, field.NewPath("spec", "requirements"))
	const want = `spec.requirements: Invalid value: "zone": impossible: entry 0: In [a b]; entry 2: In [c]: no value satisfies all of them`
	if len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v, want %s", errs, want)
	}
}
