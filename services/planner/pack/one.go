package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// One looks for the single claim that holds all items and costs least, preferences about nodes counted, in the pool of
// highest weight that has one at all, and counts their pods there; ok is false when there is none or it costs more than
// most. What the claim lists costs at most that, too. The limits are not changed, see NewClaim.TakeFrom.
func (s *Scheduler) One(items []market.Item, most purchase.PriceCeiling) (b *purchase.NewClaim, ok bool) {
	if s.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil, false
	}
	constrained := slices.ContainsFunc(items, func(it market.Item) bool { return s.rules.Constrained(it.Class) })
	tiers, verdicts := s.market.Tiers, make(map[string]bool)
	if constrained || s.tally.Frozen() {
		tiers = s.market.TiersOf(s.keys, s.onlyPool)
	}
	l, may := s.market.Combine(items), mayBuy(s, claimants(items)...)
	suits := func(o *market.Option) bool {
		return o.Fits(l) && s.limits.Remaining(o, 1) > 0 && may(o) && (!constrained || s.togetherIn(o, items, verdicts))
	}
	for _, preferred := range s.market.Passes() {
		for _, tier := range tiers {
			tooExpensive := false
			for _, o := range s.market.Weighed(tier, items) {
				switch {
				case (preferred && !o.PreferredBy(l)) || !suits(o):
				case most.Allows(o):
					return s.oneOf(o, items, most)
				default:
					tooExpensive = true
				}
			}
			if tooExpensive {
				return nil, false
			}
		}
	}
	return nil, false
}

func (s *Scheduler) oneOf(o *market.Option, items []market.Item, most purchase.PriceCeiling) (*purchase.NewClaim, bool) {
	pinned := slices.Clone(items)
	for i, it := range items {
		if s.rules.Constrained(it.Class) {
			pinned[i].Segment = s.segments.Of(s.rules.Keys(it.Class), o)
		}
	}
	b, ok := s.buyer.OneClaim(o, pinned, s.limits, most, mayBuy(s, claimants(items)...))
	if !ok {
		return nil, false
	}
	b.Shown, b.Site = b.Options, s.tally.Claim(nil, market.Places(b.Options)...)
	ok = s.together(b.Site, items)
	for _, c := range claimants(items) {
		s.takeDevices(b, c)
	}
	return b, ok
}

// togetherIn is together, asked once for all options that other pods see alike, and taken back.
func (s *Scheduler) togetherIn(o *market.Option, items []market.Item, verdicts map[string]bool) bool {
	place := o.Key(s.keys)
	ok, known := verdicts[place]
	if !known {
		mark := s.tally.Mark()
		ok = s.together(s.tally.Claim(nil, &o.Place), items)
		s.tally.Revert(mark)
		verdicts[place] = ok
	}
	return ok
}

// together says whether all pods of some items may be on a new node, in some order, and counts them there.
func (s *Scheduler) together(site *topology.Site, items []market.Item) bool {
	rest := slices.Clone(items)
	for len(rest) > 0 {
		before := len(rest)
		rest = slices.DeleteFunc(rest, func(it market.Item) bool {
			if s.tally.Capacity(it.Class, site, len(it.Pods)) < len(it.Pods) {
				return false
			}
			s.tally.Add(it.Class, site, len(it.Pods))
			return true
		})
		if len(rest) == before {
			return false
		}
	}
	return true
}

// Buy tries what pods would be given if they were bought for, within limits, which it takes the claims off.
func (s *Scheduler) Buy(items []market.Item, lim *market.Limits) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	own, proof := s.limits, s.proof
	s.limits, s.buyer.Rough, s.buyer.Tried = lim, s.Rough, true
	defer func() { s.limits, s.proof, s.buyer.Rough, s.buyer.Tried = own, proof, false, false }()
	return s.Assign(items, func(int) bool { return false })
}

// BuyFrom is Buy from one pool.
func (s *Scheduler) BuyFrom(pool *view.Pool, items []market.Item, lim *market.Limits) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	all, known := s.segments, s.newNodes
	s.onlyPool, s.segments, s.newNodes = pool, all.From(pool), make(map[newNodeKey][]newNode) // what segments sell is of that pool
	defer func() { s.onlyPool, s.segments, s.newNodes = nil, all, known }()
	return s.Buy(items, lim)
}
