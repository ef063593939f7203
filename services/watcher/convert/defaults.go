package convert

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// defaultSelector deduces which pods belong together with this one, as the scheduler does for its default spread
// constraints: all that the Services select which select this pod, and of them what the owner selects. nil where neither
// tells. Pods with constraints of their own need none, and get none, so that a Service does not split their classes.
func (b *classBuilder) defaultSelector() {
	if len(b.pod.Spec.TopologySpreadConstraints) > 0 || b.class.GetDaemon() || b.class.GetMirror() {
		return
	}
	merged := map[string]string{}
	for _, s := range b.refs.ServiceSelectors(b.pod.Namespace) {
		if matchesAll(s, b.pod.Labels) {
			maps.Copy(merged, s)
		}
	}
	both := &metav1.LabelSelector{MatchLabels: merged}
	if o := metav1.GetControllerOf(b.pod); o != nil {
		if s := b.refs.OwnerSelector(o.Kind, b.pod.Namespace, o.Name); s != nil {
			maps.Copy(merged, s.MatchLabels)
			both.MatchExpressions = slices.Clone(s.MatchExpressions)
		}
	}
	if len(merged)+len(both.MatchExpressions) == 0 {
		return
	}
	// An owner's selector that can't be read is no selector to the scheduler either, and nothing that the pod asked for.
	if out, bad := reader.Selector(both); bad == "" {
		b.class.DefaultSelector = core.Selector(out)
	}
}

// matchesAll is false for a Service without a selector: it selects nothing, not everything.
func matchesAll(selector, labels map[string]string) bool {
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return len(selector) > 0
}

// ServiceSelector is what a Service selects pods with; nil for nil, and for one that selects none.
func ServiceSelector(s *corev1.Service) map[string]string {
	if s == nil || len(s.Spec.Selector) == 0 {
		return nil
	}
	return s.Spec.Selector
}
