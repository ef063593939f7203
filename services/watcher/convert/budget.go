package convert

import (
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	core "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// PodDisruptionBudget converts a budget. A status that is older than the object allows nothing, as the Eviction API has
// it, and neither does a selector that can't be converted.
func PodDisruptionBudget(b *policyv1.PodDisruptionBudget) snapshot.Object {
	out := &clusterpb.PodDisruptionBudget{
		Id: objectID(b), Namespace: b.Namespace, AlwaysAllowUnhealthy: allowsUnhealthy(b), NeverAllows: neverAllows(b),
	}
	selector, bad := reader.Selector(b.Spec.Selector)
	out.Selector = core.Selector(selector)
	if bad != "" {
		out.Selector, out.NeverAllows = &clusterpb.LabelSelector{}, true
	}
	if b.Status.ObservedGeneration >= b.Generation && bad == "" {
		out.DisruptionsAllowed = max(b.Status.DisruptionsAllowed, 0)
	}
	return wire.Object(snapshot.PodDisruptionBudget, out.GetId(), out)
}

// allowsUnhealthy says whether the Eviction API lets pods go that are not ready, and counts nothing: always, or because as
// many are ready as the budget asks for, if it asks for any.
func allowsUnhealthy(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	s := &b.Status
	return s.ObservedGeneration >= b.Generation && s.DesiredHealthy > 0 && s.CurrentHealthy >= s.DesiredHealthy
}

// neverAllows says whether no eviction is possible even with every expected pod healthy.
func neverAllows(b *policyv1.PodDisruptionBudget) bool {
	if most := b.Spec.MaxUnavailable; most != nil {
		n, percent, ok := intOrPercent(*most)
		return !ok || n <= 0 && percent <= 0
	}
	if b.Spec.MinAvailable == nil {
		return false
	}
	n, percent, ok := intOrPercent(*b.Spec.MinAvailable)
	if !ok {
		return true
	}
	expected := int64(b.Status.ExpectedPods)
	if percent > 0 {
		// Percentages are rounded up, so that 90 % of five pods are all five.
		n = (expected*percent + 99) / 100
		return percent >= 100 || (expected > 0 && n >= expected)
	}
	return expected > 0 && n >= expected
}

// intOrPercent returns a count or a percentage, the other zero. It is false for what is neither: that was meant to
// protect, and no one knows how much.
func intOrPercent(v intstr.IntOrString) (n, percent int64, ok bool) {
	if v.Type == intstr.Int {
		return int64(v.IntVal), 0, true
	}
	digits, found := strings.CutSuffix(v.StrVal, "%")
	p, err := strconv.ParseInt(digits, 10, 32)
	return 0, p, found && err == nil
}
