package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/offer"
)

// place is one node, existing or to come, with what is on it.
type place struct {
	subject string
	// closed says why no pod may be sent there; "" when pods may.
	closed string
	// going says that it is closed because the plan takes it away: until then it has what buffers keep there.
	going  bool
	taints []model.Taint
	// shapes are all that it may turn out to be; pods must be right on each.
	shapes []*shape
	// bound are the pods that it has.
	bound []*model.Pod
	// attachLimits are by CSI driver; a driver that is not listed has no limit.
	attachLimits model.Amounts
}

// rooms checks everywhere that pods are sent to, that they may run and fit there together.
func (c *checker) rooms() {
	for _, name := range slices.Sorted(maps.Keys(c.toNode)) {
		node := c.nodes[name]
		if node == nil {
			c.fail("node "+string(name), "pods are sent to it, and there is no such node")
			continue
		}
		c.room(c.nodePlace(node), c.toNode[name])
	}
	for _, id := range slices.Sorted(maps.Keys(c.toClaim)) {
		if fresh := c.fresh[id]; fresh != nil {
			before := len(c.found)
			c.room(c.freshPlace(fresh), c.toClaim[id])
			c.ascribe(before, fresh.Disruption)
			continue
		}
		claim := c.live[id]
		if claim == nil {
			c.fail("claim "+string(id), "pods are sent to it, and there is no such claim")
			continue
		}
		c.room(c.claimPlace(claim), c.toClaim[id])
	}
}

func (c *checker) nodePlace(n *model.Node) place {
	p := place{
		subject: "node " + string(n.Name), taints: n.Taints, bound: c.podsOn[n.Name], attachLimits: n.VolumeLimits,
		shapes: []*shape{{name: "as it is", labels: labelMap(n.Labels), allocatable: n.Allocatable}},
	}
	switch {
	case nodeLeaving(n):
		p.closed = "the node is leaving"
	case n.Unschedulable:
		p.closed = "the node is cordoned"
	case c.ended[n.Claim]:
		p.closed = "its claim has ended"
	}
	claim := c.claimOn[n.Name]
	if claim == nil {
		return p
	}
	if d, ok := c.candidate[claim.ID]; ok {
		p.closed = "disruption " + string(d) + " of the same plan takes it away"
		p.going = !nodeLeaving(n) && !n.Unschedulable && !c.leaving(claim)
	} else if c.leaving(claim) {
		p.closed = "claim " + string(claim.ID) + " is leaving"
	}
	if claim.State < model.ClaimInitialized {
		c.stillStarting(&p, n, claim)
	}
	return p
}

// stillStarting completes a node that does not report everything yet, by what is known from its claim.
func (c *checker) stillStarting(p *place, n *model.Node, claim *model.Claim) {
	p.shapes[0].allocatable = complete(n.Allocatable, offer.With(claim.Allocatable, c.overlays.Claim(claim)))
	if claim.State < model.ClaimRegistered {
		p.taints = claim.Taints
		p.shapes = c.claimShapes(claim)
		for i := range p.shapes {
			p.shapes[i].allocatable = complete(n.Allocatable, p.shapes[i].allocatable)
		}
	}
	var stays []model.Taint
	for _, t := range p.taints {
		starting := slices.ContainsFunc(claim.StartupTaints, func(s model.Taint) bool {
			return s.Key == t.Key && s.Effect == t.Effect
		})
		if !starting && !passes(t) {
			stays = append(stays, t)
		}
	}
	p.taints = stays
}

// passes says whether a taint is gone once a node is ready.
func passes(t model.Taint) bool {
	switch t.Key {
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "karpenter.sh/unregistered",
		"node.cloudprovider.kubernetes.io/uninitialized":
		return true
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}

// complete takes from expected what reported has nothing of.
func complete(reported, expected model.Amounts) model.Amounts {
	sum := amountMap(expected)
	for _, a := range reported {
		if a.Value != 0 {
			sum[a.Resource] = a.Value
		}
	}
	return amounts(sum)
}

// claimPlace is a claim in flight; one whose node has joined is that node.
func (c *checker) claimPlace(claim *model.Claim) place {
	if n := c.nodeOf[claim.ID]; n != nil {
		return c.nodePlace(n)
	}
	p := place{subject: "claim " + string(claim.ID), taints: claim.Taints, shapes: c.claimShapes(claim)}
	switch {
	case c.candidate[claim.ID] != "":
		p.closed = "disruption " + string(c.candidate[claim.ID]) + " of the same plan takes it away"
	case c.leaving(claim):
		p.closed = "it is leaving"
	case claim.State > model.ClaimRegistered:
		p.closed = "its node is gone"
	}
	return p
}

func (c *checker) claimShapes(claim *model.Claim) []*shape {
	var out []*shape
	for _, o := range c.becomes(claim) {
		s := c.shape(owner{claim.NodePool, claim.NodeClass, claim.Labels, claim.Requirements}, o)
		switch {
		case len(claim.Allocatable) > 0:
			said, _ := c.overlays.For(claim.NodePool, o.InstanceType).Capacity(o.Zone, o.CapacityType, o.ReservationID)
			s.allocatable = offer.With(claim.Allocatable, said)
		case s.allocatable == nil: // the type is not known just now; it holds what it was bought for
			s.allocatable = claim.Requests
		}
		out = append(out, s)
	}
	return out
}

// freshPlace is the node of a new claim, which may be any of its offerings.
func (c *checker) freshPlace(claim *model.NodeClaim) place {
	if p, known := c.places[claim]; known {
		return p
	}
	p := place{subject: "claim " + string(claim.ID)}
	pool := c.pools[claim.NodePool]
	if pool == nil {
		return p // claims tells
	}
	p.taints = pool.Taints
	for _, key := range c.shapeKeys(claim) {
		p.shapes = append(p.shapes, c.freshShape(key, claim))
	}
	c.places[claim] = p
	return p
}

func (c *checker) shapeKeys(claim *model.NodeClaim) []shapeKey {
	requirements := fmt.Sprint(claim.Requirements)
	out := make([]shapeKey, len(claim.Offerings))
	for i, o := range claim.Offerings {
		out[i] = shapeKey{claim.NodePool, claim.NodeClass, requirements, o}
	}
	return out
}

// freshShape is the node that an offering of a new claim makes.
func (c *checker) freshShape(key shapeKey, claim *model.NodeClaim) *shape {
	s := c.shapes[key]
	if s == nil {
		s = c.shape(owner{key.pool, key.class, c.pools[key.pool].Labels, claim.Requirements}, key.offering)
		c.shapes[key] = s
		s.number = len(c.shapes)
	}
	return s
}

// owner is what makes a node beside its offering.
type owner struct {
	pool         model.PoolName
	class        model.NodeClassName
	labels       model.Labels
	requirements []model.Requirement
}

// shape is the node that an offering makes.
func (c *checker) shape(by owner, o model.RankedOffering) *shape {
	s := &shape{
		name: string(o.InstanceType) + "/" + o.Zone + "/" + o.CapacityType.String(), offering: o,
		labels: labelMap(by.labels),
		open:   make(map[string][]model.Requirement),
	}
	if nc := c.nodeClasses[by.class]; nc != nil {
		if t := c.types[typeKey{nc.Catalog, o.InstanceType}]; t != nil {
			maps.Copy(s.labels, labelMap(t.Labels))
			said, _ := c.overlays.For(by.pool, o.InstanceType).Capacity(o.Zone, o.CapacityType, o.ReservationID)
			s.allocatable = offer.With(t.Allocatable, said)
		}
	}
	maps.Copy(s.labels, map[string]string{
		"node.kubernetes.io/instance-type": string(o.InstanceType),
		"topology.kubernetes.io/zone":      o.Zone,
		"topology.kubernetes.io/region":    region(o.Zone),
		"karpenter.sh/capacity-type":       o.CapacityType.String(),
		"karpenter.sh/nodepool":            string(by.pool),
		"karpenter.k8s.aws/ec2nodeclass":   string(by.class),
		"karpenter.sh/registered":          "true",
		"karpenter.sh/initialized":         "true",
		hostname:                           ownName,
	})
	if o.ReservationID != "" {
		s.labels["karpenter.k8s.aws/capacity-reservation-id"] = o.ReservationID
	}
	for _, r := range by.requirements {
		key := normalKey(r.Key)
		_, decided := s.labels[key]
		// A label that may only be absent, or must not have some values, is one that the node does not get.
		if !decided && r.Operator != model.NotIn && r.Operator != model.DoesNotExist {
			s.open[key] = append(s.open[key], r)
		}
	}
	return s
}

// region is the region that a zone is named after: "eu-west-1" for "eu-west-1b" as for "eu-west-1-ham-1a".
func region(zone string) string {
	var parts []string
	for part := range strings.SplitSeq(zone, "-") {
		digits := strings.TrimRight(part, "abcdefghijklmnopqrstuvwxyz")
		if digits != "" && strings.Trim(digits, "0123456789") == "" {
			return strings.Join(append(parts, digits), "-")
		}
		parts = append(parts, part)
	}
	return zone
}

func labelMap(ls model.Labels) map[string]string {
	m := make(map[string]string, len(ls))
	for _, l := range ls {
		m[l.Key] = l.Value
	}
	return m
}

func amountMap(as model.Amounts) map[model.Resource]int64 {
	m := make(map[model.Resource]int64, len(as))
	for _, a := range as {
		m[a.Resource] = a.Value
	}
	return m
}

func amounts(m map[model.Resource]int64) model.Amounts {
	var out model.Amounts
	for _, r := range slices.Sorted(maps.Keys(m)) {
		if m[r] != 0 {
			out = append(out, model.Amount{Resource: r, Value: m[r]})
		}
	}
	return out
}
