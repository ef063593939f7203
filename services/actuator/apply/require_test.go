package apply

import (
	"testing"

	"github.com/kerf-dev/kerf/services/actuator/model"
)

func TestAllows(t *testing.T) {
	r := func(op string, values ...string) model.Requirement {
		return model.Requirement{Key: "k", Operator: op, Values: values}
	}
	for name, c := range map[string]struct {
		r               model.Requirement
		value           string
		absent, present bool
	}{
		"In, a value of it":             {r: r("In", "a", "b"), value: "a", present: true},
		"In, another value":             {r: r("In", "a"), value: "b"},
		"NotIn, a value of it":          {r: r("NotIn", "a"), value: "a", absent: true},
		"NotIn, another value":          {r: r("NotIn", "a"), value: "b", absent: true, present: true},
		"Exists":                        {r: r("Exists"), value: "", present: true},
		"DoesNotExist":                  {r: r("DoesNotExist"), value: "", absent: true},
		"Gt, above":                     {r: r("Gt", "4"), value: "5", present: true},
		"Gt, equal":                     {r: r("Gt", "4"), value: "4"},
		"Gte, equal":                    {r: r("Gte", "4"), value: "4", present: true},
		"Lt, equal":                     {r: r("Lt", "4"), value: "4"},
		"Lte, equal":                    {r: r("Lte", "4"), value: "4", present: true},
		"Lt, below":                     {r: r("Lt", "4"), value: "3", present: true},
		"Gt, no number":                 {r: r("Gt", "4"), value: "many"},
		"Gt, no bound":                  {r: r("Gt"), value: "5"},
		"an operator that nobody knows": {r: r("Like", "a"), value: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Allows(c.r, c.value, true); got != c.present {
				t.Errorf("with %q: %v, want %v", c.value, got, c.present)
			}
			if got := Allows(c.r, "", false); got != c.absent {
				t.Errorf("without the label: %v, want %v", got, c.absent)
			}
		})
	}
}
