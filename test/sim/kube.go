package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// pod is a pod as the API server has it, and what only the simulation knows.
type pod struct {
	model.Pod
	load *workload // nil for those of DaemonSets
	size size
	// moved is when a disruption by choice last moved it, or the pod that it came for; zero for never.
	moved time.Time
	// ended is when it was deleted.
	ended time.Time
}

// node is a node as the API server has it.
type node struct {
	model.Node
	claim *claim
	pods  map[string]*pod
	free  size
}

// size is what a pod takes and a node has.
type size struct{ cpu, memory, pods int64 }

func sizeOf(a model.Amounts) size {
	return size{a.Value(model.CPU), a.Value(model.Memory), a.Value(model.Pods)}
}

func (s size) plus(t size, sign int64) size {
	return size{s.cpu + sign*t.cpu, s.memory + sign*t.memory, s.pods + sign*t.pods}
}

func (s size) holds(t size) bool { return s.cpu >= t.cpu && s.memory >= t.memory && s.pods >= t.pods }

// ordered are a map's values by their keys.
func ordered[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// make creates a pod, which takes over what is left of one that was moved.
func (c *cluster) make(l *workload) {
	c.made++
	name := fmt.Sprintf("%s-%06d", l.name, c.made)
	p := &pod{load: l, size: size{l.cpu, l.memory, 1}, Pod: model.Pod{
		ID: model.PodID("shop/" + name), UID: name, Class: model.ClassID(l.class()), Phase: model.PodWaiting, CreateTime: c.now,
	}}
	switch {
	case l.protected < 0:
		p.DoNotDisrupt = true
	case l.protected > 0:
		p.DoNotDisrupt, p.DoNotDisruptUntil = true, c.now.Add(l.protected)
	}
	if len(l.heirs) > 0 {
		if l.heirs[0].class == p.Class {
			p.moved = l.heirs[0].moved
		}
		if h := l.heirs[0].hint; h != "" {
			c.hints[string(p.ID)] = h
		}
		l.heirs = l.heirs[1:]
	}
	c.pods[string(p.ID)], l.pods[string(p.ID)] = p, p
	c.pending = append(c.pending, p)
	c.touchPod(p)
	c.wake()
}

// grace is what a pod has to end, which it needs a part of.
const grace = 30 * time.Second

// end deletes a pod: it goes on for its grace period where it runs.
func (c *cluster) end(p *pod) {
	if p.Terminating || c.pods[string(p.ID)] != p { // it may have gone with its node
		return
	}
	if p.Node == "" {
		c.pending = slices.DeleteFunc(c.pending, func(q *pod) bool { return q == p })
		c.forget(p)
		return
	}
	p.Terminating, p.ended, p.TerminationDeadline = true, c.now, c.now.Add(grace)
	if p.load != nil {
		p.load.zones[c.nodes[string(p.Node)].zone()]--
	}
	c.touchPod(p)
	if n := c.nodes[string(p.Node)]; n.Ready { // where no kubelet answers it stays until the node is gone
		c.after(c.jitter(3*time.Second, 12*time.Second), func() { c.forget(p) })
	}
}

// forget takes a pod away.
func (c *cluster) forget(p *pod) {
	id := string(p.ID)
	if c.pods[id] != p {
		return
	}
	delete(c.pods, id)
	delete(c.hints, id)
	if n := c.nodes[string(p.Node)]; n != nil {
		if !p.Terminating && p.load != nil {
			p.load.zones[n.zone()]--
		}
		delete(n.pods, id)
		n.free = n.free.plus(p.size, 1)
		if p.load != nil {
			n.LastPodEventTime = c.now
			c.ledger.touch(kindNode, string(n.Name))
		}
	}
	c.touchPod(p)
	if p.load != nil {
		delete(p.load.pods, id)
		c.reconcile(p.load)
		c.wake()
	}
}

func (c *cluster) touchPod(p *pod) { c.ledger.touch(kindPod, string(p.ID)) }

func (n *node) zone() string {
	z, _ := n.Labels.Get(labels.Zone)
	return z
}

// wake lets the scheduler look at pending pods in a moment.
func (c *cluster) wake() {
	if c.scheduler {
		return
	}
	c.scheduler = true
	c.after(time.Second, func() {
		c.scheduler = false
		c.schedule()
	})
}

// schedule binds pending pods, the oldest first.
func (c *cluster) schedule() {
	var left []*pod
	for _, p := range c.pending {
		if n := c.choose(p); n != nil {
			c.bind(p, n)
			continue
		}
		if p.Phase == model.PodWaiting {
			p.Phase, p.UnschedulableTime = model.PodUnschedulable, c.now
			if c.hints[string(p.ID)] == "" { // of others it is known where they will be
				c.askSoon()
			}
			c.touchPod(p)
		}
		left = append(left, p)
	}
	c.pending = left
}

// choose finds a node for a pod: the one that a plan meant for it, else of those that fit the one that the scheduler
// likes best.
func (c *cluster) choose(p *pod) *node {
	if n := c.nodes[c.hints[string(p.ID)]]; n != nil && !c.cfg.Scatter && c.fits(p, n) {
		return n
	}
	var best *node
	var most float64
	for _, n := range c.order {
		if !c.fits(p, n) {
			continue
		}
		all := sizeOf(n.Allocatable)
		score := float64(n.free.cpu-p.size.cpu)/float64(all.cpu) + float64(n.free.memory-p.size.memory)/float64(all.memory)
		if c.cfg.Pack {
			score = -score
		}
		if n.claim.RemovalDeferred { // its taint says PreferNoSchedule
			score -= 10
		}
		if best == nil || score > most {
			best, most = n, score
		}
	}
	return best
}

// fits says whether the scheduler may bind a pod to a node.
func (c *cluster) fits(p *pod, n *node) bool {
	if !n.Ready || n.Unschedulable || len(n.Taints) > 0 || !n.free.holds(p.size) {
		return false
	}
	for _, l := range c.classes[string(p.Class)].NodeSelector {
		if v, _ := n.Labels.Get(l.Key); v != l.Value {
			return false
		}
	}
	switch p.load.spread {
	case "host":
		for _, q := range n.pods {
			if q.load == p.load {
				return false
			}
		}
	case "zone":
		least := -1
		for _, zone := range c.zonesFor(p) {
			if k := p.load.zones[zone]; least < 0 || k < least {
				least = k
			}
		}
		return p.load.zones[n.zone()]+1-least <= 2
	}
	return true
}

// zonesFor are the zones in which there are nodes that a pod's selector picks.
func (c *cluster) zonesFor(p *pod) []string {
	var out []string
	for _, n := range c.order {
		if slices.Contains(out, n.zone()) {
			continue
		}
		picked := true
		for _, l := range c.classes[string(p.Class)].NodeSelector {
			v, _ := n.Labels.Get(l.Key)
			picked = picked && v == l.Value
		}
		if picked {
			out = append(out, n.zone())
		}
	}
	return out
}

func (c *cluster) bind(p *pod, n *node) {
	p.Node, p.Phase, p.BindTime, p.UnschedulableTime = n.Name, model.PodStarting, c.now, time.Time{}
	n.pods[string(p.ID)] = p
	n.free = n.free.plus(p.size, -1)
	n.LastPodEventTime = c.now
	p.load.zones[n.zone()]++
	c.eyes.bound(p)
	c.touchPod(p)
	c.ledger.touch(kindNode, string(n.Name))
	c.after(p.load.starts+c.jitter(0, 3*time.Second), func() {
		if c.pods[string(p.ID)] != p || p.Terminating || !n.Ready {
			return
		}
		p.Phase, p.Ready = model.PodRunning, true
		c.touchPod(p)
		c.reconcile(p.load)
	})
	if l := p.load; l.lives > 0 {
		c.after(l.lives+c.jitter(0, l.lives/4), func() { c.end(p) })
	}
}

// allowed is how many ready pods of a workload may be evicted now; -1 is any number.
func (l *workload) allowed() int {
	if l.never {
		return 0
	}
	if l.unavailable < 0 {
		return -1
	}
	healthy := 0
	for _, p := range l.pods {
		if p.Ready && !p.Terminating {
			healthy++
		}
	}
	return max(0, healthy-l.replicas+(l.replicas*l.unavailable+99)/100)
}

// budgets are the API server's word on disruption budgets.
func (c *cluster) budgets() map[string]model.PodDisruptionBudget {
	out := make(map[string]model.PodDisruptionBudget)
	for _, l := range c.loads {
		if l.unavailable < 0 && !l.never {
			continue
		}
		out["shop/"+l.name] = model.PodDisruptionBudget{
			ID: "shop/" + l.name, Namespace: "shop", Selector: &model.Selector{Requirements: []model.Requirement{in("app", l.name)}},
			DisruptionsAllowed: int32(l.allowed()), AllowsUnhealthy: true, NeverAllows: l.never,
		}
	}
	return out
}

// evict asks for a pod to go; its disruption budget may say no. Its successor will know why it came.
func (c *cluster) evict(p *pod, why cause) {
	if p.Ready && p.load.allowed() == 0 && !why.forced() {
		return
	}
	c.eyes.evicted(p, why)
	h := heir{hint: c.hints[string(p.ID)], class: p.Class} // one that comes for another reason than a choice does not rest
	if why.chosen() {
		h.moved = c.now
	}
	p.load.heirs = append(p.load.heirs, h)
	c.end(p)
	c.reconcile(p.load)
}

// movable are the pods that a drain has to do with, in order.
func (n *node) movable() []*pod {
	var out []*pod
	for _, p := range n.pods {
		if p.load != nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// protected says whether a pod must not be disrupted by choice.
func (p *pod) protected(now time.Time) bool {
	return p.DoNotDisrupt && !p.Terminating && (p.DoNotDisruptUntil.IsZero() || now.Before(p.DoNotDisruptUntil))
}
