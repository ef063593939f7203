package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
)

// devices is what is known of devices, beside their objects.
type devices struct {
	rules *device.Rules
	stale bool                           // the rules have to be put together again
	held  map[string]map[device.Key]bool // by claim: devices that something uses which is no pod
	nodes map[string]nodeDevices
}

// nodeDevices are a node's devices, and what they were made of.
type nodeDevices struct {
	from string
	list []*clusterpb.NodeDevice
}

func newDevices() devices {
	return devices{rules: device.NewRules(), held: map[string]map[device.Key]bool{}, nodes: map[string]nodeDevices{}}
}

// resourceClaim looks at a claim: the rules that it makes, the pods that use it, and what else holds its devices.
func (b *batch) resourceClaim(id string) {
	d := &b.source.devices
	c := get[*resourcev1.ResourceClaim](b.source.stores.resourceClaims, id)
	var spec *resourcev1.ResourceClaimSpec
	var held map[device.Key]bool
	if c != nil {
		spec, held = &c.Spec, device.HeldByOthers(c)
	}
	d.stale = d.rules.Put("claim "+id, spec) || d.stale
	if before := d.held[id]; !maps.Equal(before, held) {
		for k := range held {
			b.devicePool(k.Driver + "/" + k.Pool)
		}
		for k := range before {
			b.devicePool(k.Driver + "/" + k.Pool)
		}
		if delete(d.held, id); len(held) > 0 {
			d.held[id] = held
		}
		clear(d.nodes)
	}
	b.podsBy(byResourceClaim, id)
}

func (b *batch) claimTemplate(id string) {
	d := &b.source.devices
	var spec *resourcev1.ResourceClaimSpec
	if t := get[*resourcev1.ResourceClaimTemplate](b.source.stores.templates, id); t != nil {
		spec = &t.Spec.Spec
	}
	d.stale = d.rules.Put("template "+id, spec) || d.stale
}

// claimants marks all that claims devices.
func (b *batch) claimants() {
	st := &b.source.stores
	for _, id := range st.pods.ListKeys() {
		if p := get[*corev1.Pod](st.pods, id); p != nil && claimsDevices(p) {
			b.pod(id)
		}
	}
	b.look(key{what: allDaemonSets})
}

// claimsDevices says whether a pod claims devices, by name or by a resource that stands, or may stand, for a device class.
func claimsDevices(p *corev1.Pod) bool {
	if len(p.Spec.ResourceClaims) > 0 {
		return true
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for name := range c.Resources.Requests {
			if device.Implied(name) || reader.IsExtended(name) {
				return true
			}
		}
	}
	return false
}

// devicePool marks the nodes of a pool of devices.
func (b *batch) devicePool(id string) {
	for _, s := range indexed[*resourcev1.ResourceSlice](b.source.stores.slices, byDevicePool, id) {
		for _, n := range device.SliceNodes(s) {
			b.nodes[n] = true
		}
	}
}

// deviceRules puts the rules together again when what they are made of has changed. Then each node that has devices, and
// each pool whose owner says what it has, is judged anew.
func (b *batch) deviceRules() {
	d := &b.source.devices
	if !d.stale {
		return
	}
	d.stale = false
	st := &b.source.stores
	d.rules.Classes(list[*resourcev1.DeviceClass](st.deviceClasses))
	d.rules.Taints(list[*resourcev1.DeviceTaintRule](st.taintRules))
	clear(d.nodes)
	for _, n := range st.slices.ListIndexFuncValues(byNode) {
		b.nodes[n] = true
	}
	for _, name := range st.pools.ListKeys() {
		b.pools[name] = true
	}
}

// nodeDevices are a node's devices. They are kept until what they are made of changes: a node is converted with each pod
// that comes or goes, and expressions take their time.
func (s *Source) nodeDevices(node string) []*clusterpb.NodeDevice {
	pools := map[string]bool{}
	for _, x := range indexed[*resourcev1.ResourceSlice](s.stores.slices, byNode, node) {
		pools[device.SlicePool(x)] = true
	}
	if len(pools) == 0 {
		delete(s.devices.nodes, node)
		return nil
	}
	var all []*resourcev1.ResourceSlice
	var from strings.Builder
	fmt.Fprint(&from, s.devices.rules.Version())
	for _, id := range slices.Sorted(maps.Keys(pools)) {
		found := indexed[*resourcev1.ResourceSlice](s.stores.slices, byDevicePool, id)
		slices.SortFunc(found, func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
		for _, x := range found {
			fmt.Fprintf(&from, " %s/%s", x.UID, x.ResourceVersion)
		}
		all = append(all, found...)
	}
	if known := s.devices.nodes[node]; known.from == from.String() {
		return known.list
	}
	held := func(k device.Key) bool {
		for _, h := range s.devices.held {
			if h[k] {
				return true
			}
		}
		return false
	}
	list := device.OfNode(node, all, s.devices.rules, held)
	s.devices.nodes[node] = nodeDevices{from.String(), list}
	return list
}
