package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt"
	"github.com/kerf-dev/kerf/services/planner/disrupt/budget"
	"github.com/kerf-dev/kerf/services/planner/disrupt/replace"
	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// sizeStaticPools finds what static pools need to have as many nodes as they shall have, before pods are assigned: no
// pod is to go to a node that is one too many.
func (c *cycle) sizeStaticPools() {
	if !slices.ContainsFunc(c.Snapshot.NodePools, func(p model.NodePool) bool { return p.Replicas != nil }) {
		return
	}
	at := make(map[model.ClaimID]int)
	for i, h := range c.view.Hosts {
		if h.Claim != nil {
			at[h.Claim.ID] = i
		}
	}
	leaving := func(claim *model.Claim) bool {
		h, ok := at[claim.ID]
		return c.IsLeaving(claim) || (ok && (c.view.Hosts[h].Leaving || c.view.Removed(h)))
	}
	budgets, drifting := budget.NewPods(c.view), rules.DriftingOf(c.Snapshot, c.Now)
	of := func(says func(host int) bool) func(*model.Claim) bool {
		return func(claim *model.Claim) bool {
			h, ok := at[claim.ID]
			return ok && says(h)
		}
	}
	sold := make(map[soldKey]*market.Option)
	q := offer.StaticQuery{
		Snapshot: c.staticSnapshot(), Now: c.Now, Leaving: leaving, Most: c.market.MaxOfferings(),
		Held: of(func(h int) bool { return held(c.view, budgets, h) }), Due: of(func(h int) bool { return due(drifting, c.view.Hosts[h]) }),
		Options: func(p *model.NodePool) (list []model.RankedOffering, r model.Reason) {
			options, r := c.market.StaticOptions(c.Pool(p.Name))
			for _, o := range options {
				sold[soldKey{p.Name, o.Ranked()}] = o
				list = append(list, o.Ranked())
			}
			return list, r
		},
		MeetsMinValues: func(p *model.NodePool, list []model.RankedOffering) bool {
			return c.Policy.MinValues == model.MinValuesBestEffort || !purchase.EmptyClaim(optionsOf(sold, p.Name, list)).Relaxed()
		},
	}
	for _, f := range offer.Static(q) {
		if c.asks(model.KindProvision) {
			f.Short = c.buyBare(&f, sold)
		}
		if !f.Short.OK() {
			c.problems = append(c.problems, f.Short)
		}
		if !c.asks(model.KindDisrupt) {
			continue
		}
		for _, id := range f.Remove {
			if h, ok := at[id]; ok {
				c.view.Remove(h)
				c.surplus = append(c.surplus, disrupt.Removal{Host: h, Reason: f.Reason})
			}
		}
	}
}

// held says that a disruption budget never lets a drain of the host end.
func held(v *view.View, budgets *budget.Pods, host int) bool {
	return slices.ContainsFunc(v.Hosts[host].Pods, func(p int) bool {
		pod := v.Pods[p]
		return !pod.Terminating && (pod.Movable() || rules.Evicted(pod.Class.PodClass)) && !budgets.Never(pod).OK()
	})
}

// due says that the host would be replaced or repaired before long.
func due(facts *rules.Drifting, h *view.Host) bool {
	drift, _ := replace.Drift(facts, h)
	return !drift.OK() || h.Node != nil && !h.Node.Ready
}

// staticSnapshot has the pods on static pools' nodes, and no others.
func (c *cycle) staticSnapshot() *model.Snapshot {
	out := *c.Snapshot
	out.Pods = nil
	for _, h := range c.view.Hosts {
		if h.Pool == nil || h.Pool.Replicas == nil {
			continue
		}
		for _, p := range h.Pods {
			out.Pods = append(out.Pods, *c.Pods[p].Pod)
		}
	}
	return &out
}

// soldKey is an offering as a pool buys it.
type soldKey struct {
	pool     model.PoolName
	offering model.RankedOffering
}

func optionsOf(sold map[soldKey]*market.Option, pool model.PoolName, list []model.RankedOffering) []*market.Option {
	out := make([]*market.Option, len(list))
	for i, o := range list {
		out[i] = sold[soldKey{pool, o}]
	}
	return out
}

// buyBare makes the claims that a pool needs, and says why it gets fewer than that.
func (c *cycle) buyBare(f *offer.StaticDecision, sold map[soldKey]*market.Option) model.Reason {
	for i := range f.Buy {
		b := purchase.EmptyClaimWithin(optionsOf(sold, f.Pool, f.Buy[i].Offerings), c.limits)
		if b == nil {
			return model.Reason{
				Code: model.CodeLimit, Subject: f.Reason.Subject,
				Message: fmt.Sprintf("%s; limits and reservations have capacity for %d more", f.Reason.Message, i),
				Remedy:  "raise spec.limits, or what the node class reserves",
			}
		}
		if c.Policy.MinValues != model.MinValuesBestEffort && b.Relaxed() {
			return model.Reason{
				Code: model.CodeMinValues, Subject: f.Reason.Subject,
				Message: f.Reason.Message + "; what is available now is less flexible than the pool's minValues ask for",
				Remedy:  "lower minValues, or allow more",
			}
		}
		b.TakeFrom(c.limits)
		claim := c.pattern(b)
		claim.Reason = f.Reason
		claim.ID = c.names.Claim(claim.NodePool, []model.PodID{"static", model.PodID(strconv.Itoa(f.Buy[i].Number))})
		c.staticClaims = append(c.staticClaims, claim)
	}
	return f.Short
}

// expecting is a cycle in which the claims that static pools get are in flight already, so that pods go there before
// anything is bought for them. Its base is of that cycle alone.
func (c *cycle) expecting() (*cycle, error) {
	s, claims := *c.Snapshot, slices.Clone(c.Snapshot.Claims)
	for _, x := range c.staticClaims {
		claims = append(claims, x.InFlight(c.Pool(x.NodePool).NodePool, c.Now))
	}
	s.Claims = slices.SortedFunc(slices.Values(claims), func(a, b model.Claim) int { return cmp.Compare(a.ID, b.ID) })
	b, err := newBase(&s, slices.Clone(c.Pods), c.in, c.stop)
	if err != nil {
		return nil, err
	}
	if err = b.at(c.Now, c.stop); err != nil {
		return nil, err
	}
	d := newCycle(b, c.in, c.hash, c.heirs, c.stop)
	d.problems, d.staticClaims = c.problems, c.staticClaims
	d.reserve()
	for i, h := range d.view.Hosts {
		goes := func(x disrupt.Removal) bool { return h.Claim != nil && c.view.Hosts[x.Host].Claim.ID == h.Claim.ID }
		if k := slices.IndexFunc(c.surplus, goes); k >= 0 {
			d.view.Remove(i)
			d.surplus = append(d.surplus, disrupt.Removal{Host: i, Reason: c.surplus[k].Reason})
		}
	}
	if len(c.unhealthy) > 0 {
		d.removeUnhealthy()
	}
	return d, nil
}

// fillStaticClaims says of static pools' claims which pods are to run there: new ones, and those of nodes that go.
func (c *cycle) fillStaticClaims() {
	at := make(map[model.ClaimID]*model.NodeClaim)
	for i := range c.staticClaims {
		at[c.staticClaims[i].ID] = &c.staticClaims[i]
	}
	moved := c.movedBufferPods()
	places := slices.DeleteFunc(slices.Clone(c.assigned), func(s pack.Assignment) bool { return moved[s.Pod] })
	for _, d := range c.disruptions.Decisions {
		places = append(places, d.Destinations...)
	}
	for _, s := range places {
		if s.Claim != nil || c.view.Hosts[s.Host].Node != nil || at[c.view.Hosts[s.Host].Claim.ID] == nil {
			continue
		}
		b := at[c.view.Hosts[s.Host].Claim.ID]
		b.Pods = append(b.Pods, c.Pods[s.Pod].ID)
		sum := c.Index.Vector(b.Requests)
		sum.Add(c.Pods[s.Pod].Class.Requested, 1)
		b.Requests = c.Requests(sum)
	}
	for _, b := range at {
		slices.Sort(b.Pods)
	}
}

// fixedFor makes a claim to take the place of a static pool's node, for those of its pods that have no other place. Of
// what costs the same, it had better become what is in the node's zone: the pool's nodes stay in all of its zones.
func (c *cycle) fixedFor(h *view.Host, items []market.Item, lim *market.Limits) (*purchase.NewClaim, model.Reason) {
	options, why := c.market.StaticOptions(h.Pool)
	if !why.OK() {
		return nil, why
	}
	elsewhere := func(o *market.Option) int {
		if o.Offering.Zone == h.Claim.Zone {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(options, func(a, b *market.Option) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(elsewhere(a), elsewhere(b)))
	})
	b := c.scheduler.ReplaceStatic(options, items, lim)
	if b == nil {
		return nil, model.Reason{
			Code:    model.CodeNoDestination,
			Message: fmt.Sprintf("no new node of static pool %s is available within its limits that holds what fits nowhere else", h.Pool.Name),
			Remedy:  "raise spec.limits of the pool, or allow more instance types",
		}
	}
	return b, model.Reason{}
}
