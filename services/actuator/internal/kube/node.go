package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/apiserver"
	"github.com/kerf-dev/kerf/services/actuator/internal/kube/evict"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// UpdateNode reads the node afresh, changes it and writes it back under its resource version, so that a change that
// somebody else made in between is never lost. A change that only takes taints off is first tried as one patch of what the
// cache has: a node opens by it, and its pods' nominations hold for moments only.
func (k *Kube) UpdateNode(ctx context.Context, c cluster.NodeChange) error {
	if k.untaint(ctx, c) {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return k.updateNode(ctx, c) })
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("update node %s: %w", c.Node, cluster.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("update node %s: %w", c.Node, err)
	}
	return nil
}

// untaint says whether it did all of a change: the cache's copy was the present one, and there was nothing else to be done.
func (k *Kube) untaint(ctx context.Context, c cluster.NodeChange) bool {
	if len(c.RemoveTaints) == 0 || len(c.AddTaints)+len(c.SetLabels)+len(c.SetAnnotations)+len(c.RemoveLabels) > 0 ||
		c.Finalizer != nil || c.Owner != "" || c.Delete {
		return false
	}
	n, err := k.nodes.Get(string(c.Node))
	if err != nil || !meant(n, c) {
		return false
	}
	left := without(slices.Clone(n.Spec.Taints), c.RemoveTaints)
	if len(left) == len(n.Spec.Taints) {
		return false
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": n.ResourceVersion}, "spec": map[string]any{"taints": left},
	})
	if err != nil {
		return false
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	_, err = k.urgent.Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, options)
	return err == nil
}

func without(taints []corev1.Taint, removed []model.Taint) []corev1.Taint {
	for _, t := range removed {
		taints = slices.DeleteFunc(taints, func(x corev1.Taint) bool { return x.Key == t.Key && string(x.Effect) == t.Effect.String() })
	}
	return taints
}

func (k *Kube) updateNode(ctx context.Context, c cluster.NodeChange) error {
	nodes := k.urgent.Nodes()
	if c.Refused {
		nodes = k.refused.Nodes()
	}
	before, err := nodes.Get(ctx, string(c.Node), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !meant(before, c) {
		return apierrors.NewNotFound(corev1.Resource("nodes"), fmt.Sprintf("%s with uid %s and provider id %s", c.Node, c.UID, c.ProviderID))
	}

	after := before.DeepCopy()
	if err := k.change(ctx, after, c); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(before, after) {
		if _, err := nodes.Update(ctx, after, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
			return err
		}
	}
	if !c.Delete || before.DeletionTimestamp != nil {
		return nil
	}
	uid := before.UID
	return nodes.Delete(ctx, string(c.Node), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}

// meant says that it is the node that the change is for, and not the next one of that name.
func meant(n *corev1.Node, c cluster.NodeChange) bool {
	return (c.UID == "" || string(n.UID) == c.UID) && (c.ProviderID == "" || n.Spec.ProviderID == c.ProviderID)
}

func (k *Kube) change(ctx context.Context, n *corev1.Node, c cluster.NodeChange) error {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	maps.Copy(n.Labels, c.SetLabels)
	maps.Copy(n.Annotations, c.SetAnnotations)
	for _, l := range c.RemoveLabels {
		delete(n.Labels, l)
	}
	for _, t := range c.AddTaints {
		n.Spec.Taints = with(n.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect.String())})
	}
	n.Spec.Taints = without(n.Spec.Taints, c.RemoveTaints)
	if c.Finalizer != nil {
		finalize(n, *c.Finalizer)
	}
	if c.Owner == "" {
		return nil
	}
	return k.own(ctx, n, c.Owner)
}

// with sets a taint, in its place if it is there, so that setting it again changes nothing.
func with(taints []corev1.Taint, t corev1.Taint) []corev1.Taint {
	for i := range taints {
		if taints[i].MatchTaint(&t) {
			taints[i] = t
			return taints
		}
	}
	return append(taints, t)
}

// finalize sets or removes Kerf's finalizer. The API server refuses a new one on an object that is being deleted.
func finalize(n *corev1.Node, wanted bool) {
	switch has := slices.Contains(n.Finalizers, labels.FinalizerTermination); {
	case !wanted:
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == labels.FinalizerTermination })
	case !has && n.DeletionTimestamp == nil:
		n.Finalizers = append(n.Finalizers, labels.FinalizerTermination)
	}
}

// own makes the claim's object the node's owner, so that tools can follow the one to the other.
func (k *Kube) own(ctx context.Context, n *corev1.Node, claim model.ClaimID) error {
	object, err := get(k.claims, string(claim))
	if err == nil && object == nil { // the cache may lag behind the claim's publication
		object, err = k.dynamic.Resource(karpenterv1.NodeClaimGVR()).Get(ctx, string(claim), metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil // not mirrored yet; the next change will find it
	}
	if err != nil {
		return fmt.Errorf("read its claim %s: %w", claim, err)
	}
	owner := objects.Owner(karpenterv1.NodeClaimGVK(), object)
	for i := range n.OwnerReferences {
		if n.OwnerReferences[i].Kind == owner.Kind {
			n.OwnerReferences[i] = owner
			return nil
		}
	}
	n.OwnerReferences = append(n.OwnerReferences, owner)
	return nil
}

// PodsOn implements cluster.Cluster.
func (k *Kube) PodsOn(ctx context.Context, node model.NodeName) ([]cluster.Pod, error) {
	list, err := apiserver.PodsOn(ctx, k.client, string(node))
	if err != nil {
		return nil, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	var pods []cluster.Pod
	for i := range list.Items {
		pods = append(pods, objects.Pod(&list.Items[i]))
	}
	return pods, nil
}

// Evict implements cluster.Cluster.
func (k *Kube) Evict(ctx context.Context, e cluster.Eviction) error {
	client := k.urgent
	if e.Refused && !e.Force {
		client = k.refused
	}
	return evict.Evict(ctx, client.Pods(e.Namespace), e, k.now())
}
