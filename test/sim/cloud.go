package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// claim is a claim as the actuator has it.
type claim struct {
	model.Claim
	node *node
	// group is the disruption that it is a candidate or a replacement of.
	group *group
	why   cause
	// forced drains ask no one.
	forced bool
}

// group is a disruption under way.
type group struct {
	record       *model.DisruptionRecord
	candidates   []*claim
	replacements []*claim
	begun        bool
}

// cause is why pods are evicted.
type cause int

const (
	forMoney cause = iota
	forDrift
	forAge
	forReclaim
	forHealth
	causes
)

func (w cause) String() string {
	return [...]string{"consolidation", "drift", "expiry", "spot reclaim", "unhealthy node"}[w]
}

// chosen says whether it could have waited, forced whether no one is asked.
func (w cause) chosen() bool { return w == forMoney || w == forDrift || w == forAge }
func (w cause) forced() bool { return w == forReclaim || w == forHealth }

func causeOf(r model.DisruptionReason) cause {
	switch r {
	case model.ReasonDrifted:
		return forDrift
	case model.ReasonExpired:
		return forAge
	case model.ReasonInterrupted:
		return forReclaim
	case model.ReasonUnhealthy:
		return forHealth
	default:
		return forMoney
	}
}

func (c *cluster) touchClaim(cl *claim) { c.ledger.touch(kindClaim, string(cl.ID)) }
func (c *cluster) touchNode(n *node)    { c.ledger.touch(kindNode, string(n.Name)) }

// launch asks the cloud for an instance: the first offering of the claim that there is.
func (c *cluster) launch(cl *claim) {
	cl.State, cl.Reached = model.ClaimLaunching, model.ClaimLaunching
	c.touchClaim(cl)
	c.after(c.jitter(2*time.Second, 5*time.Second), func() {
		if c.claims[string(cl.ID)] != cl {
			return
		}
		for _, o := range cl.Offerings {
			id := offerID(o.InstanceType, o.Zone, o.CapacityType)
			if c.market.soldOut[id].After(c.now) {
				c.day.soldOut++
				c.sawNone(id)
				continue
			}
			c.launched(cl, o)
			return
		}
		c.day.failed++
		c.fail(cl)
	})
}

// sawNone remembers for a while that an offering was not available.
func (c *cluster) sawNone(id string) {
	const memory = 3 * time.Minute
	o := *c.market.offers[id]
	o.UnavailableUntil = c.now.Add(memory)
	c.market.offers[id] = &o
	c.ledger.touch(kindOffering, id)
}

func (c *cluster) launched(cl *claim, o model.RankedOffering) {
	t := c.market.byName[string(o.InstanceType)]
	cl.InstanceType, cl.Zone, cl.CapacityType = o.InstanceType, o.Zone, o.CapacityType
	cl.Price = c.market.offers[offerID(o.InstanceType, o.Zone, o.CapacityType)].Price
	cl.Capacity, cl.Allocatable = t.Capacity, t.Allocatable
	cl.InstanceID, cl.ImageID = "i-"+string(cl.ID), c.class.Images[0].ID
	cl.ProviderID = "aws:///" + cl.Zone + "/" + cl.InstanceID
	c.reach(cl, model.ClaimLaunched)
	cl.LaunchTime = c.now
	c.day.launched++
	if cl.CapacityType == model.Spot {
		c.threaten(cl)
	}
	c.after(c.jitter(25*time.Second, 40*time.Second), func() { c.join(cl) })
}

func (c *cluster) reach(cl *claim, s model.ClaimState) {
	cl.State, cl.StateTime = s, c.now
	if s < model.ClaimDraining {
		cl.Reached = s
	}
	c.touchClaim(cl)
}

// join makes the instance a node, with its DaemonSets' pods.
func (c *cluster) join(cl *claim) {
	if c.claims[string(cl.ID)] != cl || cl.State >= model.ClaimDraining {
		return
	}
	pool := c.pool(cl.NodePool)
	labels := map[string]string{
		labels.Hostname: string(cl.ID), labels.Zone: cl.Zone, labels.Region: "us-east-1", labels.CapacityType: cl.CapacityType.String(),
		labels.NodePool: string(cl.NodePool), labels.NodeClass: string(cl.NodeClass), labels.Registered: "true",
		labels.Initialized: "true",
	}
	for _, l := range append(slices.Clone(c.market.byName[string(cl.InstanceType)].Labels), pool.Labels...) {
		labels[l.Key] = l.Value
	}
	n := &node{claim: cl, pods: map[string]*pod{}, free: sizeOf(cl.Allocatable), Node: model.Node{
		Name: model.NodeName(cl.ID), ProviderID: cl.ProviderID, Claim: cl.ID, Labels: toLabels(labels), Allocatable: cl.Allocatable,
		Capacity: cl.Capacity, CreateTime: c.now, Unschedulable: true,
	}}
	cl.Node, cl.node = n.Name, n
	c.nodes[string(n.Name)] = n
	c.order = append(c.order, n)
	slices.SortFunc(c.order, func(a, b *node) int { return strings.Compare(string(a.Name), string(b.Name)) })
	c.touchNode(n)
	c.reach(cl, model.ClaimRegistered)
	for _, d := range c.daemons {
		c.made++
		p := &pod{size: sizeOf(c.classes[string(d.Class)].Requests), Pod: model.Pod{
			ID: model.PodID(fmt.Sprintf("%s-%06d", d.ID, c.made)), Class: d.Class, Node: n.Name, Phase: model.PodRunning, Ready: true,
			CreateTime: c.now, BindTime: c.now,
		}}
		p.UID = string(p.ID)
		c.pods[string(p.ID)], n.pods[string(p.ID)] = p, p
		n.free = n.free.plus(p.size, -1)
		c.touchPod(p)
	}
	c.after(c.jitter(6*time.Second, 12*time.Second), func() {
		if c.claims[string(cl.ID)] != cl || cl.State >= model.ClaimDraining {
			return
		}
		n.Ready, n.Unschedulable = true, false
		cl.InitializeTime = c.now
		c.touchNode(n)
		c.reach(cl, model.ClaimInitialized)
		c.wake()
		if cl.group != nil {
			c.advance(cl.group)
		}
	})
}

func toLabels(m map[string]string) model.Labels {
	var out model.Labels
	for k, v := range m {
		out = append(out, model.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b model.Label) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// fail gives a claim up that nothing was available for, and the disruption that it was to make safe.
func (c *cluster) fail(cl *claim) {
	c.remove(cl)
	if g := cl.group; g != nil && !g.begun && g.record.EndTime.IsZero() {
		c.day.rolledBack++
		g.record.RolledBack, g.record.EndTime = true, c.now
		c.ledger.touch(kindRecord, string(g.record.ID))
		for _, other := range g.candidates {
			if other.State >= model.ClaimDraining || c.claims[string(other.ID)] != other { // the cloud took it meanwhile
				continue
			}
			other.Disruption, other.DisruptionReason, other.group = "", 0, nil
			other.node.Taints = nil
			c.touchNode(other.node)
			c.touchClaim(other)
		}
		for _, other := range g.replacements {
			other.Replaces, other.group = "", nil
			c.touchClaim(other)
		}
		c.wake()
	}
}

// advance begins to drain once all replacements are there.
func (c *cluster) advance(g *group) {
	if g.begun || !g.record.EndTime.IsZero() {
		return
	}
	for _, r := range g.replacements {
		if r.State != model.ClaimInitialized {
			return
		}
	}
	g.begun = true
	c.drainNext(g)
}

// drainNext drains the candidates of a disruption, and where it is staged as many as budgets let go now.
func (c *cluster) drainNext(g *group) {
	for _, cl := range g.candidates {
		if cl.State < model.ClaimDraining && (!g.record.Staged || c.eyes.may(cl, g.record.Reason)) {
			c.drain(cl)
		}
	}
}

// stuck is how long after it was deleted a pod does not hold up a drain any more.
const stuck = time.Minute

// drain empties a node and ends its instance.
func (c *cluster) drain(cl *claim) {
	if cl.State >= model.ClaimDraining || c.claims[string(cl.ID)] != cl {
		return
	}
	c.reach(cl, model.ClaimDraining)
	c.drainStep(cl, c.now)
}

func (c *cluster) drainStep(cl *claim, since time.Time) {
	if cl.State != model.ClaimDraining || c.claims[string(cl.ID)] != cl {
		return
	}
	left := 0
	if cl.node != nil {
		for _, p := range cl.node.movable() {
			if p.Terminating && c.now.Sub(p.ended) > stuck { // no one there will end it
				continue
			}
			left++
			if !p.Terminating && (cl.forced || !p.protected(c.now)) {
				c.evict(p, cl.why)
			}
		}
	}
	if left == 0 || cl.why == forHealth {
		c.day.drained(c, cl, since)
		c.terminate(cl)
		return
	}
	c.after(5*time.Second, func() { c.drainStep(cl, since) })
}

// terminate ends the instance: it costs nothing more, and is gone a little later with what still runs there.
func (c *cluster) terminate(cl *claim) {
	c.reach(cl, model.ClaimTerminating)
	if g := cl.group; g != nil && g.begun && g.record.EndTime.IsZero() {
		c.drainNext(g)
	}
	c.after(c.jitter(20*time.Second, 40*time.Second), func() {
		if c.claims[string(cl.ID)] == cl {
			c.remove(cl)
		}
	})
}

// remove takes a claim, its node and what runs there out of the world.
func (c *cluster) remove(cl *claim) {
	id := string(cl.ID)
	delete(c.claims, id)
	c.touchClaim(cl)
	if _, noticed := c.notices[id]; noticed {
		delete(c.notices, id)
		c.ledger.touch(kindNotice, id)
	}
	if n := cl.node; n != nil {
		pods := ordered(n.pods)
		for _, p := range pods {
			if p.load != nil && !p.Terminating {
				c.eyes.evicted(p, cl.why)
				p.load.heirs = append(p.load.heirs, heir{hint: c.hints[string(p.ID)]})
			}
			c.forget(p)
		}
		delete(c.nodes, string(n.Name))
		c.order = slices.DeleteFunc(c.order, func(m *node) bool { return m == n })
		c.touchNode(n)
	}
	if g := cl.group; g != nil && g.record.EndTime.IsZero() && !slices.ContainsFunc(g.candidates, func(x *claim) bool { return c.claims[string(x.ID)] == x }) {
		g.record.EndTime = c.now
		c.ledger.touch(kindRecord, string(g.record.ID))
	}
}

// threaten draws when AWS wants a spot instance back: of two hundred one an hour.
func (c *cluster) threaten(cl *claim) {
	lives := time.Duration(c.rng.ExpFloat64() * 200 * float64(time.Hour)).Truncate(time.Second)
	c.after(lives, func() { c.reclaim(cl) })
}

// reclaim announces that an instance goes in two minutes. The actuator drains it for most of that time.
func (c *cluster) reclaim(cl *claim) {
	if c.claims[string(cl.ID)] != cl || cl.State >= model.ClaimTerminating {
		return
	}
	const notice, patience = 2 * time.Minute, 45 * time.Second
	c.day.reclaims++
	deadline := c.now.Add(notice)
	c.notices[string(cl.ID)] = &model.Notice{
		ID: string(cl.ID), Kind: model.NoticeSpotInterruption, InstanceID: cl.InstanceID, Claim: cl.ID, EventTime: c.now, Deadline: deadline,
	}
	c.ledger.touch(kindNotice, string(cl.ID))
	c.taint(cl)
	c.after(patience, func() {
		if cl.State < model.ClaimDraining {
			cl.why, cl.forced, cl.DrainDeadline = forReclaim, true, deadline
			c.drain(cl)
		}
	})
	c.at(deadline, func() {
		if c.claims[string(cl.ID)] == cl {
			cl.why = forReclaim
			c.remove(cl)
		}
	})
}

// taint keeps new pods away from a node that goes.
func (c *cluster) taint(cl *claim) {
	if n := cl.node; n != nil && len(n.Taints) == 0 {
		n.Taints = []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}
		c.touchNode(n)
	}
}

// ail lets a node's network fail, as the monitoring agent says: its pods go on.
func (c *cluster) ail(n *node) {
	if c.nodes[string(n.Name)] != n || !n.Ready {
		return
	}
	c.day.mark(c.now, "a node's network fails")
	n.Conditions = []model.NodeCondition{{Type: "NetworkingReady", Status: "False", TransitionTime: c.now}}
	c.touchNode(n)
}

// makeUnhealthy lets a node's kubelet fall silent.
func (c *cluster) makeUnhealthy(n *node) {
	if c.nodes[string(n.Name)] != n || !n.Ready {
		return
	}
	c.day.mark(c.now, "a node falls silent")
	n.Ready = false
	n.Conditions = []model.NodeCondition{{Type: "Ready", Status: "Unknown", TransitionTime: c.now}}
	c.touchNode(n)
	for _, p := range n.movable() {
		p.Ready = false
		c.touchPod(p)
	}
	c.after(5*time.Minute, func() { // Kubernetes' patience
		if c.nodes[string(n.Name)] != n {
			return
		}
		for _, p := range n.movable() {
			if !p.Terminating {
				c.evict(p, forHealth)
			}
		}
	})
}
