package reader

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// DeletionCost is what a pod says of how costly its deletion is, and whether Kerf says that. It is zero where nothing
// is said, or what is said is no number: the ReplicaSet controller ignores such a value as well.
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

// DisruptionCost is what users say of how costly it is to move a pod: in the annotation that is for that, else in that of
// how costly its deletion is. What Kerf says there is none of theirs: it follows from where the pod is.
func DisruptionCost(p *corev1.Pod) int32 {
	if v, err := strconv.ParseInt(p.Annotations[labels.DisruptionCost], 10, 32); err == nil {
		return int32(v)
	}
	cost, byKerf := DeletionCost(p)
	if byKerf {
		return 0
	}
	return cost
}

// Replica says of a pod whether its deletion cost is Kerf's to say, and what Kerf has said; 0 for nothing. It is where
// a controller that deletes by these costs has made the pod, the pod is not going anyway, and users have said none. One
// that is not ready is deleted before all that are, whatever it costs: it is told once it is, and a pod that starts is
// not changed meanwhile.
func Replica(p *corev1.Pod) (cost int32, is bool) {
	owner := metav1.GetControllerOf(p)
	if owner == nil || p.DeletionTimestamp != nil || !Ready(p) || owner.Kind != "ReplicaSet" && owner.Kind != "ReplicationController" {
		return 0, false
	}
	cost, byKerf := DeletionCost(p)
	_, said := p.Annotations[labels.PodDeletionCost]
	return cost, byKerf || !said
}
