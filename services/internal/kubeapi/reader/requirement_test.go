package reader_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Pools, pods and selectors write requirements alike, and differ only in which operators there are.
func TestRequirementsOfPoolsPodsAndSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		operator             string
		values               []string
		pool, term, selector string
	}{
		"In":            {operator: "In", values: []string{"b", "a", "b"}},
		"In nothing":    {"In", nil, "values: are missing; want at least one", "values: are missing; want at least one", "values: are missing; want at least one"},
		"Exists":        {operator: "Exists", values: []string{"ignored"}},
		"Gt":            {operator: "Gt", values: []string{"4"}, selector: `operator: "Gt" is none of In, NotIn, Exists, DoesNotExist`},
		"Gt two values": {"Gt", []string{"4", "4"}, "values: want one whole number", "values: want one whole number", `operator: "Gt" is none of In, NotIn, Exists, DoesNotExist`},
		"Gte":           {operator: "Gte", values: []string{"4"}, term: `operator: "Gte" is none of In, NotIn, Exists, DoesNotExist, Gt, Lt`, selector: `operator: "Gte" is none of In, NotIn, Exists, DoesNotExist`},
		"no label's":    {"NotIn", []string{"a", "${ZONE}"}, "", `values: "${ZONE}" is no value of a label`, `values: "${ZONE}" is no value of a label`},
		"Lt below zero": {"Lt", []string{"-4"}, "", `values: "-4" is no value of a label`, `operator: "Lt" is none of In, NotIn, Exists, DoesNotExist`},
		"no operator": {
			"", nil, `operator: "" is none of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte`,
			`operator: "" is none of In, NotIn, Exists, DoesNotExist, Gt, Lt`, `operator: "" is none of In, NotIn, Exists, DoesNotExist`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := func(prefix, problem, want string) {
				t.Helper()
				if want != "" {
					want = prefix + want
				}
				if problem != want {
					t.Errorf("%q, want %q", problem, want)
				}
			}
			problem := ""
			if _, err := reader.Requirement(karpenterv1.Requirement{Key: "k", Operator: karpenterv1.Operator(c.operator), Values: c.values}); err != nil {
				problem = err.Error()
			}
			said("", problem, c.pool)
			_, problem = reader.NodeTerm(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "k", Operator: corev1.NodeSelectorOperator(c.operator), Values: c.values},
			}})
			said("matchExpressions[0].", problem, c.term)
			_, problem = reader.Selector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "k", Operator: metav1.LabelSelectorOperator(c.operator), Values: c.values},
			}})
			said("matchExpressions[0].", problem, c.selector)
		})
	}
}

func TestWithKeysNarrowsOnce(t *testing.T) {
	s, _ := reader.Selector(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
	for range 2 {
		reader.WithKeys(s, model.In, []string{"version", "absent"}, map[string]string{"version": "2"})
	}
	reader.WithKeys(nil, model.In, []string{"version"}, map[string]string{"version": "2"})
	if diff := cmp.Diff([]model.Requirement{reader.In("app", "web"), reader.In("version", "2")}, s.Requirements); diff != "" {
		t.Error(diff)
	}
}
