package place

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// Capacity checks everywhere that pods are sent to, that they may run and fit there together with those that are there.
func (c *Check) Capacity() {
	sent := c.f.Decisions.Sent
	for _, to := range slices.SortedFunc(maps.Keys(sent), func(a, b facts.Target) int {
		return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Node, b.Node))
	}) {
		if p := c.places.at(to); p != nil {
			c.r.Blame(p.disruption, func() { c.together(p, sent[to]) })
		} else {
			c.r.Fail(to.String(), "pods are sent to it, and it does not exist")
		}
	}
}

// together checks one place.
func (c *Check) together(p *Place, arriving []*model.Pod) {
	allVirtual := !slices.ContainsFunc(arriving, func(p *model.Pod) bool { return !p.ID.Virtual() })
	if p.closed != "" && !(p.going && allVirtual) {
		c.r.Fail(p.subject, "pod %s is sent there, but %s", arriving[0].ID, p.closed)
		return
	}
	judged := make(map[model.ClassID]bool)
	for _, pod := range arriving {
		if !judged[pod.Class] {
			judged[pod.Class] = true
			c.mayRun(p, pod)
		}
	}
	c.fits(p, arriving)
	c.ports(p, arriving)
	c.attachments(p, arriving)
}

// mayRun checks one pod of a class: no plan may place pods that Kerf does not plan for, and labels and taints must be
// right.
func (c *Check) mayRun(p *Place, pod *model.Pod) {
	class := c.f.Cluster.Class(pod)
	switch why := c.f.Unsupported(class); {
	case why != "":
		c.r.Fail(p.subject, "pod %s is sent there, but %s", pod.ID, why)
	case class.Daemon || class.Mirror:
		c.r.Fail(p.subject, "pod %s is sent there, but pods of its kind are not scheduled", pod.ID)
	}
	rules := c.places.nodeRules(class)
	for _, v := range p.kind.variants {
		if why := rules.refuses(p.kind.taints, v); why != "" {
			c.r.Fail(p.subject, "pod %s can't run there (%s): %s", pod.ID, v.Name, why)
		}
	}
}

// fits adds up what is there and what arrives, and for each variant what will start there by itself (NodeResourcesFit).
// What no pod that arrives asks for is not looked at, unless the plan buys the node: DaemonSets' pods must fit there
// whatever others ask for.
func (c *Check) fits(p *Place, arriving []*model.Pod) {
	pods := make(map[model.Resource]int64)
	for _, pod := range p.staying {
		Add(pods, c.f.Cluster.Class(pod))
	}
	asked := make(map[model.Resource]bool)
	for _, pod := range arriving {
		class := c.f.Cluster.Class(pod)
		Add(pods, class)
		for _, a := range class.Requests {
			asked[a.Resource] = asked[a.Resource] || a.Value > 0
		}
	}
	for _, v := range p.kind.variants {
		sum := maps.Clone(pods)
		for _, class := range c.places.Daemons(p, v) {
			Add(sum, class)
		}
		looked := maps.Clone(asked)
		if p.fresh {
			for r, n := range sum {
				looked[r] = looked[r] || n > 0
			}
		}
		for _, r := range slices.Sorted(maps.Keys(looked)) {
			if have := v.allocatable.Value(r); looked[r] && sum[r] > have {
				c.r.Fail(p.subject, "its pods and DaemonSets need %d of %s, %s has %d", sum[r], r, v.Name, have)
			}
		}
	}
}

// Add adds what one pod of a class asks for.
func Add(sum map[model.Resource]int64, class *model.PodClass) {
	for _, a := range class.Requests {
		sum[a.Resource] += a.Value
	}
}

// ports checks that no port is taken twice (NodePorts): by the pods, or those of DaemonSets that are still to start.
func (c *Check) ports(p *Place, arriving []*model.Pod) {
	type port struct {
		model.HostPort
		holder string
	}
	ports := func(pods []*model.Pod) (out []port) {
		for _, pod := range pods {
			for _, hp := range c.f.Cluster.Class(pod).HostPorts {
				out = append(out, port{hp, "pod " + string(pod.ID)})
			}
		}
		return out
	}
	wanted := ports(arriving)
	if len(wanted) == 0 {
		return
	}
	for _, v := range p.kind.variants {
		taken := ports(p.staying)
		for _, class := range c.places.Daemons(p, v) {
			for _, hp := range class.HostPorts {
				taken = append(taken, port{hp, "DaemonSet " + class.Namespace + "/" + class.OwnerName})
			}
		}
		for _, x := range wanted {
			other := func(y port) bool { return y.holder != x.holder && collide(x.HostPort, y.HostPort) }
			if i := slices.IndexFunc(taken, other); i >= 0 {
				c.r.Fail(p.subject, "%s and %s both take port %d/%s on %s", taken[i].holder, x.holder, x.Port, x.Protocol, v.Name)
				return
			}
			taken = append(taken, x)
		}
	}
}

func collide(a, b model.HostPort) bool {
	everywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" }
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || everywhere(a.IP) || everywhere(b.IP))
}

// attachments checks the attach limits of CSI drivers (NodeVolumeLimits).
func (c *Check) attachments(p *Place, arriving []*model.Pod) {
	if !slices.ContainsFunc(arriving, func(pod *model.Pod) bool { return len(c.f.Cluster.Class(pod).VolumeAttachments) > 0 }) {
		return
	}
	before, sum := c.f.Cluster.Attached(p.staying), c.f.Cluster.Attached(append(slices.Clone(p.staying), arriving...))
	for _, driver := range slices.Sorted(maps.Keys(sum)) {
		if limit, ok := p.attachLimit(driver); ok && sum[driver] > limit && sum[driver] > before[driver] {
			c.r.Fail(p.subject, "its pods attach %d volumes of %s, it can attach %d", sum[driver], driver, limit)
		}
	}
}
