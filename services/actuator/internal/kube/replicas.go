package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

const (
	// maxCosting is how many deletion costs are written at once, costingRate how many in a second at most: nothing is
	// to wait behind them, and workloads may be scaled down as soon as they run.
	maxCosting  = 16
	costingRate = 200
)

// Replicas writes deletion costs. It reads what Kube's caches hold.
type Replicas struct {
	// client is for this alone, because a client's requests share its rate.
	client apiserver.Client
	pods   cache.Indexer
}

var _ cluster.Replicas = (*Replicas)(nil)

// CanCost asks for the actuator's own right to patch the status of pods, by which their annotations are changed as well.
func (r *Replicas) CanCost(ctx context.Context) (bool, string, error) {
	allowed, err := may(ctx, r.client, "patch", "status")
	switch {
	case err != nil:
		return false, "", err
	case !allowed:
		return false, "there is no right to patch pods/status: grant it as deploy/rbac/rbac.yaml does", nil
	}
	return true, "there is the right to patch pods/status", nil
}

// On are the replicas on a node.
func (r *Replicas) On(node model.NodeName) []cluster.Replica {
	objects, err := r.pods.ByIndex(byNode, string(node))
	if err != nil {
		return nil // only an index that does not exist is an error
	}
	var out []cluster.Replica
	for _, o := range objects {
		p, ok := o.(*corev1.Pod)
		if !ok {
			continue
		}
		if cost, is := reader.Replica(p); is {
			out = append(out, cluster.Replica{
				ID: model.PodID(p.Namespace + "/" + p.Name), UID: string(p.UID), Version: p.ResourceVersion, DeletionCost: cost,
			})
		}
	}
	return out
}

// Cost writes many deletion costs, a few beside each other.
func (r *Replicas) Cost(ctx context.Context, list []cluster.Replica) error {
	slots := make(chan struct{}, maxCosting)
	return errors.Join(beside(ctx, slots, list, func(x cluster.Replica) error { return r.cost(ctx, x) })...)
}

// beside calls f with each entry of a list, beside each other as far as there are slots, and returns what it said of
// each. Entries that have had no slot when ctx ends fail by that.
func beside[T any](ctx context.Context, slots chan struct{}, list []T, f func(T) error) []error {
	errs := make([]error, len(list))
	var workers sync.WaitGroup
	for i, x := range list {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			errs[i] = ctx.Err()
			continue
		}
		workers.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(x)
		})
	}
	workers.Wait()
	return errs
}

func (r *Replicas) cost(ctx context.Context, x cluster.Replica) error {
	cost := strconv.FormatInt(int64(x.DeletionCost), 10)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": x.UID, "resourceVersion": x.Version,
		"annotations": map[string]string{labels.PodDeletionCost: cost, labels.PodDeletionCostByKerf: cost},
	}})
	if err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(string(x.ID), "/")
	// By its status, because who may patch pods themselves may change what they run.
	err = r.client.Pods(namespace).Patch(ctx, name, apiserver.PodPatch{Type: types.MergePatchType, Data: patch, FieldManager: fieldManager, Subresource: "status"})
	// Another uid makes the patch invalid, another version a conflict.
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return fmt.Errorf("write the deletion cost of pod %s: %w", x.ID, err)
}
