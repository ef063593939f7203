package kube

import (
	"maps"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-dev/kerf/services/actuator/internal/objects"
)

// dirty is what has changed since the last Observe: nodes by name, and whole kinds. The informers' handlers add to it once
// their stores have the change. Safe for concurrent use; the zero value is clean.
type dirty struct {
	mu    sync.Mutex
	nodes map[string]bool
	// volumes says that claims of volumes have changed, which any node with attached volumes may use.
	volumes, pools, classes, claims bool
}

// addNodes notes nodes; "" is none. It says whether there was any.
func (d *dirty) addNodes(names ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	some := false
	for _, name := range names {
		if name == "" {
			continue
		}
		if d.nodes == nil {
			d.nodes = map[string]bool{}
		}
		d.nodes[name], some = true, true
	}
	return some
}

// add notes a kind: one of the receiver's own fields.
func (d *dirty) add(kind *bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	*kind = true
	return true
}

// changes are what dirty has noted.
type changes struct {
	nodes                           map[string]bool
	volumes, pools, classes, claims bool
}

func (c changes) none() bool {
	return len(c.nodes) == 0 && !c.volumes && !c.pools && !c.classes && !c.claims
}

// take returns what was noted, and forgets it.
func (d *dirty) take() changes {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := changes{d.nodes, d.volumes, d.pools, d.classes, d.claims}
	d.nodes, d.volumes, d.pools, d.classes, d.claims = nil, false, false, false, false
	return out
}

// merge notes again what was taken and could not be used.
func (d *dirty) merge(c changes) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes == nil {
		d.nodes = map[string]bool{}
	}
	maps.Copy(d.nodes, c.nodes)
	d.volumes, d.pools, d.classes, d.claims = d.volumes || c.volumes, d.pools || c.pools, d.classes || c.classes, d.claims || c.claims
}

// podTouched notes the node of a pod of which something has changed that is read here. What happens to a pod without a node
// matters where Unbound says something else of it.
func (k *Kube) podTouched(before, after any) bool {
	old, _ := before.(*corev1.Pod)
	p, _ := after.(*corev1.Pod)
	if old != nil && p != nil && old.UID == p.UID && old.Spec.NodeName == p.Spec.NodeName {
		if p.Spec.NodeName == "" {
			return objects.Unbound(old) != objects.Unbound(p)
		}
		if objects.Pod(old) == objects.Pod(p) {
			return false
		}
	}
	touched := waits(old) || waits(p)
	for _, x := range []*corev1.Pod{old, p} {
		if x != nil && k.dirty.addNodes(x.Spec.NodeName) {
			touched = true
		}
	}
	return touched
}

func waits(p *corev1.Pod) bool { return p != nil && p.Spec.NodeName == "" }

func (k *Kube) nodeTouched(before, after any) bool {
	old, _ := before.(*corev1.Node)
	n, _ := after.(*corev1.Node)
	switch {
	case n == nil && old == nil:
		return false
	case n == nil:
		return k.dirty.addNodes(old.Name)
	}
	return k.dirty.addNodes(n.Name)
}

func (k *Kube) attachmentTouched(before, after any) bool {
	touched := false
	for _, o := range []any{before, after} {
		if a, ok := o.(*storagev1.VolumeAttachment); ok && k.dirty.addNodes(a.Spec.NodeName) {
			touched = true
		}
	}
	return touched
}

func (k *Kube) volumesTouched(before, after any) bool {
	old, _ := before.(*corev1.PersistentVolumeClaim)
	c, _ := after.(*corev1.PersistentVolumeClaim)
	if old != nil && c != nil && old.Spec.VolumeName == c.Spec.VolumeName {
		return false
	}
	return k.dirty.add(&k.dirty.volumes)
}

// policyTouched is for pools and classes, of which everything but the status is read: the latter is Kerf's own word.
func (k *Kube) policyTouched(kind *bool) func(before, after any) bool {
	return func(before, after any) bool {
		old, _ := before.(*unstructured.Unstructured)
		o, _ := after.(*unstructured.Unstructured)
		if old != nil && o != nil && sameButResourceVersion(old, o) {
			return false
		}
		return k.dirty.add(kind)
	}
}

// sameButResourceVersion says that two versions of an object differ in their status at most.
func sameButResourceVersion(a, b *unstructured.Unstructured) bool {
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration() && reflect.DeepEqual(a.Object["spec"], b.Object["spec"]) &&
		a.GetDeletionTimestamp().Equal(b.GetDeletionTimestamp()) &&
		maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// claimTouched is for the claims' objects: which there are, and which are being deleted.
func (k *Kube) claimTouched(before, after any) bool {
	old, _ := before.(*unstructured.Unstructured)
	o, _ := after.(*unstructured.Unstructured)
	if old != nil && o != nil && (old.GetDeletionTimestamp() == nil) == (o.GetDeletionTimestamp() == nil) {
		return false
	}
	return k.dirty.add(&k.dirty.claims)
}
