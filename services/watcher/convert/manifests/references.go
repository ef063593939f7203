package manifests

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
	"github.com/kerf-dev/kerf/services/watcher/convert/storage"
)

// lookups are what is found by looking at all objects of a cluster. They are made when they are first asked for, and
// again when an object has come.
type lookups struct {
	selected map[string]bool
	services map[string][]map[string]string
	rules    *device.Rules
	classes  []*resourcev1.DeviceClass
	slices   map[string][]*resourcev1.ResourceSlice // by node: all of the pools that have something for it
	held     map[device.Key]bool
	daemons  map[string][]*corev1.Pod // by "namespace/name" of their DaemonSet
	// volumes and room are by storage class.
	volumes map[string][]*corev1.PersistentVolume
	room    map[string][]*storagev1.CSIStorageCapacity
}

func (c *Cluster) looked() *lookups {
	if c.lookups != nil {
		return c.lookups
	}
	l := &lookups{
		selected: map[string]bool{}, services: map[string][]map[string]string{}, rules: device.NewRules(),
		slices: map[string][]*resourcev1.ResourceSlice{}, held: map[device.Key]bool{}, daemons: map[string][]*corev1.Pod{},
		volumes: volumes(c), room: map[string][]*storagev1.CSIStorageCapacity{},
	}
	for _, r := range all[*storagev1.CSIStorageCapacity](c) {
		l.room[r.StorageClassName] = append(l.room[r.StorageClassName], r)
	}
	c.lookups = l
	pools := map[string][]*resourcev1.ResourceSlice{}
	for _, key := range c.order {
		o := c.objects[key]
		for _, label := range convert.SelectsByIdentity(o) {
			l.selected[label] = true
		}
		if t := podTemplate(o); t != nil {
			for _, label := range convert.SelectsByIdentity(&corev1.Pod{Spec: t.Spec}) {
				l.selected[label] = true
			}
		}
		switch o := o.(type) {
		case *corev1.Service:
			if s := convert.ServiceSelector(o); s != nil {
				l.services[o.Namespace] = append(l.services[o.Namespace], s)
			}
		case *corev1.Pod:
			if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "DaemonSet" {
				id := o.Namespace + "/" + owner.Name
				l.daemons[id] = append(l.daemons[id], o)
			}
		case *resourcev1.ResourceClaim:
			l.rules.Put(key, &o.Spec)
			maps.Copy(l.held, device.HeldByOthers(o))
		case *resourcev1.ResourceClaimTemplate:
			l.rules.Put(key, &o.Spec.Spec)
		case *resourcev1.ResourceSlice:
			pools[device.SlicePool(o)] = append(pools[device.SlicePool(o)], o)
		}
	}
	l.classes = all[*resourcev1.DeviceClass](c)
	l.rules.Classes(l.classes)
	l.rules.Taints(all[*resourcev1.DeviceTaintRule](c))
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		var nodes []string
		for _, s := range pools[pool] {
			nodes = append(nodes, device.SliceNodes(s)...)
		}
		for _, node := range reader.SortedSet(nodes) {
			l.slices[node] = append(l.slices[node], pools[pool]...)
		}
	}
	return l
}

// podTemplate is what the pods of a workload look like; nil for what is no workload.
func podTemplate(o any) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	default:
		return nil
	}
}

// devices are a node's devices.
func (c *Cluster) devices(node string) []*clusterpb.NodeDevice {
	l := c.looked()
	return device.OfNode(node, l.slices[node], l.rules, func(k device.Key) bool { return l.held[k] })
}

// OwnerSelector implements References. Pods that a Deployment's manifest asks for are selected as by its ReplicaSet, which
// is seldom among manifests.
func (c *Cluster) OwnerSelector(kind, namespace, name string) *metav1.LabelSelector {
	switch kind {
	case "ReplicaSet", "ReplicationController":
		if rs := find[*appsv1.ReplicaSet](c, kind, namespace, name); rs != nil {
			return rs.Spec.Selector
		}
	case "Deployment", "Rollout":
		d := find[*appsv1.Deployment](c, kind, namespace, name)
		if d == nil || d.Spec.Selector == nil {
			return nil
		}
		s := d.Spec.Selector.DeepCopy()
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]string{}
		}
		s.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = convert.TemplateHash(*d.Spec.Template.DeepCopy())
		return s
	case "StatefulSet":
		if s := find[*appsv1.StatefulSet](c, kind, namespace, name); s != nil {
			return s.Spec.Selector
		}
	}
	return nil
}

// ServiceSelectors implements References.
func (c *Cluster) ServiceSelectors(namespace string) []map[string]string {
	return c.looked().services[namespace]
}

// Selected implements References.
func (c *Cluster) Selected(label string) bool { return c.looked().selected[label] }

// PersistentVolumes implements References.
func (c *Cluster) PersistentVolumes(class string) []*corev1.PersistentVolume {
	return c.looked().volumes[class]
}

// volumes are those of a cluster, by storage class. One that no control plane has seen is free until a claim names it.
func volumes(c *Cluster) map[string][]*corev1.PersistentVolume {
	claims, out := map[string]*corev1.PersistentVolumeClaim{}, map[string][]*corev1.PersistentVolume{}
	for _, o := range c.objects {
		if pvc, ok := o.(*corev1.PersistentVolumeClaim); ok && pvc.Spec.VolumeName != "" {
			claims[pvc.Spec.VolumeName] = pvc
		}
	}
	for _, v := range all[*corev1.PersistentVolume](c) {
		v = v.DeepCopy()
		if pvc := claims[v.Name]; pvc != nil {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pvc.Namespace, Name: pvc.Name, UID: pvc.UID}
			v.Status.Phase = corev1.VolumeBound
		}
		v.Status.Phase = cmp.Or(v.Status.Phase, corev1.VolumeAvailable)
		class := volume.GetPersistentVolumeClass(v)
		out[class] = append(out[class], v)
	}
	return out
}

// CSIDriver implements References. Of files without any CSINode no one can tell which nodes lack a driver, and none
// counts as lacking one.
func (c *Cluster) CSIDriver(name string) *storagev1.CSIDriver {
	d := find[*storagev1.CSIDriver](c, "CSIDriver", "", name)
	if storage.KeepsOff(d) && len(all[*storagev1.CSINode](c)) == 0 {
		d = d.DeepCopy()
		d.Spec.PreventPodSchedulingIfMissing = nil
	}
	return d
}

// StorageCapacities implements References.
func (c *Cluster) StorageCapacities(class string) []*storagev1.CSIStorageCapacity {
	return c.looked().room[class]
}

// ClaimUsers implements References.
func (c *Cluster) ClaimUsers(namespace, name string) int { return c.users[namespace+"/"+name] }

// RuntimeClass implements References.
func (c *Cluster) RuntimeClass(name string) *nodev1.RuntimeClass {
	return find[*nodev1.RuntimeClass](c, "RuntimeClass", "", name)
}

// ResourceClaim implements References.
func (c *Cluster) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	return find[*resourcev1.ResourceClaim](c, "ResourceClaim", namespace, name)
}

// ResourceClaimTemplate implements References.
func (c *Cluster) ResourceClaimTemplate(namespace, name string) *resourcev1.ResourceClaimTemplate {
	return find[*resourcev1.ResourceClaimTemplate](c, "ResourceClaimTemplate", namespace, name)
}

// DeviceClass implements References.
func (c *Cluster) DeviceClass(name string) *resourcev1.DeviceClass {
	return find[*resourcev1.DeviceClass](c, "DeviceClass", "", name)
}

// ExtendedClass implements References.
func (c *Cluster) ExtendedClass(resource string) *resourcev1.DeviceClass {
	return device.ClassOf(c.looked().classes, resource)
}

// objectID is how objects are called here: "namespace/name".
func objectID(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }
