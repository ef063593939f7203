package convert

import (
	"math"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// PodDisruptionBudget converts a budget. A status that is older than the object allows nothing, as the Eviction API has
// it, and neither does a selector that can't be converted.
func PodDisruptionBudget(b *policyv1.PodDisruptionBudget) snapshot.Object {
	out := &clusterv1.PodDisruptionBudget{
		Id: objectID(b), Namespace: b.Namespace,
		AlwaysAllowUnhealthy: b.Spec.UnhealthyPodEvictionPolicy != nil &&
			*b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow,
		NeverAllows: neverAllows(b),
	}
	selector, bad := selectorOf(b.Spec.Selector)
	out.Selector = selector
	if bad != "" {
		out.Selector, out.NeverAllows = &clusterv1.LabelSelector{}, true
	}
	if b.Status.ObservedGeneration >= b.Generation && bad == "" {
		out.DisruptionsAllowed = max(b.Status.DisruptionsAllowed, 0)
	}
	return object(snapshot.PodDisruptionBudget, out.GetId(), out)
}

// neverAllows says whether no eviction is possible even with every expected pod healthy.
func neverAllows(b *policyv1.PodDisruptionBudget) bool {
	if most := b.Spec.MaxUnavailable; most != nil {
		n, percent := intOrPercent(*most)
		return n <= 0 && percent <= 0
	}
	if b.Spec.MinAvailable == nil {
		return false
	}
	n, percent := intOrPercent(*b.Spec.MinAvailable)
	expected := int64(b.Status.ExpectedPods)
	if percent > 0 {
		// Percentages are rounded up, so that 90 % of five pods are all five.
		n = (expected*percent + 99) / 100
		return percent >= 100 || (expected > 0 && n >= expected)
	}
	return expected > 0 && n >= expected
}

// intOrPercent returns a count or a percentage, the other nought. What is neither counts as the most that there can be,
// as a bound that was meant to protect.
func intOrPercent(v intstr.IntOrString) (n, percent int64) {
	if v.Type == intstr.Int {
		return int64(v.IntVal), 0
	}
	p, err := strconv.ParseInt(strings.TrimSuffix(v.StrVal, "%"), 10, 32)
	if err != nil || !strings.HasSuffix(v.StrVal, "%") {
		return math.MaxInt32, 0
	}
	return 0, p
}
