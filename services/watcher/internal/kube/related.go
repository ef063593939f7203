package kube

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
)

// Indexes of resource claims, slices and the pods that refer to them.
const (
	byResourceClaim = "resourceclaim" // pods by "namespace/name" of each resource claim
	byDevicePool    = "devicepool"    // resource slices by "driver/pool"
)

// related are stores that tell what pods and nodes are beside their own objects: who belongs together by default, what a
// runtime costs, and which devices there are. Clusters older than dynamic resource allocation have none of the last.
type related struct {
	services, slices, controllers, runtimes  cache.Indexer
	resourceClaims, templates, deviceClasses cache.Indexer

	// selectors are those of Services by namespace, made when they are first asked for.
	selectors map[string][]map[string]string
	identity  identity
}

func podResourceClaims(o any) ([]string, error) {
	if p, ok := o.(*corev1.Pod); ok {
		return device.ClaimKeys(p), nil
	}
	return nil, nil
}

func slicePool(o any) ([]string, error) {
	if s, ok := o.(*resourcev1.ResourceSlice); ok {
		return []string{device.SlicePool(s)}, nil
	}
	return nil, nil
}

func sliceNodes(o any) ([]string, error) {
	if s, ok := o.(*resourcev1.ResourceSlice); ok {
		return device.SliceNodes(s), nil
	}
	return nil, nil
}

// sliceKeys leads from a slice to its nodes, and to all nodes of its pool: they have devices only while the pool is whole.
func sliceKeys(o any) []key {
	s, ok := o.(*resourcev1.ResourceSlice)
	if !ok {
		return nil
	}
	out := []key{{what: nodesOfPool, name: device.SlicePool(s)}}
	for _, n := range device.SliceNodes(s) {
		out = append(out, key{what: aNode, name: n})
	}
	return out
}

func controllerKeys(o any) []key {
	if c, ok := o.(*corev1.ReplicationController); ok {
		return []key{{podsOfOwner, c.Namespace, "ReplicationController/" + c.Name}}
	}
	return nil
}

// OwnerSelector implements convert.References.
func (s *stores) OwnerSelector(kind, namespace, name string) *metav1.LabelSelector {
	switch kind {
	case "ReplicaSet":
		if o := lookup[*appsv1.ReplicaSet](s.replicaSets, namespace, name); o != nil {
			return o.Spec.Selector
		}
	case "StatefulSet":
		if o := lookup[*appsv1.StatefulSet](s.statefulSets, namespace, name); o != nil {
			return o.Spec.Selector
		}
	case "ReplicationController":
		if o := lookup[*corev1.ReplicationController](s.controllers, namespace, name); o != nil {
			return &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
		}
	}
	return nil
}

// ServiceSelectors implements convert.References.
func (s *related) ServiceSelectors(namespace string) []map[string]string {
	if known, ok := s.selectors[namespace]; ok {
		return known
	}
	var out []map[string]string
	for _, o := range indexed[*corev1.Service](s.services, cache.NamespaceIndex, namespace) {
		if sel := convert.ServiceSelector(o); sel != nil {
			out = append(out, sel)
		}
	}
	s.selectors[namespace] = out
	return out
}

// Selected implements convert.References.
func (s *related) Selected(label string) bool { return s.identity.uses[label] > 0 }

// RuntimeClass implements convert.References.
func (s *related) RuntimeClass(name string) *nodev1.RuntimeClass {
	return lookup[*nodev1.RuntimeClass](s.runtimes, "", name)
}

// ResourceClaim implements convert.References.
func (s *related) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	return lookup[*resourcev1.ResourceClaim](s.resourceClaims, namespace, name)
}

// ResourceClaimTemplate implements convert.References.
func (s *related) ResourceClaimTemplate(namespace, name string) *resourcev1.ResourceClaimTemplate {
	return lookup[*resourcev1.ResourceClaimTemplate](s.templates, namespace, name)
}

// DeviceClass implements convert.References.
func (s *related) DeviceClass(name string) *resourcev1.DeviceClass {
	return lookup[*resourcev1.DeviceClass](s.deviceClasses, "", name)
}

// ExtendedClass implements convert.References.
func (s *related) ExtendedClass(resource string) *resourcev1.DeviceClass {
	return device.ClassOf(list[*resourcev1.DeviceClass](s.deviceClasses), resource)
}

// identity knows which identity labels anything selects pods by, and what does.
type identity struct {
	by   map[string][]string // by the object's kind and key
	uses map[string]int
}

func newIdentity() identity { return identity{by: map[string][]string{}, uses: map[string]int{}} }

// note takes what an object selects by, and says whether the set of labels that are selected by is another one now.
func (i *identity) note(object string, labels []string) (changed bool) {
	for _, l := range labels {
		if i.uses[l]++; i.uses[l] == 1 {
			changed = true
		}
	}
	for _, l := range i.by[object] {
		if i.uses[l]--; i.uses[l] == 0 {
			changed = true
		}
	}
	if delete(i.by, object); len(labels) > 0 {
		i.by[object] = labels
	}
	return changed
}

// selects notes what an object selects pods by; nil where it is gone. When that changes what all classes are made of,
// everything is looked at again.
func (b *batch) selects(kind, id string, o any) {
	if b.source.stores.identity.note(kind+" "+id, convert.SelectsByIdentity(o)) {
		b.source.dirty.addAll()
	}
}

// survey learns all that identity labels are selected by, before the first pod is converted.
func (b *batch) survey() {
	st := &b.source.stores
	st.identity = newIdentity()
	clear(st.selectors)
	clear(b.source.memory.services)
	for _, o := range list[*corev1.Service](st.services) {
		if s := convert.ServiceSelector(o); s != nil {
			b.source.memory.services[o.Namespace+"/"+o.Name] = s
		}
	}
	note := func(kind string, store cache.Store) {
		for _, id := range store.ListKeys() {
			o, _, _ := store.GetByKey(id)
			st.identity.note(kind+" "+id, convert.SelectsByIdentity(o))
		}
	}
	note("pod", st.pods)
	note("budget", st.budgets)
	note("service", st.services)
	b.source.devices = newDevices()
	for _, id := range st.resourceClaims.ListKeys() {
		b.resourceClaim(id)
	}
	for _, id := range st.templates.ListKeys() {
		b.claimTemplate(id)
	}
	b.source.devices.stale = true
}

// service looks at a Service. Only a selector that is another one concerns pods: all of the namespace's, because the one
// that it had before is not known any more.
func (b *batch) service(namespace, name string) {
	st := &b.source.stores
	id := namespace + "/" + name
	o := get[*corev1.Service](st.services, id)
	b.selects("service", id, o)
	now := convert.ServiceSelector(o)
	if before := b.source.memory.services[id]; maps.Equal(before, now) {
		return
	}
	if delete(b.source.memory.services, id); now != nil {
		b.source.memory.services[id] = now
	}
	delete(st.selectors, namespace)
	b.podsBy(cache.NamespaceIndex, namespace)
}

// daemonPod notes that a pod of a DaemonSet has come, changed or gone, which may be what the DaemonSet is judged by.
func (b *batch) daemonPod(id string, p *corev1.Pod) {
	daemons := b.source.memory.daemons
	owner := ""
	if p != nil {
		if o := metav1.GetControllerOf(p); o != nil && o.Kind == "DaemonSet" {
			owner = p.Namespace + "/" + o.Name
		}
	}
	for _, d := range []string{daemons[id], owner} {
		if d != "" {
			b.daemon[d] = true
		}
	}
	if delete(daemons, id); owner != "" {
		daemons[id] = owner
	}
}
