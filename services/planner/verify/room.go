package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// room checks one place: the pods that arrive, together with those that are there.
func (c *checker) room(p place, arriving []*model.Pod) {
	allVirtual := !slices.ContainsFunc(arriving, func(p *model.Pod) bool { return !virtual(p.ID) })
	if p.closed != "" && !(p.going && allVirtual) {
		c.fail(p.subject, "pod %s is sent there, but %s", arriving[0].ID, p.closed)
		return
	}
	judged := make(map[model.ClassID]bool)
	for _, pod := range arriving {
		if judged[pod.Class] {
			continue
		}
		judged[pod.Class] = true
		class := c.class(pod)
		c.planned(p, pod, class)
		for _, s := range p.shapes {
			if why := refuses(class, p.taints, s); why != "" {
				c.fail(p.subject, "pod %s can't run there (%s): %s", pod.ID, s.name, why)
			}
		}
	}
	c.fits(p, arriving)
	c.ports(p, arriving)
	c.attachments(p, arriving)
}

// planned refuses pods that Kerf does not plan for: no plan may place them.
func (c *checker) planned(p place, pod *model.Pod, class *model.PodClass) {
	switch {
	case class.Unsupported != "":
		c.fail(p.subject, "pod %s is sent there, but %s", pod.ID, class.Unsupported)
	case class.Daemon || class.Mirror:
		c.fail(p.subject, "pod %s is sent there, but nobody schedules pods of its kind", pod.ID)
	}
}

// fits adds up what is there and what arrives, and for each shape what will start there by itself.
func (c *checker) fits(p place, arriving []*model.Pod) {
	pods := make(map[model.Resource]int64)
	for _, pod := range p.bound {
		add(pods, c.class(pod))
	}
	asked := make(map[model.Resource]bool)
	for _, pod := range arriving {
		class := c.class(pod)
		add(pods, class)
		for _, a := range class.Requests {
			asked[a.Resource] = asked[a.Resource] || a.Value > 0
		}
	}
	order := slices.Sorted(maps.Keys(asked))
	for _, s := range p.shapes {
		sum := maps.Clone(pods)
		for _, class := range c.daemons(p, s) {
			add(sum, class)
		}
		for _, r := range order {
			if have := s.allocatable.Value(r); asked[r] && sum[r] > have {
				c.fail(p.subject, "its pods and DaemonSets need %d of %s, %s has %d", sum[r], r, s.name, have)
			}
		}
	}
}

func add(sum map[model.Resource]int64, class *model.PodClass) {
	for _, a := range class.Requests {
		sum[a.Resource] += a.Value
	}
}

// daemons lists the DaemonSets whose pods are not there yet and may still start.
func (c *checker) daemons(p place, s *shape) []*model.PodClass {
	known, ok := c.riders[s]
	if ok {
		return known
	}
	var out []*model.PodClass
	for _, d := range c.snap.DaemonSets {
		class := c.classes[d.Class]
		if class == nil || !mayAdmit(class, p.taints, s) {
			continue
		}
		runs := slices.ContainsFunc(p.bound, func(pod *model.Pod) bool {
			there := c.class(pod)
			return there.Daemon && there.Namespace == class.Namespace && there.OwnerName == class.OwnerName
		})
		if !runs {
			out = append(out, class)
		}
	}
	c.riders[s] = out
	return out
}

func (c *checker) ports(p place, arriving []*model.Pod) {
	type port struct {
		model.HostPort
		pod model.PodID
	}
	var taken []port
	for _, pod := range append(slices.Clone(p.bound), arriving...) {
		for _, hp := range c.class(pod).HostPorts {
			for _, other := range taken {
				if other.pod != pod.ID && collide(hp, other.HostPort) && slices.Contains(arriving, pod) {
					c.fail(p.subject, "pods %s and %s both take port %d/%s", other.pod, pod.ID, hp.Port, hp.Protocol)
				}
			}
			taken = append(taken, port{hp, pod.ID})
		}
	}
	c.daemonPorts(p, arriving)
}

// daemonPorts checks that no pod takes a port that a DaemonSet's pod will need, which is still to start on the node.
func (c *checker) daemonPorts(p place, arriving []*model.Pod) {
	for _, s := range p.shapes {
		for _, daemon := range c.daemons(p, s) {
			for _, hp := range daemon.HostPorts {
				for _, pod := range arriving {
					if slices.ContainsFunc(c.class(pod).HostPorts, func(other model.HostPort) bool { return collide(hp, other) }) {
						c.fail(p.subject, "pod %s takes port %d/%s, which DaemonSet %s/%s needs on %s",
							pod.ID, hp.Port, hp.Protocol, daemon.Namespace, daemon.OwnerName, s.name)
						return
					}
				}
			}
		}
	}
}

func collide(a, b model.HostPort) bool {
	everywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || everywhere(a.IP) || everywhere(b.IP))
}

// attachments checks the attach limits of CSI drivers. A volume that pods share is attached once.
func (c *checker) attachments(p place, arriving []*model.Pod) {
	if len(p.attachLimits) == 0 {
		return
	}
	before, sum := c.attached(p.bound), c.attached(append(slices.Clone(p.bound), arriving...))
	for _, pod := range arriving {
		for _, a := range c.class(pod).VolumeAttachments {
			limit, ok := p.attachLimits.Get(a.Resource)
			if ok && sum[a.Resource] > limit && sum[a.Resource] > before[a.Resource] {
				c.fail(p.subject, "its pods attach %d volumes of %s, it can attach %d", sum[a.Resource], a.Resource, limit)
				return
			}
		}
	}
}

// attached counts the volumes of some pods on one node, by driver.
func (c *checker) attached(pods []*model.Pod) map[model.Resource]int64 {
	sum := make(map[model.Resource]int64)
	shared := make(map[string]bool)
	for _, pod := range pods {
		class := c.class(pod)
		for _, a := range class.VolumeAttachments {
			sum[a.Resource] += a.Value
		}
		for _, v := range class.Volumes {
			if v.Name != "" && v.Driver != "" && shared[v.Name] {
				sum[model.Resource(v.Driver)]--
			}
			shared[v.Name] = true
		}
	}
	return sum
}
