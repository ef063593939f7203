package clustertest

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// Replicas are the pods of ReplicaSets in a fake cluster.
type Replicas struct{ Cluster *Fake }

// CanCost is true.
func (Replicas) CanCost(context.Context) (bool, string, error) { return true, "it is a fake", nil }

// On are the replicas on a node.
func (r Replicas) On(node model.NodeName) []cluster.Replica {
	f := r.Cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(string(node))
	if n == nil {
		return nil
	}
	var out []cluster.Replica
	for _, p := range n.Pods {
		given := f.pods[p.UID].given
		if cost, is := reader.Replica(given); is && p.DeletionTime.IsZero() {
			out = append(out, cluster.Replica{ID: model.PodID(p.Namespace + "/" + p.Name), UID: p.UID, Version: given.ResourceVersion, DeletionCost: cost})
		}
	}
	return out
}

// Cost writes deletion costs of pods that are as they were seen.
func (r Replicas) Cost(_ context.Context, list []cluster.Replica) error {
	f := r.Cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.touch()
	for _, x := range list {
		l, there := f.pods[x.UID]
		if !there || l.given.ResourceVersion != x.Version || l.given.Namespace+"/"+l.given.Name != string(x.ID) {
			continue
		}
		given := l.given.DeepCopy()
		f.serial++
		given.ResourceVersion = strconv.Itoa(f.serial)
		cost := strconv.FormatInt(int64(x.DeletionCost), 10)
		metav1.SetMetaDataAnnotation(&given.ObjectMeta, labels.PodDeletionCost, cost)
		metav1.SetMetaDataAnnotation(&given.ObjectMeta, labels.PodDeletionCostByKerf, cost)
		l.given = given
		f.pods[x.UID] = l
	}
	return nil
}
