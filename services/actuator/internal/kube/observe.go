package kube

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Observe returns what the caches hold. The value is built once per change and shared: callers must not modify it.
func (k *Kube) Observe() (cluster.State, error) {
	for _, i := range k.informers {
		if !i.informer.HasSynced() {
			return cluster.State{}, fmt.Errorf("%w: %s", cluster.ErrNotReady, i.name)
		}
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	version := k.version.Load()
	if k.memo != nil && k.memoVersion == version {
		return *k.memo, nil
	}
	state, err := k.observe()
	if err != nil {
		return cluster.State{}, err
	}
	k.memo, k.memoVersion = &state, version
	return state, nil
}

func (k *Kube) observe() (cluster.State, error) {
	nodes, err := k.nodes.List(labels.Everything())
	if err != nil {
		return cluster.State{}, fmt.Errorf("list nodes: %w", err)
	}
	attachments, err := k.attachmentsByNode()
	if err != nil {
		return cluster.State{}, err
	}

	state := cluster.State{Nodes: make([]cluster.Node, 0, len(nodes))}
	for _, n := range nodes {
		pods, err := k.podsOn(n.Name)
		if err != nil {
			return cluster.State{}, err
		}
		node := objects.Node(n, pods)
		if a := attachments[n.Name]; len(a) > 0 {
			node.VolumesAttached = k.attached(pods, a)
		}
		state.Nodes = append(state.Nodes, node)
	}
	slices.SortFunc(state.Nodes, func(a, b cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	if err := k.observePolicy(&state); err != nil {
		return cluster.State{}, err
	}
	return state, nil
}

func (k *Kube) podsOn(node string) ([]*corev1.Pod, error) {
	objects, err := k.pods.ByIndex(byNode, node)
	if err != nil {
		return nil, fmt.Errorf("list pods on node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods, nil
}

func (k *Kube) attachmentsByNode() (map[string][]*storagev1.VolumeAttachment, error) {
	all, err := k.attachments.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list volume attachments: %w", err)
	}
	byNode := make(map[string][]*storagev1.VolumeAttachment)
	for _, a := range all {
		byNode[a.Spec.NodeName] = append(byNode[a.Spec.NodeName], a)
	}
	return byNode, nil
}

// attached counts the volumes that a drain detaches: all but those of pods that it leaves where they are.
func (k *Kube) attached(pods []*corev1.Pod, attachments []*storagev1.VolumeAttachment) int {
	staying := make(map[string]bool)
	for _, p := range pods {
		if v := objects.Pod(p); v.Mirror || v.ToleratesDisrupted {
			k.addVolumes(staying, p)
		}
	}
	n := 0
	for _, a := range attachments {
		if v := a.Spec.Source.PersistentVolumeName; v == nil || !staying[*v] {
			n++
		}
	}
	return n
}

// addVolumes adds the names of the persistent volumes that the pod uses.
func (k *Kube) addVolumes(volumes map[string]bool, p *corev1.Pod) {
	for _, v := range p.Spec.Volumes {
		var name string
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = p.Name + "-" + v.Name
		default:
			continue
		}
		// A claim that the cache does not know is bound to nothing that we could count.
		if pvc, err := k.volumeClaims.PersistentVolumeClaims(p.Namespace).Get(name); err == nil {
			volumes[pvc.Spec.VolumeName] = true
		}
	}
}

// observePolicy adds pools, classes and the claims' objects.
func (k *Kube) observePolicy(s *cluster.State) error {
	if err := each(k.nodePools, func(o *unstructured.Unstructured) { s.Pools = append(s.Pools, objects.Pool(o)) }); err != nil {
		return err
	}
	if err := each(k.classes, func(o *unstructured.Unstructured) { s.Classes = append(s.Classes, objects.Class(o)) }); err != nil {
		return err
	}
	err := each(k.claims, func(o *unstructured.Unstructured) {
		id := model.ClaimID(o.GetName())
		s.ClaimObjects = append(s.ClaimObjects, id)
		if o.GetDeletionTimestamp() != nil {
			s.DeletedClaims = append(s.DeletedClaims, id)
		}
	})
	slices.SortFunc(s.Pools, func(a, b cluster.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Classes, func(a, b cluster.Class) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	slices.Sort(s.ClaimObjects)
	slices.Sort(s.DeletedClaims)
	return err
}

func each(l cache.GenericLister, visit func(*unstructured.Unstructured)) error {
	objects, err := l.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list from cache: %w", err)
	}
	for _, o := range objects {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the cache has a %T, not an object", o)
		}
		visit(u)
	}
	return nil
}
