package manifests

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// counted is a budget of a manifest, which no controller has looked at, with the status that the disruption controller
// would give it: a budget that never allows anything is reported before it blocks.
func counted(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) *policyv1.PodDisruptionBudget {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil || b.Status.ObservedGeneration != 0 || b.Status.ExpectedPods != 0 {
		return b
	}
	b = b.DeepCopy()
	s := &b.Status
	minimum := b.Spec.MinAvailable
	aCount := b.Spec.MaxUnavailable == nil && minimum != nil && minimum.Type == intstr.Int
	for _, p := range pods {
		if p.Namespace != b.Namespace || ended(p) || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		if aCount || metav1.GetControllerOf(p) != nil { // shares are those of what controllers ask for
			s.ExpectedPods++
		}
		if p.DeletionTimestamp == nil && reader.Ready(p) {
			s.CurrentHealthy++
		}
	}
	s.ObservedGeneration, s.DesiredHealthy = b.Generation, desiredHealthy(b.Spec, s.ExpectedPods)
	if s.ExpectedPods > 0 {
		s.DisruptionsAllowed = max(s.CurrentHealthy-s.DesiredHealthy, 0)
	}
	return b
}

// ended says that a pod runs no more, and never will.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// desiredHealthy is how many pods a budget keeps; all where it does not say how many in a form that can be read.
func desiredHealthy(spec policyv1.PodDisruptionBudgetSpec, expected int32) int32 {
	limit, most := spec.MinAvailable, spec.MaxUnavailable != nil
	if most {
		limit = spec.MaxUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, int(expected), true)
	switch {
	case err != nil:
		return expected
	case most:
		return max(expected-int32(n), 0)
	default:
		return int32(n)
	}
}
