package convert

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// refuses ends what the API server would not take: a plan for it is a plan for nothing.
const refuses = "; the API server refuses that"

// Refused says, in a line each, what the API server would refuse of workloads, or what is hardly meant, and changes what is
// planned: resources, selectors, spread constraints.
func Refused(objects []runtime.Object) (notes []string) {
	for _, o := range objects {
		p := podsIn(o)
		if p == nil {
			continue
		}
		for _, problem := range slices.Concat(p.selection(), p.containers(), p.spread()) {
			notes = append(notes, p.title+": "+problem)
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
		return []string{"spec.selector: " + err.Error() + refuses}
	case p.selector == nil || selector.Empty():
		return []string{"spec.selector: is missing" + refuses}
	case !selector.Matches(labels.Set(p.labels)):
		return []string{"spec.selector: does not select the labels of spec.template" + refuses}
	default:
		return nil
	}
}

func (p *madePods) containers() (problems []string) {
	if len(p.spec.Containers) == 0 {
		problems = append(problems, p.at+".containers: there is none"+refuses)
	}
	for field, list := range map[string][]corev1.Container{"initContainers": p.spec.InitContainers, "containers": p.spec.Containers} {
		for i, c := range list {
			at := fmt.Sprintf("%s.%s[%d].resources", p.at, field, i)
			for _, problem := range resources(c.Resources) {
				problems = append(problems, at+"."+problem)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

func resources(r corev1.ResourceRequirements) (problems []string) {
	for field, list := range map[string]corev1.ResourceList{"limits": r.Limits, "requests": r.Requests} {
		for _, name := range sorted(list) {
			if problem := amount(name, list[name]); problem != "" {
				problems = append(problems, fmt.Sprintf("%s.%s: %s", field, name, problem))
			}
		}
	}
	for _, name := range sorted(r.Requests) {
		request, limit := r.Requests[name], r.Limits[name]
		_, limited := r.Limits[name]
		switch {
		case limited && request.Cmp(limit) > 0:
			problems = append(problems, fmt.Sprintf("requests.%s: %s is more than its limit, %s%s", name, request.String(), limit.String(), refuses))
		case !limited && device(name):
			problems = append(problems, fmt.Sprintf("limits.%s: is missing: of devices the limit counts%s", name, refuses))
		}
	}
	return problems
}

// device tells resources that nodes have by their plugins.
func device(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.HasPrefix(string(name), "kubernetes.io/")
}

// amount says what is wrong with how much is asked for; "" for nothing.
func amount(name corev1.ResourceName, q resource.Quantity) string {
	const thousandths, most = 1000, 10_000 // more processors than any machine has
	text := q.String()
	switch part := q.MilliValue()%thousandths != 0; {
	case q.Sign() < 0:
		return text + " is negative" + refuses
	case part && device(name):
		return text + " is no whole number" + refuses
	case (name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage) && strings.HasSuffix(text, "m"):
		return fmt.Sprintf("%s is in thousandths of a byte; did you mean %sMi?", text, strings.TrimSuffix(text, "m"))
	case name == corev1.ResourceCPU && q.Value() > most && strings.HasSuffix(text, "M"):
		return fmt.Sprintf("%s is in millions; did you mean %sm?", text, strings.TrimSuffix(text, "M"))
	default:
		return ""
	}
}

func (p *madePods) spread() (problems []string) {
	known := []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}
	for i, c := range p.spec.TopologySpreadConstraints {
		at := fmt.Sprintf("%s.topologySpreadConstraints[%d].", p.at, i)
		if c.MaxSkew < 1 {
			problems = append(problems, fmt.Sprintf("%smaxSkew: %d is less than 1%s", at, c.MaxSkew, refuses))
		}
		if !slices.Contains(known, c.WhenUnsatisfiable) {
			problems = append(problems, fmt.Sprintf("%swhenUnsatisfiable: %q is neither %s nor %s%s", at, c.WhenUnsatisfiable, known[0], known[1], refuses))
		}
	}
	return problems
}
