package reader

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// DeletionCost is what a pod says of how costly its deletion is, and whether Kerf says that. It is zero where nothing is said,
// or what is said is no number: the ReplicaSet controller ignores such a value as well.
func DeletionCost(p *corev1.Pod) (cost int32, byKerf bool) {
	said, is := p.Annotations[labels.PodDeletionCost]
	if !is {
		return 0, false
	}
	v, err := strconv.ParseInt(said, 10, 32)
	if err != nil || v < math.MinInt32 {
		v = 0
	}
	return int32(v), said == p.Annotations[labels.PodDeletionCostByKerf]
}
