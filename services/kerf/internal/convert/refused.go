package convert

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/kerf/internal/convert/refused"
)

// Refused says, in a line each, what the API server would refuse of workloads and budgets, or what is hardly meant, and
// changes what is planned: labels, resources, ports, selectors, spread constraints, tolerations, weights; and whose
// pods it takes in no case.
func Refused(objects []runtime.Object) (notes []string) {
	for _, o := range objects {
		var problems []string
		if p := podsIn(o); p != nil {
			problems = slices.Concat(p.refused(), refused.Labels(strings.TrimSuffix(p.at, "spec")+"metadata.labels", p.labels), refused.Pod(p.at, p.spec))
		}
		if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
			problems = refused.Budget(b)
		}
		for _, problem := range problems {
			notes = append(notes, TitleOf(o)+": "+problem)
		}
	}
	return notes
}

// refused is what is wrong with how a workload keeps its pods.
func (p *madePods) refused() []string {
	switch {
	case p.selects:
		return append(refused.Selector(p.selector, p.labels), refused.Restart(p.at, p.spec, corev1.RestartPolicyAlways)...)
	case p.ends:
		return refused.Restart(p.at, p.spec, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	default:
		return nil
	}
}
