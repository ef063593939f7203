package convert

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kerf-dev/kerf/services/kerf/internal/convert/refused"
)

// Refused says, in a line each, what the API server would refuse of workloads and budgets, or what is hardly meant, and changes
// what is planned: resources, ports, selectors, spread constraints, tolerations, weights.
func Refused(objects []runtime.Object) (notes []string) {
	for _, o := range objects {
		var problems []string
		if p := podsIn(o); p != nil {
			problems = append(p.selection(), refused.Pod(p.at, p.spec)...)
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

func (p *madePods) selection() []string {
	if !p.selects {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(p.selector)
	switch {
	case err != nil:
		return []string{"spec.selector: " + err.Error() + refused.ByServer}
	case p.selector == nil || selector.Empty():
		return []string{"spec.selector: is missing" + refused.ByServer}
	case !selector.Matches(labels.Set(p.labels)):
		return []string{"spec.selector: does not select the labels of spec.template" + refused.ByServer}
	default:
		return nil
	}
}
