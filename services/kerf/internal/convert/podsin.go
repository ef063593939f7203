package convert

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// madePods are what an object says of the pods that it is, or makes.
type madePods struct {
	title, namespace string
	// at is the path of spec.
	at   string
	spec *corev1.PodSpec
	// labels and annotations are the pods', and selector what a workload finds them by, where it needs one.
	labels, annotations map[string]string
	selector            *metav1.LabelSelector
	selects             bool
	// ends says that the pods are a Job's, which run to their end.
	ends bool
}

// podsIn is nil for an object without pods.
func podsIn(o runtime.Object) *madePods {
	m, ok := o.(metav1.Object)
	if !ok {
		return nil
	}
	out := &madePods{title: TitleOf(o), namespace: m.GetNamespace(), at: "spec.template.spec"}
	of := func(t *corev1.PodTemplateSpec, s *metav1.LabelSelector, selects bool) *madePods {
		out.spec, out.labels, out.annotations, out.selector, out.selects = &t.Spec, t.Labels, t.Annotations, s, selects
		return out
	}
	switch o := o.(type) {
	case *corev1.Pod:
		out.at, out.spec, out.labels, out.annotations = "spec", &o.Spec, o.Labels, o.Annotations
		return out
	case *appsv1.Deployment:
		return of(&o.Spec.Template, o.Spec.Selector, true)
	case *appsv1.ReplicaSet:
		return of(&o.Spec.Template, o.Spec.Selector, true)
	case *appsv1.StatefulSet:
		return of(&o.Spec.Template, o.Spec.Selector, true)
	case *appsv1.DaemonSet:
		return of(&o.Spec.Template, o.Spec.Selector, true)
	case *batchv1.Job:
		out.ends = true
		return of(&o.Spec.Template, nil, false)
	default:
		return nil
	}
}

// required is what the pods' node affinity insists on, of all its terms.
func (p *madePods) required() (out []corev1.NodeSelectorRequirement) {
	if a := p.spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			out = append(out, term.MatchExpressions...)
		}
	}
	return out
}
