package kube

import (
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/kerf-dev/kerf/services/internal/kubeapi"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/autoscalingv1beta1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/storage"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

// memory is what the objects themselves do not tell: where each pod was, and when a node's pods last changed. It dies
// with the process; after a restart a node's last event is the binding of the youngest pod that it has, or the restart
// itself: which pods left before no object tells.
type memory struct {
	begun bool                 // everything was read before
	pods  map[string]string    // node by pod id, for pods that count
	nodes map[string]time.Time // last event by node name

	daemons  map[string]string            // DaemonSet by pod id, for pods of DaemonSets
	services map[string]map[string]string // what Services select, by id
}

func newMemory() memory {
	return memory{pods: map[string]string{}, nodes: map[string]time.Time{}, daemons: map[string]string{}, services: map[string]map[string]string{}}
}

// saw notes where a pod is now ("" when it is nowhere, or does not count) since when, and returns the nodes that it came
// to or went from.
func (m *memory) saw(id, node string, since, now time.Time) []string {
	before := m.pods[id]
	if before == node {
		return nil
	}
	var out []string
	if before != "" {
		m.nodes[before] = now
		out = append(out, before)
	}
	if node == "" {
		delete(m.pods, id)
		return out
	}
	m.pods[id] = node
	if since.After(m.nodes[node]) {
		m.nodes[node] = since
		out = append(out, node)
	}
	return out
}

// batch collects events. Pods come first, because they tell what became of nodes.
type batch struct {
	source *Source
	now    time.Time
	events []snapshot.Event
	pods   map[string]bool // converted already
	nodes  map[string]bool // to be converted
	daemon map[string]bool // DaemonSets to be converted, by key
	pools  map[string]bool // to be converted

	buffers map[string]bool // capacity buffers to be converted, by key
}

// convert looks at the keys, or at everything. It is called by one goroutine.
func (s *Source) convert(keys []key, all bool) snapshot.Batch {
	b := &batch{
		source: s, now: s.cfg.Now(),
		pods: map[string]bool{}, nodes: map[string]bool{}, daemon: map[string]bool{}, pools: map[string]bool{},
		buffers: map[string]bool{},
	}
	out := snapshot.Batch{Time: b.now}
	if all {
		b.everything()
		out.Whole = wire.KubernetesKinds()
	} else {
		for _, k := range keys {
			b.look(k)
		}
	}
	b.deviceRules()
	for _, name := range slices.Sorted(maps.Keys(b.nodes)) {
		b.node(name)
	}
	for _, k := range slices.Sorted(maps.Keys(b.daemon)) {
		b.daemonSet(k)
	}
	for _, name := range slices.Sorted(maps.Keys(b.pools)) {
		b.pool(name)
	}
	for _, id := range slices.Sorted(maps.Keys(b.buffers)) {
		b.buffer(id)
	}
	out.Events = b.events
	return out
}

func (b *batch) everything() {
	st := &b.source.stores
	b.survey()
	for _, k := range slices.Sorted(slices.Values(st.pods.ListKeys())) {
		b.pod(k)
	}
	for _, id := range slices.Sorted(maps.Keys(b.source.memory.pods)) {
		b.pod(id) // those that have gone unnoticed, too
	}
	for _, k := range st.nodes.ListKeys() {
		if m := &b.source.memory; b.source.cfg.Cautious && !m.begun {
			m.nodes[k] = b.now
		}
		b.nodes[k] = true
	}
	b.source.memory.begun = true
	for _, k := range st.namespaces.ListKeys() {
		b.namespace(k)
	}
	for _, k := range st.budgets.ListKeys() {
		b.budget(k)
	}
	b.look(key{what: allDaemonSets})
	b.look(key{what: allPools})
	for _, k := range st.overlays.ListKeys() {
		b.overlay(k)
	}
	for _, k := range st.buffers.ListKeys() {
		b.buffers[k] = true
	}
}

func (b *batch) look(k key) {
	st := &b.source.stores
	id := k.namespace + "/" + k.name
	switch k.what {
	case aPod:
		b.pod(id)
	case aNode:
		b.nodes[k.name] = true
	case aNamespace:
		b.namespace(k.name)
	case aDaemonSet:
		b.daemon[id] = true
	case aBudget:
		b.budget(id)
	case aPool:
		b.pools[k.name] = true
	case podsOfClaim:
		b.podsBy(byClaim, id)
	case podsOfClass:
		b.waitingFor(k.name)
	case podsOfOwner:
		b.podsBy(byOwner, id)
	case anOverlay:
		b.overlay(k.name)
	case aBuffer:
		b.buffers[id] = true
	case buffersOf:
		b.buffersBy(id)
	case aService:
		b.service(k.namespace, k.name)
	case aResourceClaim:
		b.resourceClaim(id)
	case aClaimTemplate:
		b.claimTemplate(id)
		b.claimants()
	case nodesOfPool:
		b.devicePool(k.name)
	case allDeviceRules:
		b.source.devices.stale = true
		b.claimants()
	case allPools:
		for _, name := range st.pools.ListKeys() {
			b.pools[name] = true
		}
	case allWithVolumes:
		for _, claim := range st.pods.ListIndexFuncValues(byClaim) {
			b.podsBy(byClaim, claim)
		}
		b.look(key{what: allDaemonSets})
	case allDaemonSets:
		for _, id := range st.daemonSets.ListKeys() {
			b.daemon[id] = true
		}
		for _, id := range st.buffers.ListKeys() {
			b.buffers[id] = true // what their templates refer to is what DaemonSets' do
		}
	}
}

func (b *batch) buffersBy(workload string) {
	keys, err := b.source.stores.buffers.IndexKeys(byWorkload, workload)
	if err != nil {
		return // only an index that does not exist is an error
	}
	for _, k := range keys {
		b.buffers[k] = true
	}
}

func (b *batch) podsBy(index, value string) {
	keys, err := b.source.stores.pods.IndexKeys(index, value)
	if err != nil {
		return // only an index that does not exist is an error
	}
	for _, k := range keys {
		b.pod(k)
	}
}

// waitingFor looks at the pods whose claims wait for a volume of a storage class, where that depends on which there are.
func (b *batch) waitingFor(class string) {
	st := &b.source.stores
	sc := get[*storagev1.StorageClass](st.classes, class)
	if sc == nil || !storage.MakesNoVolumes(sc) && !storage.CountsRoom(st.CSIDriver(sc.Provisioner)) {
		return
	}
	keys, err := st.claims.IndexKeys(byClass, class)
	if err != nil {
		return // only an index that does not exist is an error
	}
	for _, claim := range keys {
		b.podsBy(byClaim, claim)
	}
	b.look(key{what: allDaemonSets}) // and buffers, whose templates may have such volumes
}

func (b *batch) put(o snapshot.Object) { b.events = append(b.events, snapshot.Put(b.now, o)) }

func (b *batch) gone(k snapshot.Kind, id string) {
	b.events = append(b.events, snapshot.Delete(b.now, k, id))
}

func (b *batch) pod(id string) {
	if b.pods[id] {
		return
	}
	b.pods[id] = true
	st := &b.source.stores
	p := get[*corev1.Pod](st.pods, id)
	node, since := whereabouts(p, b.now)
	touched := b.source.memory.saw(id, node, since, b.now)
	b.selects("pod", id, p)
	b.daemonPod(id, p)
	if p != nil && p.Spec.NodeName != "" && len(convert.ClaimKeys(p)) > 0 {
		touched = append(touched, p.Spec.NodeName) // which of its volumes are somebody's
	}
	for _, n := range touched {
		b.nodes[n] = true
	}
	if p != nil {
		if o, ok := convert.Pod(p, st); ok {
			b.put(o)
			return
		}
	}
	b.gone(snapshot.Pod, id)
}

// whereabouts is the node on which a pod keeps its node busy, and since when. Pods that come and go with the node, and
// pods that are about to be gone, do not.
func whereabouts(p *corev1.Pod, now time.Time) (node string, since time.Time) {
	if p == nil || finished(p) || p.DeletionTimestamp != nil {
		return "", time.Time{}
	}
	if owner := metav1.GetControllerOf(p); owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node") {
		return "", time.Time{}
	}
	if at := convert.BindTime(p); !at.IsZero() {
		return p.Spec.NodeName, at.Time
	}
	return p.Spec.NodeName, now
}

func (b *batch) node(name string) {
	s := b.source
	n := get[*corev1.Node](s.stores.nodes, name)
	if n == nil {
		delete(s.memory.nodes, name)
		b.gone(snapshot.Node, name)
		return
	}
	b.put(convert.Node(n, convert.NodeFacts{
		Claim: s.stores.claimOf(name), CSI: get[*storagev1.CSINode](s.stores.csiNodes, name),
		ForeignVolumes: s.stores.foreignVolumes(name), LastPodEvent: s.memory.nodes[name], Devices: s.nodeDevices(name),
		Repair: s.cfg.Repair,
	}))
}

func (b *batch) namespace(name string) {
	if n := get[*corev1.Namespace](b.source.stores.namespaces, name); n != nil {
		b.put(convert.Namespace(n))
		return
	}
	b.gone(snapshot.Namespace, name)
}

func (b *batch) budget(id string) {
	p := get[*policyv1.PodDisruptionBudget](b.source.stores.budgets, id)
	b.selects("budget", id, p)
	if p != nil {
		b.put(convert.PodDisruptionBudget(p))
		return
	}
	b.gone(snapshot.PodDisruptionBudget, id)
}

func (b *batch) daemonSet(id string) {
	if d := get[*appsv1.DaemonSet](b.source.stores.daemonSets, id); d != nil {
		pods := indexed[*corev1.Pod](b.source.stores.pods, byOwner, d.Namespace+"/DaemonSet/"+d.Name)
		b.put(convert.DaemonSet(d, convert.LivePod(d, pods), &b.source.stores))
		return
	}
	b.gone(snapshot.DaemonSet, id)
}

func (b *batch) pool(name string) {
	facts := convert.PoolFacts{Devices: b.source.devices.rules, NodeClasses: func(class string) bool {
		_, ok, _ := b.source.stores.nodeClasses.GetByKey(class)
		return ok
	}}
	p := get[*karpenterv1.NodePool](b.source.stores.pools, name)
	if u := get[*unstructured.Unstructured](b.source.stores.pools, name); u != nil {
		_, facts.Problem = kubeapi.FromUnstructured(u)
		p = &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	if p == nil {
		b.gone(snapshot.NodePool, name)
		return
	}
	b.put(convert.NodePool(p, facts))
}

func (b *batch) overlay(name string) {
	o, problem, ok := custom[karpenterv1alpha1.NodeOverlay](b.source.stores.overlays, name)
	if !ok {
		b.gone(snapshot.NodeOverlay, name)
		return
	}
	if problem != nil {
		o.Name = name
	}
	b.put(convert.NodeOverlay(o, problem))
}

func (b *batch) buffer(id string) {
	st := &b.source.stores
	o, problem, ok := custom[autoscalingv1beta1.CapacityBuffer](st.buffers, id)
	if !ok {
		b.gone(snapshot.CapacityBuffer, id)
		return
	}
	if problem != nil {
		o.Namespace, o.Name, _ = strings.Cut(id, "/")
	}
	b.put(convert.CapacityBuffer(o, problem, st, st))
}

// custom finds an object of a kind that users order nodes with. Of one that could not be read there is only what is wrong
// with it, and an empty one of the caller's own.
func custom[T any](s cache.Store, id string) (o *T, problem error, ok bool) {
	if o := get[*T](s, id); o != nil {
		return o, nil, true
	}
	u := get[*unstructured.Unstructured](s, id)
	if u == nil {
		return nil, nil, false
	}
	_, problem = kubeapi.FromUnstructured(u)
	return new(T), problem, true
}

func get[T any](s cache.Store, id string) T { return lookup[T](s, "", id) }
