package kube

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

// Indexes of the informers' stores.
const (
	byClaim = "claim" // pods by "namespace/name" of each claim
	byOwner = "owner" // pods by "namespace/kind/name" of their controller
	byNode  = "node"  // volume attachments and node claims by node name

	byClass    = "class"    // volumes, room for them, and claims that have none, by storage class
	byWorkload = "workload" // capacity buffers by "namespace/kind/name" of what they refer to
)

// stores are the informers' contents. It answers what one object needs to know of another.
type stores struct {
	pods, attachments                              cache.Indexer
	pools, nodeClasses, nodeClaims                 cache.Indexer
	nodes, namespaces, claims, volumes             cache.Indexer
	daemonSets, replicaSets, statefulSets, budgets cache.Indexer
	priorities, classes, csiNodes, csiDrivers      cache.Indexer
	rooms                                          cache.Indexer // how much there is for new volumes
	taintRules                                     cache.Indexer // which taint devices
	related

	overlays, buffers, deployments, podTemplates cache.Indexer
}

// index adds the indexes.
func (s *stores) index() error {
	return errors.Join(
		s.pods.AddIndexers(cache.Indexers{byClaim: podClaims, byOwner: podOwner, byResourceClaim: podResourceClaims}),
		s.rooms.AddIndexers(cache.Indexers{byClass: roomClass}),
		s.volumes.AddIndexers(cache.Indexers{byClass: volumeClass}),
		s.claims.AddIndexers(cache.Indexers{byClass: unboundClass}),
		s.attachments.AddIndexers(cache.Indexers{byNode: attachmentNode}),
		s.nodeClaims.AddIndexers(cache.Indexers{byNode: nodeClaimNode}),
		s.buffers.AddIndexers(cache.Indexers{byWorkload: bufferWorkload}),
		s.slices.AddIndexers(cache.Indexers{byDevicePool: slicePool, byNode: sliceNodes}),
	)
}

func lookup[T any](s cache.Store, namespace, name string) T {
	k := name
	if namespace != "" {
		k = namespace + "/" + name
	}
	o, _, _ := s.GetByKey(k) // a store in memory has no error to return
	t, _ := o.(T)
	return t
}

func list[T any](s cache.Store) []T {
	objects := s.List()
	out := make([]T, 0, len(objects))
	for _, o := range objects {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

func indexed[T any](s cache.Indexer, index, value string) []T {
	objects, err := s.ByIndex(index, value)
	if err != nil {
		return nil // only an index that does not exist is an error
	}
	out := make([]T, 0, len(objects))
	for _, o := range objects {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// PersistentVolumeClaim implements convert.References.
func (s *stores) PersistentVolumeClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	return lookup[*corev1.PersistentVolumeClaim](s.claims, namespace, name)
}

// PersistentVolume implements convert.References.
func (s *stores) PersistentVolume(name string) *corev1.PersistentVolume {
	return lookup[*corev1.PersistentVolume](s.volumes, "", name)
}

// StorageClass implements convert.References.
func (s *stores) StorageClass(name string) *storagev1.StorageClass {
	if name == "" {
		return convert.DefaultStorageClass(list[*storagev1.StorageClass](s.classes))
	}
	return lookup[*storagev1.StorageClass](s.classes, "", name)
}

// PersistentVolumes implements convert.References.
func (s *stores) PersistentVolumes(class string) []*corev1.PersistentVolume {
	return indexed[*corev1.PersistentVolume](s.volumes, byClass, class)
}

// CSIDriver implements convert.References.
func (s *stores) CSIDriver(name string) *storagev1.CSIDriver {
	return lookup[*storagev1.CSIDriver](s.csiDrivers, "", name)
}

// StorageCapacities implements convert.References.
func (s *stores) StorageCapacities(class string) []*storagev1.CSIStorageCapacity {
	return indexed[*storagev1.CSIStorageCapacity](s.rooms, byClass, class)
}

// ClaimUsers implements convert.References.
func (s *stores) ClaimUsers(namespace, name string) int {
	pods := indexed[*corev1.Pod](s.pods, byClaim, namespace+"/"+name)
	return len(slices.DeleteFunc(pods, finished))
}

// PriorityClass implements convert.References.
func (s *stores) PriorityClass(name string) *schedulingv1.PriorityClass {
	if name == "" {
		return convert.DefaultPriorityClass(list[*schedulingv1.PriorityClass](s.priorities))
	}
	return lookup[*schedulingv1.PriorityClass](s.priorities, "", name)
}

// OwnerRevision implements convert.References.
func (s *stores) OwnerRevision(kind, namespace, name string) string {
	switch kind {
	case "ReplicaSet":
		return convert.ReplicaSetRevision(lookup[*appsv1.ReplicaSet](s.replicaSets, namespace, name))
	case "StatefulSet":
		return convert.StatefulSetRevision(lookup[*appsv1.StatefulSet](s.statefulSets, namespace, name))
	default:
		return ""
	}
}

// PodTemplate implements convert.Templates.
func (s *stores) PodTemplate(namespace, name string) *corev1.PodTemplate {
	return lookup[*corev1.PodTemplate](s.podTemplates, namespace, name)
}

// Deployment implements convert.Templates.
func (s *stores) Deployment(namespace, name string) *appsv1.Deployment {
	return lookup[*appsv1.Deployment](s.deployments, namespace, name)
}

// StatefulSet implements convert.Templates.
func (s *stores) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return lookup[*appsv1.StatefulSet](s.statefulSets, namespace, name)
}

// ReplicaSet implements convert.Templates.
func (s *stores) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return lookup[*appsv1.ReplicaSet](s.replicaSets, namespace, name)
}

// claimOf is the claim of a node whose own label does not say it.
func (s *stores) claimOf(node string) string {
	for _, c := range indexed[*karpenterv1.NodeClaim](s.nodeClaims, byNode, node) {
		if id := c.Labels[labels.Claim]; id != "" {
			return id
		}
	}
	return ""
}

// foreignVolumes counts, by driver, volumes that are attached to a node and that none of its pods uses.
func (s *stores) foreignVolumes(node string) map[string]int64 {
	out := map[string]int64{}
	for _, a := range indexed[*storagev1.VolumeAttachment](s.attachments, byNode, node) {
		if a.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		pv := s.PersistentVolume(*a.Spec.Source.PersistentVolumeName)
		if pv == nil || pv.Spec.ClaimRef == nil || !s.used(node, pv.Spec.ClaimRef.Namespace+"/"+pv.Spec.ClaimRef.Name) {
			out[a.Spec.Attacher]++
		}
	}
	return out
}

func (s *stores) used(node, claim string) bool {
	for _, p := range indexed[*corev1.Pod](s.pods, byClaim, claim) {
		if p.Spec.NodeName == node && !finished(p) {
			return true
		}
	}
	return false
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func podClaims(o any) ([]string, error) {
	if p, ok := o.(*corev1.Pod); ok {
		return convert.ClaimKeys(p), nil
	}
	return nil, nil
}

func podOwner(o any) ([]string, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		return []string{p.Namespace + "/" + owner.Kind + "/" + owner.Name}, nil
	}
	return nil, nil
}

func roomClass(o any) ([]string, error) {
	if c, ok := o.(*storagev1.CSIStorageCapacity); ok {
		return []string{c.StorageClassName}, nil
	}
	return nil, nil
}

func volumeClass(o any) ([]string, error) {
	if pv, ok := o.(*corev1.PersistentVolume); ok {
		return []string{volume.GetPersistentVolumeClass(pv)}, nil
	}
	return nil, nil
}

func unboundClass(o any) ([]string, error) {
	if pvc, ok := o.(*corev1.PersistentVolumeClaim); ok && pvc.Spec.VolumeName == "" {
		return []string{volume.GetPersistentVolumeClaimClass(pvc)}, nil
	}
	return nil, nil
}

func attachmentNode(o any) ([]string, error) {
	if a, ok := o.(*storagev1.VolumeAttachment); ok {
		return []string{a.Spec.NodeName}, nil
	}
	return nil, nil
}

func nodeClaimNode(o any) ([]string, error) {
	if c, ok := o.(*karpenterv1.NodeClaim); ok && c.Status.NodeName != "" {
		return []string{c.Status.NodeName}, nil
	}
	return nil, nil
}

func bufferWorkload(o any) ([]string, error) {
	b, ok := o.(*autoscalingv1beta1.CapacityBuffer)
	switch {
	case !ok:
		return nil, nil
	case b.Spec.PodTemplateRef != nil:
		return []string{b.Namespace + "/PodTemplate/" + b.Spec.PodTemplateRef.Name}, nil
	case b.Spec.ScalableRef != nil:
		return []string{b.Namespace + "/" + b.Spec.ScalableRef.Kind + "/" + b.Spec.ScalableRef.Name}, nil
	}
	return nil, nil
}

// typed makes Go types of the custom kinds. An object that can't be read stays as it is, so that it is not lost: a pool
// then says what is wrong with it.
func typed(o any) (any, error) {
	t, err := kubeapi.Transform(o)
	if err != nil {
		return o, nil //nolint:nilerr // read again, and told, when the object is converted
	}
	return t, nil
}
