package sim

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// addStory puts the day's events onto the heap.
func (c *cluster) addStory() {
	share := func(n int) time.Duration { return c.cfg.Length / time.Duration(n) }
	c.after(warmUp+share(50), func() { c.every(share(36), c.anyRollOut) })
	c.after(warmUp+share(30), func() { c.every(share(16), c.runOut) })
	c.after(warmUp+share(5), func() { c.every(share(5), c.movePrices) })
	c.at(c.part(0.25), func() { c.keepNode(share(6)) })
	c.at(c.part(0.40), c.newImage)
	c.at(c.part(0.62), c.storm)
	c.at(c.part(0.70), c.changePool)
	for i, p := range []float64{0.30, 0.45, 0.55, 0.80} {
		c.at(c.part(p), func() {
			n := c.anyNode()
			switch {
			case n == nil:
			case i%2 == 0:
				c.makeUnhealthy(n)
			default:
				c.ail(n)
			}
		})
	}
}

func (c *cluster) anyNode() *node {
	ready := slices.DeleteFunc(slices.Clone(c.order), func(n *node) bool { return !n.Ready || len(n.Taints) > 0 })
	if len(ready) == 0 {
		return nil
	}
	return ready[c.rng.IntN(len(ready))]
}

// anyRollOut gives one of the workloads a new revision; what must not be disrupted is rolled by no one.
func (c *cluster) anyRollOut() {
	l := c.loads[c.dice.IntN(len(c.loads))]
	if l.protected == 0 {
		c.day.RollOuts++
		c.rollOut(l)
	}
}

// runOut lets the cloud run out of a type in a zone, or of its spot capacity in all.
func (c *cluster) runOut() {
	t := c.market.types[c.rng.IntN(len(c.market.types))]
	if busy := c.anyNode(); busy != nil && c.rng.IntN(2) == 0 { // what is in use hurts more
		t = *c.market.byName[string(busy.claim.InstanceType)]
	}
	until := c.now.Add(c.cfg.Length / 32)
	if c.rng.IntN(2) == 0 {
		zone := c.market.zones[c.rng.IntN(len(c.market.zones))]
		for _, ct := range []model.CapacityType{model.OnDemand, model.Spot} {
			c.market.soldOut[offerID(t.Name, zone, ct)] = until
		}
		return
	}
	for _, zone := range c.market.zones {
		c.market.soldOut[offerID(t.Name, zone, model.Spot)] = until
	}
}

// movePrices lets spot prices drift.
func (c *cluster) movePrices() {
	c.day.mark(c.now, "spot prices move")
	for _, id := range c.market.ids {
		o := *c.market.offers[id]
		if o.CapacityType != model.Spot {
			continue
		}
		o.Price = int64(float64(o.Price) * (0.96 + 0.08*c.rng.Float64()))
		c.market.offers[id] = &o
		c.ledger.touch(kindOffering, id)
	}
}

// keepNode annotates a node for a while.
func (c *cluster) keepNode(d time.Duration) {
	n := c.anyNode()
	if n == nil {
		return
	}
	c.day.mark(c.now, "a node: do not disrupt")
	n.DoNotDisrupt = true
	c.touchNode(n)
	c.after(d, func() {
		n.DoNotDisrupt = false
		c.touchNode(n)
	})
}

// newImage lets the class find a new machine image: all nodes drift.
func (c *cluster) newImage() {
	c.day.mark(c.now, "new machine image")
	c.class.Images = []model.MachineImage{{ID: "ami-2", Name: "image-2", CreateTime: c.now}}
	c.ledger.touch(kindNodeClass, string(c.class.Name))
	for _, cl := range ordered(c.claims) {
		if cl.ImageID != "" && cl.ImageID != "ami-2" {
			c.drift(cl, "its image ami-1 is not the one of its class any more")
		}
	}
}

func (c *cluster) drift(cl *claim, how string) {
	cl.Drifted = model.Reason{Code: model.CodeDrifted, Subject: "claim/" + string(cl.ID), Message: how}
	c.touchClaim(cl)
}

// changePool edits the on-demand pool: its nodes drift.
func (c *cluster) changePool() {
	c.day.mark(c.now, "pool steady edited")
	p := c.pool("steady")
	p.Hash = "steady-2"
	p.Labels = model.Labels{{Key: "release", Value: "2"}, {Key: "team", Value: string(p.Name)}}
	c.ledger.touch(kindPool, "steady")
	for _, cl := range ordered(c.claims) {
		if cl.NodePool == p.Name {
			c.drift(cl, "its pool has changed")
		}
	}
}

// storm takes several instances of the spot type that is used most, which then is not available for a while.
func (c *cluster) storm() {
	const most = 6
	used := map[string][]*claim{}
	for _, cl := range ordered(c.claims) {
		if cl.CapacityType == model.Spot && cl.State == model.ClaimInitialized {
			used[string(cl.InstanceType)] = append(used[string(cl.InstanceType)], cl)
		}
	}
	var hit []*claim
	for _, list := range ordered(used) {
		if len(list) > len(hit) {
			hit = list
		}
	}
	if len(hit) == 0 {
		return
	}
	c.day.mark(c.now, "spot storm")
	for _, zone := range c.market.zones {
		c.market.soldOut[offerID(hit[0].InstanceType, zone, model.Spot)] = c.now.Add(c.cfg.Length / 24)
	}
	for _, cl := range hit[:min(most, len(hit))] {
		c.reclaim(cl)
	}
}
