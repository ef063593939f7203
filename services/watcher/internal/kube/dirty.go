package kube

import (
	"context"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/storage"
)

// what a key means.
type what uint8

const (
	aPod what = iota
	aNode
	aNamespace
	aDaemonSet
	aBudget
	aPool
	podsOfClaim    // the pods that use the named persistent volume claim
	podsOfClass    // the pods whose claims wait for a volume of the named storage class
	podsOfOwner    // the pods of the named owner; the name is "kind/name"
	allDaemonSets  // each DaemonSet
	allWithVolumes // each pod that has a claim, and each DaemonSet
	allPools       // each node pool
	aService
	aResourceClaim
	aClaimTemplate
	nodesOfPool    // the nodes of a pool of devices; the name is "driver/pool"
	allDeviceRules // what device classes say, and each pod that claims devices
	anOverlay
	aBuffer
	buffersOf // the capacity buffers that refer to a workload; the name is "kind/name"
)

// key names something that has to be looked at again.
type key struct {
	what            what
	namespace, name string
}

// dirty is a bounded set of keys. Safe for concurrent use.
type dirty struct {
	most   int
	signal chan struct{} // buffered, one

	mu   sync.Mutex
	keys map[key]struct{}
	all  bool // the keys were too many, or everything is new
}

func newDirty(most int) *dirty {
	return &dirty{most: most, signal: make(chan struct{}, 1), keys: map[key]struct{}{}}
}

// add notes keys. It never waits: when they are too many, everything counts as dirty.
func (d *dirty) add(keys ...key) {
	if len(keys) == 0 {
		return
	}
	d.mu.Lock()
	for _, k := range keys {
		if !d.all {
			d.keys[k] = struct{}{}
		}
	}
	if len(d.keys) > d.most {
		d.all = true
		clear(d.keys)
	}
	d.mu.Unlock()
	d.wake()
}

func (d *dirty) addAll() {
	d.mu.Lock()
	d.all = true
	clear(d.keys)
	d.mu.Unlock()
	d.wake()
}

func (d *dirty) wake() {
	select {
	case d.signal <- struct{}{}:
	default:
	}
}

// take waits for keys, empties the set, and returns them sorted, or all. It is false once ctx is done.
func (d *dirty) take(ctx context.Context) (keys []key, all, ok bool) {
	select {
	case <-ctx.Done():
		return nil, false, false
	case <-d.signal:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.keys {
		keys = append(keys, k)
	}
	all = d.all
	clear(d.keys)
	d.all = false
	slices.SortFunc(keys, compareKeys)
	return keys, all, true
}

func compareKeys(a, b key) int {
	if a.what != b.what {
		return int(a.what) - int(b.what)
	}
	if c := strings.Compare(a.namespace, b.namespace); c != 0 {
		return c
	}
	return strings.Compare(a.name, b.name)
}

// keyOf makes a key of the object's own name.
func keyOf(w what) func(any) []key {
	return func(o any) []key {
		m, ok := o.(metav1.Object)
		if !ok {
			return nil
		}
		return []key{{w, m.GetNamespace(), m.GetName()}}
	}
}

func always(w what) func(any) []key {
	return func(any) []key { return []key{{what: w}} }
}

func ownerKey(kind string) func(any) []key {
	return func(o any) []key {
		switch m := o.(type) {
		case *appsv1.ReplicaSet:
			return append(workloadKeys(o), key{podsOfOwner, m.Namespace, kind + "/" + m.Name})
		case *appsv1.StatefulSet:
			return append(workloadKeys(o), key{podsOfOwner, m.Namespace, kind + "/" + m.Name})
		default:
			return nil
		}
	}
}

// workloadKeys leads from a workload to the capacity buffers that refer to it.
func workloadKeys(o any) []key {
	switch m := o.(type) {
	case *appsv1.Deployment:
		return []key{{buffersOf, m.Namespace, "Deployment/" + m.Name}}
	case *appsv1.StatefulSet:
		return []key{{buffersOf, m.Namespace, "StatefulSet/" + m.Name}}
	case *appsv1.ReplicaSet:
		if metav1.GetControllerOf(m) == nil {
			return []key{{buffersOf, m.Namespace, "ReplicaSet/" + m.Name}}
		}
	case *corev1.PodTemplate:
		return []key{{buffersOf, m.Namespace, "PodTemplate/" + m.Name}}
	}
	return nil
}

// volumeKeys leads from a volume to the pods that use it, by way of its claim, and to those that could have had it.
func volumeKeys(o any) (out []key) {
	pv, ok := o.(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	if class := volume.GetPersistentVolumeClass(pv); class != "" {
		out = append(out, key{what: podsOfClass, name: class})
	}
	if ref := pv.Spec.ClaimRef; ref != nil {
		out = append(out, key{podsOfClaim, ref.Namespace, ref.Name})
	}
	return out
}

// roomKeys leads from the room for volumes of a class to the pods that wait for one.
func roomKeys(o any) []key {
	if c, ok := o.(*storagev1.CSIStorageCapacity); ok {
		return []key{{what: podsOfClass, name: c.StorageClassName}}
	}
	return nil
}

// podKeys leads from a pod to those that share a claim for one pod at a time with it, as what a claim is to a pod
// depends on them.
func (s *Source) podKeys(o any) []key {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	out := keyOf(aPod)(p)
	for _, id := range convert.ClaimKeys(p) {
		if c := get[*corev1.PersistentVolumeClaim](s.stores.claims, id); storage.ForOnePod(c) {
			out = append(out, key{podsOfClaim, c.Namespace, c.Name})
		}
	}
	return out
}

func attachmentKeys(o any) []key {
	if a, ok := o.(*storagev1.VolumeAttachment); ok {
		return []key{{aNode, "", a.Spec.NodeName}}
	}
	return nil
}

func nodeClaimKeys(o any) []key {
	if c, ok := o.(*karpenterv1.NodeClaim); ok && c.Status.NodeName != "" {
		return []key{{aNode, "", c.Status.NodeName}}
	}
	return nil
}
