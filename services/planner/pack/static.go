package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// ReplaceStatic is a claim that takes the place of a static pool's node: one that may become any of some options that hold some
// items, all of one reservation or of none; nil where there is none, or where the items' pods have pod rules that can't be
// checked.
func (s *Scheduler) ReplaceStatic(options []*market.Option, items []market.Item, lim *market.Limits) *purchase.NewClaim {
	if s.market.PortsClash(items) || slices.ContainsFunc(items, func(it market.Item) bool { return s.rules.Constrained(it.Class) }) {
		return nil
	}
	l, may := s.market.Combine(items), mayBuy(s, claimants(items)...)
	able := slices.DeleteFunc(slices.Clone(options), func(o *market.Option) bool { return !o.Fits(l) || !may(o) })
	b := purchase.EmptyClaimWithin(able, lim)
	if b == nil {
		return nil
	}
	if len(b.Options) > s.market.MaxOfferings() {
		if b.Options = s.market.Capped(b.Options); b.Options == nil {
			return nil
		}
	}
	b.Items, b.Site = items, s.tally.Claim(nil, market.Places(b.Options)...)
	for _, c := range claimants(items) {
		s.takeDevices(b, c)
	}
	return b
}
