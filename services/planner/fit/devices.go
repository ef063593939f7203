package fit

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Devices counts who has which devices on the hosts of a view; nil where no class claims any. moves says which bound pods
// leave the nodes that go: where all leave that share a claim, the claim can be allocated anew.
func Devices(v *view.View, moves func(pod int) bool) *devices.Allocator {
	if v.Devices == nil {
		return nil
	}
	var freed []model.NodeName
	for _, h := range v.Hosts {
		if h.Node != nil && h.Leaving && !slices.ContainsFunc(h.Pods, func(p int) bool { return keepsShared(v, p, moves) }) {
			freed = append(freed, h.Node.Name)
		}
	}
	t := devices.NewAllocator(freed...)
	templates := devices.NewTemplates(v.Snapshot, v.Now)
	for i, h := range v.Hosts {
		name := model.NodeName("")
		if h.Node != nil {
			name = h.Node.Name
		}
		t.Add(i, name, stocks(v, h, templates)...)
	}
	return t
}

func keepsShared(v *view.View, pod int, moves func(pod int) bool) bool {
	p := v.Pods[pod]
	return devices.SharesClaims(p.Class.PodClass) && !p.Terminating && !moves(pod)
}

// stocks are the devices of a host, for each type that it may turn out to be.
func stocks(v *view.View, h *view.Host, templates *devices.Templates) []*devices.Stock {
	var pool *model.NodePool
	if h.Pool != nil {
		pool = h.Pool.NodePool
	}
	if h.Node != nil {
		held := make([]*model.Pod, len(h.Pods))
		for i, p := range h.Pods {
			held[i] = v.Pods[p].Pod
		}
		s := devices.NewStock(templates.Node(h.Node, pool), devices.Held(held...))
		ReserveDevices(s, daemonsToCome(v, h))
		return []*devices.Stock{s}
	}
	if pool == nil {
		return nil
	}
	types := []model.TypeName{h.Claim.InstanceType}
	if h.Claim.InstanceType == "" {
		types = nil
		for _, o := range h.Claim.Offerings {
			if !slices.Contains(types, o.InstanceType) {
				types = append(types, o.InstanceType)
			}
		}
	}
	var out []*devices.Stock
	for _, t := range types {
		s := devices.NewStock(templates.Of(pool, t), nil)
		ReserveDevices(s, daemonsToCome(v, h))
		out = append(out, s)
	}
	return out
}

// daemonsToCome are the classes of DaemonSets that claim devices and whose pods will still start on a host.
func daemonsToCome(v *view.View, h *view.Host) []*view.Class {
	var out []*view.Class
	for _, d := range v.Daemons {
		c := d.Class
		if !devices.ClaimsDevices(c.PodClass) || slices.ContainsFunc(h.Pods, func(p int) bool { return sameDaemon(v.Pods[p].Class, c) }) {
			continue
		}
		may := func(ls model.Labels) bool {
			return MayRun(c.Profile, &Place{Labels: ls, Open: h.Open, Taints: h.Taints, Fresh: h.Node == nil})
		}
		if slices.ContainsFunc(h.LabelSets, may) {
			out = append(out, c)
		}
	}
	return out
}

func sameDaemon(a, b *view.Class) bool {
	return a.Daemon && a.Namespace == b.Namespace && a.OwnerName == b.OwnerName
}

// ReserveDevices takes the devices that pods of DaemonSets will have, as far as there are any.
func ReserveDevices(s *devices.Stock, daemons []*view.Class) {
	for _, c := range daemons {
		s.Take(slices.DeleteFunc(slices.Clone(c.DeviceClaims), func(d model.DeviceClaim) bool { return d.Name != "" }))
	}
}

// placer lets devices follow what is placed in a view.
type placer struct{ *devices.Allocator }

// Placed takes the devices of pods. One that is placed whatever there is may find none.
func (p placer) Placed(host int, c *view.Class, count int) {
	for range count {
		p.Take(host, c.PodClass)
	}
}

// TrackDevices makes the matcher judge by devices too, and lets them follow its view; nil where there are none to judge by.
func (m *Matcher) TrackDevices(t *devices.Allocator) {
	m.devices = t
	if t == nil {
		m.v.FollowAlso(nil)
		return
	}
	m.v.FollowAlso(placer{t})
}

// DeviceCapacity is how many more pods of a class, up to limit, find their devices on a host.
func (m *Matcher) DeviceCapacity(c *view.Class, host, limit int) int {
	if m.devices == nil {
		return limit
	}
	return m.devices.Capacity(host, c.PodClass, limit)
}

// HasDevices says whether a host would have the devices for a pod of a class, were they not taken.
func (m *Matcher) HasDevices(c *view.Class, host int) bool {
	return m.devices == nil || m.devices.Has(host, c.PodClass)
}

// deviceRule is the rule that keeps one more pod off a host because of devices, or the zero Reason.
func (m *Matcher) deviceRule(c *view.Class, host int) model.Reason {
	if m.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return model.Reason{}
	}
	return m.devices.Why(host, c.PodClass, m.v.Hosts[host].Name())
}
