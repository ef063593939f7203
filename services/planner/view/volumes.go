package view

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/volumes"
)

// unlimited is how many devices and volumes hosts have as far as vectors count them: which ones are there, and who holds
// them, is known by name, so that counting is for nodes that are yet to be bought. It is more than can ever be attached.
const unlimited = 1 << 40

// SharedVolume is a volume that other pods may use too. A node attaches it once.
type SharedVolume struct {
	Name string
	// Limit is the place of its driver's attach limit in vectors.
	Limit int
}

// drivers indexes the CSI drivers that any pod attaches volumes by.
func drivers(s *model.Snapshot) *Index {
	var names []model.Resource
	for i := range s.PodClasses {
		for _, a := range s.PodClasses[i].VolumeAttachments {
			names = append(names, a.Resource)
		}
	}
	return NewIndex(names)
}

// attachLimits are the resources that volumes of nodes which are yet to be bought are counted by.
func attachLimits(s *model.Snapshot) []model.Resource {
	var out []model.Resource
	for _, driver := range drivers(s).names {
		out = append(out, model.AttachLimit+driver)
	}
	return out
}

// isCounted says whether a resource is one that only new nodes are counted by, and that pods do not ask for by this name.
func isCounted(r model.Resource) bool { return devices.IsDevices(r) || IsAttachLimit(r) }

// IsAttachLimit says whether a resource is a CSI driver's attach limit.
func IsAttachLimit(r model.Resource) bool {
	return strings.HasPrefix(string(r), string(model.AttachLimit))
}

// Requests are the amounts of a vector that pods ask for by these names.
func (w *World) Requests(v Vector) model.Amounts {
	return slices.DeleteFunc(w.Index.Amounts(v), func(a model.Amount) bool { return isCounted(a.Resource) })
}

// allocatable is what the catalogue says that pods can use of a type, and what volumes its nodes attach.
func (cp compiler) allocatable(t *model.InstanceType) Vector {
	v := cp.w.Index.Vector(t.Allocatable)
	for i, name := range cp.w.Index.names {
		if !IsAttachLimit(name) {
			continue
		}
		v[i] = unlimited
		if limit, ok := cp.w.volumes.Of(t, name[len(model.AttachLimit):]); ok {
			v[i] = limit
		}
	}
	return v
}

// addAttachments adds the volumes of a class's pods to what they take. Those of DaemonSets' pods are gone before others
// come.
func (cp compiler) addAttachments(c *Class) {
	c.Alone = c.Requested
	if len(c.VolumeAttachments) == 0 {
		return
	}
	c.Requested, c.Alone = slices.Clone(c.Requested), slices.Clone(c.Requested)
	for _, a := range c.VolumeAttachments {
		i, _ := cp.w.Index.Place(model.AttachLimit + a.Resource)
		c.Requested[i], c.Alone[i] = a.Value, a.Value
		for _, vol := range c.Volumes {
			if sharing(vol, a.Resource) && !c.Daemon {
				c.Shared = append(c.Shared, SharedVolume{vol.Name, i})
				c.Requested[i]--
			}
		}
	}
}

// leaveCounted takes what only new nodes are counted by out of what vectors say of a host.
func (hb hostBuilder) leaveCounted(h *Host) {
	if !slices.ContainsFunc(hb.w.Index.names, isCounted) {
		return
	}
	open := func(v Vector) Vector {
		v = slices.Clone(v)
		for i, name := range hb.w.Index.names {
			if isCounted(name) {
				v[i] = unlimited
			}
		}
		return v
	}
	h.Allocatable = open(h.Allocatable)
	h.allocatable = slices.Clone(h.allocatable)
	for i := range h.allocatable {
		h.allocatable[i] = open(h.allocatable[i])
	}
}

// attachLimits are a host's limits by driver: what its node says, or, until it does, what new nodes of its type have.
func (hb hostBuilder) attachLimits(h *Host, drivers *Index, out Vector) {
	for i := range out {
		driver := drivers.Name(i)
		out[i] = unlimited
		if h.Node != nil {
			if limit, ok := h.Node.VolumeLimits.Get(driver); ok {
				out[i] = limit
				continue
			}
		}
		if h.Claim == nil || h.Initialized {
			continue
		}
		for _, o := range hb.shapes(h.Claim) {
			t := hb.claimCatalog(h.Claim).Type(o.InstanceType)
			if t == nil {
				continue
			}
			if limit, ok := hb.w.volumes.Of(t.InstanceType, driver); ok {
				out[i] = min(out[i], limit)
			}
		}
	}
}

// VolumesLeft says how many volumes a class's pods may still attach on a host: the first driver that can attach no
// volume for one more pod, or ok. A volume that is on the host already, because another pod uses it, counts once.
func (v *View) VolumesLeft(host int, c *Class) (driver model.Resource, left int64, ok bool) {
	for _, a := range c.VolumeAttachments {
		i, _ := v.drivers.Place(a.Resource)
		need := a.Value
		for _, vol := range c.Volumes {
			if sharing(vol, a.Resource) && v.shared[host][vol.Name] > 0 {
				need--
			}
		}
		left := v.volumes[host][i]
		if need > 0 && left < need || left < 0 && detachesSoon(v, host, c, a.Resource) {
			return a.Resource, left, false
		}
	}
	return "", 0, true
}

// detachesSoon says whether a class's pods have a volume of a driver that is on a host for pods alone that will have left:
// where the host is above its limit, it is not attached again. The room of those that leave may be free already.
func detachesSoon(v *View, host int, c *Class, driver model.Resource) bool {
	return slices.ContainsFunc(c.Volumes, func(vol model.VolumeTopology) bool {
		users := v.shared[host][vol.Name]
		others, stays := users, false
		for _, p := range v.Hosts[host].Pods {
			pod := &v.Pods[p]
			soon, _ := rules.Leaves(pod.Pod, pod.Class.PodClass, v.Hosts[host].Node, v.Policy.RoomWait, v.Now)
			if slices.ContainsFunc(pod.Class.Volumes, func(its model.VolumeTopology) bool { return its.Name == vol.Name }) {
				others, stays = others-1, stays || !soon
			}
		}
		return sharing(vol, driver) && users > 0 && others <= 0 && !stays
	})
}

// sharing says whether a volume is one that pods may share, and a driver attaches it.
func sharing(vol model.VolumeTopology, driver model.Resource) bool {
	return vol.Name != "" && model.Resource(vol.Driver) == driver
}

func (v *View) attach(host int, c *Class, count int64) {
	for _, a := range c.VolumeAttachments {
		i, _ := v.drivers.Place(a.Resource)
		v.volumes[host][i] -= count * a.Value
		for _, vol := range c.Volumes {
			if sharing(vol, a.Resource) {
				v.volumes[host][i] += count - v.share(host, vol.Name, count)
			}
		}
	}
	for range count {
		v.ports[host] = append(v.ports[host], c.HostPorts...)
	}
}

// share counts more or, with a negative count, fewer users of a volume on a host, and says how many attachments that
// makes: one for the first user, one less with the last, none between.
func (v *View) share(host int, volume string, count int64) int64 {
	if v.shared[host] == nil {
		v.shared[host] = make(map[string]int64)
	}
	before := v.shared[host][volume]
	v.shared[host][volume] = before + count
	return min(before+count, 1) - min(before, 1)
}

// HeldVolumes are those that one pod at a time may use and that pods have which are bound.
func HeldVolumes(pods []Pod) volumes.Exclusive {
	out := volumes.Exclusive{}
	for i, p := range pods {
		if p.Node != "" {
			out.Hold(p.Class.PodClass, i)
		}
	}
	return out
}
