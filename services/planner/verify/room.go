package verify

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/model"
)

// room checks one place: the pods that arrive, together with those that are there.
func (c *checker) room(p place, arriving []*model.Pod) {
	if p.closed != "" {
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
		c.neighbours(p, pod, class)
	}
	c.fits(p, arriving)
	c.ports(p, arriving)
	c.attachments(p, arriving)
}

// planned refuses pods whose constraints nobody has looked at: no plan may place them.
func (c *checker) planned(p place, pod *model.Pod, class *model.PodClass) {
	hard := slices.ContainsFunc(class.TopologySpread, func(t model.TopologySpread) bool { return t.Required }) ||
		slices.ContainsFunc(class.PodAffinity, requiredTerm) || slices.ContainsFunc(class.PodAntiAffinity, requiredTerm)
	switch {
	case class.Unsupported != "":
		c.fail(p.subject, "pod %s is sent there, but %s", pod.ID, class.Unsupported)
	case hard:
		c.fail(p.subject, "pod %s is sent there, but its required spread or pod affinity can't be verified", pod.ID)
	case class.Daemon || class.Mirror:
		c.fail(p.subject, "pod %s is sent there, but nobody schedules pods of its kind", pod.ID)
	}
}

func requiredTerm(t model.PodAffinityTerm) bool { return t.Weight == 0 }

// neighbours looks for pods that do not suffer the arriving one: on the same node, or anywhere that may share its zone
// or another domain.
func (c *checker) neighbours(p place, pod *model.Pod, class *model.PodClass) {
	for _, other := range c.repelling {
		for _, term := range c.class(other).PodAntiAffinity {
			if other.ID == pod.ID || !requiredTerm(term) || !c.selects(term, class) {
				continue
			}
			if term.TopologyKey != "kubernetes.io/hostname" || (other.Node != "" && p.subject == "node "+string(other.Node)) {
				c.fail(p.subject, "pod %s is sent there, but pod %s does not suffer it nearby", pod.ID, other.ID)
				return
			}
		}
	}
}

func (c *checker) selects(t model.PodAffinityTerm, class *model.PodClass) bool {
	if !t.Selector.Matches(class.Labels) {
		return false
	}
	return slices.Contains(t.Namespaces, class.Namespace) || t.NamespaceSelector.Matches(c.namespaces[class.Namespace])
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
}

func collide(a, b model.HostPort) bool {
	everywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || everywhere(a.IP) || everywhere(b.IP))
}

func (c *checker) attachments(p place, arriving []*model.Pod) {
	sum := make(map[model.Resource]int64)
	for _, pod := range append(slices.Clone(p.bound), arriving...) {
		for _, a := range c.class(pod).VolumeAttachments {
			sum[a.Resource] += a.Value
		}
	}
	for _, pod := range arriving {
		for _, a := range c.class(pod).VolumeAttachments {
			if limit, ok := p.attachLimits.Get(a.Resource); ok && sum[a.Resource] > limit {
				c.fail(p.subject, "its pods attach %d volumes of %s, it can attach %d", sum[a.Resource], a.Resource, limit)
				return
			}
		}
	}
}
