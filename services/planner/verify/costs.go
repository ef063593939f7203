package verify

import (
	"math"

	"github.com/kerf-dev/kerf/services/core/model"
)

// price is what a claim costs per hour: what its offering costs today, else what it did at launch, else what the first
// of its offerings would.
func (c *checker) price(claim *model.Claim) int64 {
	if claim.InstanceType == "" && len(claim.Offerings) > 0 {
		return claim.Offerings[0].Price
	}
	if o, ok := c.offerings[offeringKey{claim.InstanceType, claim.Zone, claim.CapacityType}]; ok && o.Price > 0 {
		return o.Price
	}
	return claim.Price
}

// weighed is the price as overlays have it, where they say something of the claim.
func (c *checker) weighed(claim *model.Claim) int64 {
	if claim.InstanceType == "" && len(claim.Offerings) > 0 {
		return claim.Offerings[0].Weighed()
	}
	price, _ := c.overlays.For(claim.NodePool, claim.InstanceType).Price(&model.Offering{
		InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType, ReservationID: claim.ReservationID,
		Price: c.price(claim),
	})
	return price
}

// costs checks the plan's sums and its bound.
func (c *checker) costs() {
	var before, after, forPending int64
	for _, claim := range c.live {
		if c.leaving(claim) {
			continue
		}
		before += c.price(claim)
		if _, goes := c.candidate[claim.ID]; !goes {
			after += c.price(claim)
		}
	}
	for _, claim := range c.plan.NodeClaims {
		after += claim.Price
		if claim.Disruption == "" && len(claim.Pods) > 0 && len(claim.Offerings) > 0 {
			forPending += claim.Offerings[0].Weighed() + c.in.Policy.PerNodeOverhead
		}
	}
	if c.plan.CostBefore != before {
		c.fail("plan", "it says that the claims cost %d, they cost %d", c.plan.CostBefore, before)
	}
	if c.plan.CostAfter != after {
		c.fail("plan", "it says that the claims will cost %d, they will cost %d", c.plan.CostAfter, after)
	}
	c.bound(forPending)
}

func (c *checker) bound(price int64) {
	b := c.plan.LowerBound
	if b == nil {
		return
	}
	if b.Price <= 0 || b.Price > price {
		c.fail("plan", "its lower bound %d is not between 1 and the price of its claims, %d", b.Price, price)
		return
	}
	if gap := float64(price)/float64(b.Price) - 1; math.Abs(gap-b.Gap) > 1e-9 {
		c.fail("plan", "its gap is %g, by its bound it is %g", b.Gap, gap)
	}
	if b.Kind < model.BoundResource || b.Kind > model.BoundExact {
		c.fail("plan", "its lower bound has no kind")
	}
}

// verdicts checks that what is said of nodes agrees with what the plan does with them.
func (c *checker) verdicts() {
	said := make(map[model.ClaimID]bool)
	for _, v := range c.plan.Nodes {
		subject := "verdict on node " + string(v.Node)
		node := c.nodes[v.Node]
		if node == nil {
			c.fail(subject, "there is no such node")
			continue
		}
		said[v.Claim] = true
		if v.Reason.OK() {
			c.fail(subject, "it has no reason")
		}
		if v.Waste < 0 {
			c.fail(subject, "it says that the node wastes %d", v.Waste)
		}
		if goes := c.candidate[v.Claim]; v.Disruption != goes {
			c.fail(subject, "it says that disruption %q takes the node, it is %q", v.Disruption, goes)
		}
	}
	for _, d := range c.plan.Disruptions {
		for _, id := range d.Candidates {
			if c.nodeOf[id] != nil && !said[id] {
				c.fail("disruption "+string(d.ID), "nothing is said of claim %s's node", id)
			}
		}
	}
}

// summary checks that what is said of the search can be.
func (c *checker) summary() {
	s := c.plan.Summary
	switch {
	case s == nil:
	case !c.asked(model.KindDisrupt):
		c.fail("summary", "nodes to give back were not asked for")
	case s.Judged > s.Candidates || min(s.Judged, s.Candidates, s.Tried) < 0 || s.Floor < 0:
		c.fail("summary", "of %d candidates %d were judged, of %d sets; the floor is %d", s.Candidates, s.Judged, s.Tried, s.Floor)
	case s.ResumeAfter != "" && c.live[s.ResumeAfter] == nil:
		c.fail("summary", "it ends at claim %s, which does not exist, or has ended", s.ResumeAfter)
	}
}
