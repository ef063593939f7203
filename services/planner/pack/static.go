package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// ReplaceStatic is a claim that takes the place of a static pool's node, for some items, whose pods it counts; nil
// where there is none. Where it matters to them what it becomes, it is decided on all labels that pod rules look at.
func (s *Scheduler) ReplaceStatic(options []*market.Option, items []market.Item, lim *market.Limits) *purchase.NewClaim {
	if s.market.PortsClash(items) {
		return nil
	}
	l, may, verdicts := s.market.Combine(items), mayBuy(s, claimants(items)...), make(map[string]bool)
	able := slices.DeleteFunc(slices.Clone(options), func(o *market.Option) bool {
		return !o.Fits(l) || !may(o) || !s.togetherIn(o, items, verdicts)
	})
	alike := slices.DeleteFunc(slices.Clone(able), func(o *market.Option) bool { return !market.SameOn(s.keys, o, able[0]) })
	for _, list := range [][]*market.Option{able, alike} {
		mark := s.tally.Mark()
		if b := purchase.StaticClaim(s.market, list, lim); b != nil {
			b.Items, b.Site = items, s.tally.Claim(nil, market.Places(b.Options)...)
			if s.together(b.Site, items) {
				for _, c := range claimants(items) {
					s.takeDevices(b, c)
				}
				return b
			}
		}
		s.tally.Revert(mark)
	}
	return nil
}
