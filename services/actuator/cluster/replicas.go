package cluster

import (
	"context"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Replicas are the pods of ReplicaSets. When a ReplicaSet is scaled down, those with the lowest deletion cost are
// deleted first. Implementations are safe for concurrent use.
type Replicas interface {
	// CanCost says whether Kerf may write deletion costs, and in words what speaks for or against it. An error means
	// that it could not be found out now.
	CanCost(ctx context.Context) (can bool, why string, err error)
	// On are the replicas on a node, as the caches hold them. Those whose deletion cost users have set are not among them.
	On(node model.NodeName) []Replica
	// Cost writes each replica's deletion cost; the error joins those that failed. A pod that is not as it was seen any
	// more is left alone. That is no error.
	Cost(ctx context.Context, list []Replica) error
}

// Replica is a pod of a ReplicaSet.
type Replica struct {
	ID  model.PodID
	UID string
	// Version is the pod's, as it was seen.
	Version string
	// DeletionCost is what Kerf says of it; 0 where it says nothing.
	DeletionCost int32
}
