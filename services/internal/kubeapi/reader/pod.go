package reader

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Ready says that a pod's condition Ready is true.
func Ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// DoNotDisrupt reads karpenter.sh/do-not-disrupt: "true" protects for ever, which is a zero time, and a positive
// duration from the pod's start on. A pod that has not started is protected without an end, until it does. Other values
// protect nothing.
func DoNotDisrupt(p *corev1.Pod) (protected bool, until time.Time) {
	v, ok := p.Annotations[labels.DoNotDisrupt]
	if !ok || v == "true" {
		return ok, time.Time{}
	}
	d, err := time.ParseDuration(v)
	switch {
	case err != nil || d <= 0:
		return false, time.Time{}
	case p.Status.StartTime == nil:
		return true, time.Time{}
	}
	return true, p.Status.StartTime.Add(d)
}
