// Package manifests converts sets of Kubernetes objects that no API server holds, such as those of a dry run.
//
// Workloads stand for the pods that their controllers would make, and each object finds those that it refers to in the
// set. What an object means is said in package convert. Start reading at Cluster.
package manifests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// Cluster is a set of objects that are converted together, such as the manifests of a dry run. It finds the objects that
// others refer to in itself. The zero Cluster is empty and ready; it is owned by one goroutine.
type Cluster struct {
	// Repair names conditions of nodes that matter beside those that Kerf knows of itself; nil names none.
	Repair *clusterpb.RepairPolicy

	objects  map[string]runtime.Object // by kind, namespace and name
	order    []string
	problems map[string]error // of node pools
	lookups  *lookups         // nil until they are needed
	users    map[string]int   // pods by "namespace/name" of each claim, once they are made
}

// Add takes an object; with problem not nil, a node pool that is wrong and stays, but not ready. Objects without a
// namespace that need one are of "default". Kinds that planning does not look at, and objects that are there already, are
// an error. An EC2NodeClass only counts as being there: what it stands for comes from the inventory.
func (c *Cluster) Add(o runtime.Object, problem error) error {
	kind, namespaced := kindOf(o)
	m, ok := o.(metav1.Object)
	if kind == "" || !ok {
		return fmt.Errorf("%T is not looked at by planning", o)
	}
	if namespaced && m.GetNamespace() == "" {
		m.SetNamespace(metav1.NamespaceDefault)
	}
	// A workload of another controller, such as a Rollout, says its own kind, and may stand beside a Deployment of its
	// name.
	key := cmp.Or(o.GetObjectKind().GroupVersionKind().Kind, kind) + " " + objectID(m)
	if _, ok := c.objects[key]; ok {
		return fmt.Errorf("%s %s is there twice", kind, m.GetName())
	}
	if c.objects == nil {
		c.objects, c.problems = map[string]runtime.Object{}, map[string]error{}
	}
	c.objects[key] = o
	c.order = append(c.order, key)
	c.lookups = nil
	if problem != nil {
		c.problems[m.GetName()] = problem
	}
	return nil
}

func kindOf(o runtime.Object) (kind string, namespaced bool) {
	switch o.(type) {
	case *corev1.Pod:
		return "Pod", true
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim", true
	case *appsv1.Deployment:
		return "Deployment", true
	case *appsv1.ReplicaSet:
		return "ReplicaSet", true
	case *appsv1.StatefulSet:
		return "StatefulSet", true
	case *appsv1.DaemonSet:
		return "DaemonSet", true
	case *batchv1.Job:
		return "Job", true
	case *corev1.PodTemplate:
		return "PodTemplate", true
	case *autoscalingv1beta1.CapacityBuffer:
		return "CapacityBuffer", true
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget", true
	case *corev1.Service:
		return "Service", true
	case *resourcev1.ResourceClaim:
		return "ResourceClaim", true
	case *resourcev1.ResourceClaimTemplate:
		return "ResourceClaimTemplate", true
	case *resourcev1.DeviceClass:
		return "DeviceClass", false
	case *resourcev1.ResourceSlice:
		return "ResourceSlice", false
	case *resourcev1.DeviceTaintRule:
		return "DeviceTaintRule", false
	case *nodev1.RuntimeClass:
		return "RuntimeClass", false
	case *corev1.Node:
		return "Node", false
	case *corev1.Namespace:
		return "Namespace", false
	case *corev1.PersistentVolume:
		return "PersistentVolume", false
	case *storagev1.StorageClass:
		return "StorageClass", false
	case *storagev1.CSINode:
		return "CSINode", false
	case *storagev1.CSIDriver:
		return "CSIDriver", false
	case *storagev1.CSIStorageCapacity:
		return "CSIStorageCapacity", true
	case *schedulingv1.PriorityClass:
		return "PriorityClass", false
	case *karpenterv1.NodePool:
		return "NodePool", false
	case *awsv1.EC2NodeClass:
		return "EC2NodeClass", false
	case *karpenterv1alpha1.NodeOverlay:
		return "NodeOverlay", false
	default:
		return "", false
	}
}

// Events are the snapshot events of all objects, workloads as the pods that they ask for at the time now. They hold no
// node class: the caller adds those, with catalog and offerings, as InventoryObjects.
func (c *Cluster) Events(now time.Time) ([]snapshot.Event, error) {
	w, err := c.workloads(now)
	if err != nil {
		return nil, err
	}
	refs := c.withClaims(w.Claims)
	refs.users = map[string]int{}
	for _, p := range w.Pods {
		for _, claim := range convert.ClaimKeys(p) {
			if !ended(p) {
				refs.users[claim]++
			}
		}
	}
	var out []snapshot.Event
	put := func(o snapshot.Object) { out = append(out, snapshot.Put(now, o)) }
	for _, p := range w.Pods {
		if o, ok := convert.Pod(p, refs); ok {
			put(o)
		}
	}
	for _, key := range c.order {
		switch o := c.objects[key].(type) {
		case *appsv1.DaemonSet:
			put(convert.DaemonSet(o, convert.LivePod(o, c.looked().daemons[objectID(o)]), refs))
		case *corev1.Node:
			put(convert.Node(o, convert.NodeFacts{
				CSI: find[*storagev1.CSINode](c, "CSINode", "", o.Name), Devices: c.devices(o.Name), Repair: c.Repair,
			}))
		case *corev1.Namespace:
			put(convert.Namespace(o))
		case *policyv1.PodDisruptionBudget:
			put(convert.PodDisruptionBudget(counted(o, w.Pods)))
		case *karpenterv1.NodePool:
			put(convert.NodePool(o, convert.PoolFacts{Problem: c.problems[o.Name], NodeClasses: c.hasNodeClass, Devices: c.looked().rules}))
		case *karpenterv1alpha1.NodeOverlay:
			put(convert.NodeOverlay(o, nil))
		case *autoscalingv1beta1.CapacityBuffer:
			put(convert.CapacityBuffer(created(o, now), nil, refs, c))
		}
	}
	return out, nil
}

// workloads are the pods of all objects. A StatefulSet waits for a name of its pods as long as another pod has it: such
// a pod is not made. Pods of others get names that are free. A pod that has ended keeps no name from them where a
// controller sees to it.
func (c *Cluster) workloads(now time.Time) (Workload, error) {
	var out Workload
	taken := map[string]bool{}
	isTaken := func(p *corev1.Pod) bool { return taken[objectID(p)] }
	for _, turn := range []naming{given, fixed, free} {
		for _, key := range c.order {
			if namingOf(c.objects[key]) != turn {
				continue
			}
			w, err := PodsOf(c.objects[key], now)
			if err != nil {
				return Workload{}, err
			}
			if turn == given {
				w.Pods = slices.DeleteFunc(w.Pods, func(p *corev1.Pod) bool { return ended(p) && metav1.GetControllerOf(p) != nil })
			}
			if turn == fixed {
				w.Pods = slices.DeleteFunc(w.Pods, isTaken)
			}
			if turn == free {
				w.rename(isTaken)
			}
			for _, p := range w.Pods {
				taken[objectID(p)] = true
			}
			out.Pods, out.Claims = append(out.Pods, w.Pods...), append(out.Claims, w.Claims...)
		}
	}
	return out, nil
}

// withClaims is the cluster with the claims that workloads ask for, where it has none of that name.
func (c *Cluster) withClaims(claims []*corev1.PersistentVolumeClaim) *Cluster {
	out := &Cluster{objects: make(map[string]runtime.Object, len(c.objects)+len(claims)), order: c.order, problems: c.problems}
	out.lookups = c.looked()
	for _, pvc := range claims {
		out.objects["PersistentVolumeClaim "+objectID(pvc)] = pvc
	}
	maps.Copy(out.objects, c.objects)
	return out
}

func (c *Cluster) hasNodeClass(name string) bool {
	return find[*awsv1.EC2NodeClass](c, "EC2NodeClass", "", name) != nil
}

// PersistentVolumeClaim implements References.
func (c *Cluster) PersistentVolumeClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	return find[*corev1.PersistentVolumeClaim](c, "PersistentVolumeClaim", namespace, name)
}

// PersistentVolume implements References.
func (c *Cluster) PersistentVolume(name string) *corev1.PersistentVolume {
	return find[*corev1.PersistentVolume](c, "PersistentVolume", "", name)
}

// StorageClass implements References.
func (c *Cluster) StorageClass(name string) *storagev1.StorageClass {
	if name != "" {
		return find[*storagev1.StorageClass](c, "StorageClass", "", name)
	}
	return convert.DefaultStorageClass(all[*storagev1.StorageClass](c))
}

// PriorityClass implements References.
func (c *Cluster) PriorityClass(name string) *schedulingv1.PriorityClass {
	if name != "" {
		return find[*schedulingv1.PriorityClass](c, "PriorityClass", "", name)
	}
	return convert.DefaultPriorityClass(all[*schedulingv1.PriorityClass](c))
}

// OwnerRevision implements References.
func (c *Cluster) OwnerRevision(kind, namespace, name string) string {
	switch kind {
	case "ReplicaSet":
		return convert.ReplicaSetRevision(find[*appsv1.ReplicaSet](c, kind, namespace, name))
	case "StatefulSet":
		return convert.StatefulSetRevision(find[*appsv1.StatefulSet](c, kind, namespace, name))
	default:
		return ""
	}
}

// PodTemplate implements Templates.
func (c *Cluster) PodTemplate(namespace, name string) *corev1.PodTemplate {
	return find[*corev1.PodTemplate](c, "PodTemplate", namespace, name)
}

// Deployment implements Templates.
func (c *Cluster) Deployment(namespace, name string) *appsv1.Deployment {
	return find[*appsv1.Deployment](c, "Deployment", namespace, name)
}

// StatefulSet implements Templates.
func (c *Cluster) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return find[*appsv1.StatefulSet](c, "StatefulSet", namespace, name)
}

// ReplicaSet implements Templates.
func (c *Cluster) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return find[*appsv1.ReplicaSet](c, "ReplicaSet", namespace, name)
}

func find[T runtime.Object](c *Cluster, kind, namespace, name string) T {
	o, _ := c.objects[kind+" "+namespace+"/"+name].(T)
	return o
}

func all[T runtime.Object](c *Cluster) []T {
	var out []T
	for _, key := range c.order {
		if o, ok := c.objects[key].(T); ok {
			out = append(out, o)
		}
	}
	return out
}

// created is a buffer of a manifest, which is made when it is read.
func created(b *autoscalingv1beta1.CapacityBuffer, now time.Time) *autoscalingv1beta1.CapacityBuffer {
	if !b.CreationTimestamp.IsZero() {
		return b
	}
	b = b.DeepCopy()
	b.CreationTimestamp = metav1.NewTime(now)
	return b
}
