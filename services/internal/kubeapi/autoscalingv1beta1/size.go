package autoscalingv1beta1

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// MaxReplicas bounds what one buffer can ask for.
const MaxReplicas = 10_000

// Size is for how many pods there shall be capacity: the larger of replicas and the
// percentage of the workload's replicas, but no more than the limits allow. Where
// neither is set it is as many as the limits allow; bounded is false when there is no
// limit on anything that the pods request, and then there is none. A workload that
// says nothing has one replica. requests is what one pod asks for. Size is at most
// MaxReplicas.
func (s *CapacityBufferSpec) Size(workload *int32, requests corev1.ResourceList) (n int64, bounded bool) {
	bounded = s.Replicas != nil || s.Percentage != nil
	n = MaxReplicas
	if bounded {
		n = s.asked(workload)
	}
	for name, limit := range s.Limits {
		one, asked := requests[name]
		if !asked || one.Sign() <= 0 {
			continue
		}
		bounded = true
		// Counts are far too small for the division to be wrong by more than the last digits.
		n = min(n, int64(math.Floor(limit.AsApproximateFloat64()/one.AsApproximateFloat64()+1e-9)))
	}
	if !bounded {
		return 0, false
	}
	return min(max(n, 0), MaxReplicas), true
}

// asked is what replicas and percentage say, the larger of both.
func (s *CapacityBufferSpec) asked(workload *int32) int64 {
	var n int64
	if s.Replicas != nil {
		n = int64(*s.Replicas)
	}
	if s.Percentage == nil {
		return n
	}
	of := int64(1)
	if workload != nil {
		of = int64(*workload)
	}
	return max(n, (of*int64(*s.Percentage)+99)/100)
}
