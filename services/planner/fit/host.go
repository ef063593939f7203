package fit

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Matcher judges classes on the hosts of a view, and remembers what can't change.
type Matcher struct {
	v     *view.View
	peers Peers
	// devices is nil where no class claims any.
	devices *devices.Allocator
	// static is the verdict by profile and host: 0 not judged yet, 1 admitted, 2 refused.
	static [][]uint8
	// most is how many pods of one owner Capacity lets a host have; 0 for any number.
	most int
}

// Peers judges what rules about other pods have to say on a host of the view. *topology.Tally does.
type Peers interface {
	// OnHost is the rule that keeps one more pod off a host, or the zero Reason.
	OnHost(c *view.Class, host int) model.Reason
	// CapacityOn is how many pods, up to limit, may go to a host one after the other.
	CapacityOn(c *view.Class, host, limit int) int
}

// CheckPeers makes the matcher judge by rules about other pods too, in Host and in Capacity.
func (m *Matcher) CheckPeers(p Peers) { m.peers = p }

// NewMatcher judges on the hosts of a view. It belongs to one goroutine, like the view.
func NewMatcher(v *view.View) *Matcher {
	return &Matcher{v: v, static: make([][]uint8, len(v.Profiles))}
}

// Capped is the same matcher for pods that a plan moves: its Capacity keeps the policy's cap on pods of one owner. Where
// pending pods go on nodes that are there, the scheduler says, which knows of none.
func (m *Matcher) Capped() *Matcher {
	out := *m
	out.most = m.v.Policy.MaxPodsOfWorkloadPerNode
	return &out
}

// UnderCap is how many more pods of a class, up to n, a host may have by the cap.
func (m *Matcher) UnderCap(c *view.Class, host, n int) int {
	o := rules.OwnerOf(c.PodClass)
	if m.most <= 0 || o.Kind == "" {
		return n
	}
	return max(0, min(n, m.most-int(m.v.Owned(host, o))))
}

// Host says whether one more pod of a class may run on a host, or which rule is first to forbid it.
func (m *Matcher) Host(c *view.Class, host int) model.Reason {
	if r := m.staticReason(c, host); !r.OK() {
		return r
	}
	for _, check := range []func(*view.View, *view.Class, int) model.Reason{
		Resources,    // what is left must hold one pod
		HostPorts,    // no port of the pod may be taken
		VolumeLimits, // each CSI driver must be able to attach the pod's volumes
	} {
		if r := check(m.v, c, host); !r.OK() {
			return r
		}
	}
	if r := m.deviceRule(c, host); !r.OK() {
		return r // the devices that the pod claims must be free there
	}
	if m.peers != nil {
		return m.peers.OnHost(c, host) // spread, affinity, anti-affinity
	}
	return model.Reason{}
}

// Admits says whether labels and taints let a class run on a host at all, whatever capacity is left.
func (m *Matcher) Admits(c *view.Class, host int) bool {
	row := m.static[c.Profile.Index]
	if row == nil {
		row = make([]uint8, len(m.v.Hosts))
		m.static[c.Profile.Index] = row
	}
	if row[host] == 0 {
		row[host] = 1
		if !m.staticReason(c, host).OK() {
			row[host] = 2
		}
	}
	return row[host] == 1
}

func (m *Matcher) staticReason(c *view.Class, host int) model.Reason {
	h := m.v.Hosts[host]
	for _, ls := range h.LabelSets {
		if r := Static(c, &Place{Labels: ls, Open: h.Open, Taints: h.Taints, Fresh: h.Node == nil}); !r.OK() {
			r.Subject = h.Name()
			return r
		}
	}
	return model.Reason{}
}

// Capacity is how many more pods of a class, up to limit, a host can take; 0 when a rule forbids the first.
func (m *Matcher) Capacity(c *view.Class, host, limit int) int {
	n := view.Fits(m.v.Free(host), c.Requested, limit)
	if n == 0 || !m.v.Open(host) || !m.Admits(c, host) {
		return 0
	}
	if len(c.HostPorts) > 0 {
		n = 1
		if PortsClash(c.HostPorts, m.v.Ports(host)) {
			return 0
		}
	}
	n = m.DeviceCapacity(c, host, m.volumes(c, host, m.UnderCap(c, host, n)))
	if n > 0 && m.peers != nil {
		return m.peers.CapacityOn(c, host, n)
	}
	return n
}

// volumes is for how many pods, up to n, the CSI drivers of a host can attach the volumes.
func (m *Matcher) volumes(c *view.Class, host, n int) int {
	if len(c.VolumeAttachments) == 0 {
		return n
	}
	mark := m.v.Fork()
	defer m.v.Revert(mark)
	for i := range n {
		if _, _, ok := m.v.VolumesLeft(host, c); !ok {
			return i
		}
		m.v.Place(host, c, 1)
	}
	return n
}

// Resources says whether one pod fits a host's free capacity.
func Resources(v *view.View, c *view.Class, host int) model.Reason {
	return Vectors(v.Index, c.Requested, v.Free(host), v.Hosts[host].Name())
}

// Vectors says whether request fits into free; subject is whose capacity it is.
func Vectors(ix *view.Index, request, free view.Vector, subject string) model.Reason {
	for i, q := range request {
		if q > 0 && free[i] < q {
			name := ix.Name(i)
			return model.Reason{
				Code:    model.CodeResources,
				Subject: subject,
				Message: fmt.Sprintf("needs %s of %s, %s has %s left", Quantity(name, q), name, subject, Quantity(name, max(0, free[i]))),
			}
		}
	}
	return model.Reason{}
}

// HostPorts says whether the ports of a pod are free on a host.
func HostPorts(v *view.View, c *view.Class, host int) model.Reason {
	p, clash := taken(c.HostPorts, v.Ports(host))
	if !clash {
		return model.Reason{}
	}
	return model.Reason{
		Code:    model.CodeHostPort,
		Subject: v.Hosts[host].Name(),
		Message: fmt.Sprintf("host port %d/%s is taken", p.Port, p.Protocol),
	}
}

// DaemonPorts says whether the ports of a pod are free on a new node, by those that DaemonSets take there.
func DaemonPorts(pod, daemons []model.HostPort) model.Reason {
	p, clash := taken(pod, daemons)
	if !clash {
		return model.Reason{}
	}
	return model.Reason{
		Code:    model.CodeHostPort,
		Message: fmt.Sprintf("a DaemonSet takes host port %d/%s on every node", p.Port, p.Protocol),
		Remedy:  "let the pod or the DaemonSet take another port, or allow nodes that the DaemonSet does not run on",
	}
}

// PortsClash says whether two lists of host ports can't be on one node.
func PortsClash(a, b []model.HostPort) bool {
	_, clash := taken(a, b)
	return clash
}

// taken finds the first of some ports that others take.
func taken(ports, others []model.HostPort) (port model.HostPort, is bool) {
	for _, p := range ports {
		if slices.ContainsFunc(others, func(q model.HostPort) bool { return same(p, q) }) {
			return p, true
		}
	}
	return model.HostPort{}, false
}

func same(p, q model.HostPort) bool {
	return p.Port == q.Port && p.Protocol == q.Protocol && (p.IP == q.IP || everywhere(p.IP) || everywhere(q.IP))
}

func everywhere(ip string) bool { return ip == "" || ip == "0.0.0.0" }

// VolumeLimits says whether the CSI drivers of a host can attach the volumes of one more pod.
func VolumeLimits(v *view.View, c *view.Class, host int) model.Reason {
	driver, left, ok := v.VolumesLeft(host, c)
	if ok {
		return model.Reason{}
	}
	return model.Reason{
		Code:    model.CodeVolumeLimit,
		Subject: v.Hosts[host].Name(),
		Message: fmt.Sprintf("driver %s can attach %d more volumes to %s", driver, max(0, left), v.Hosts[host].Name()),
	}
}
