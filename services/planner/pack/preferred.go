package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
)

// choosePreferred decides, for a claim that is bought anyway, where the preferred pod rules of its pods are best met:
// of what it may become, the option whose price and unmet preferences cost least. The pods with such rules are pinned
// there.
func (a *attempt) choosePreferred(b *purchase.NewClaim) {
	if b.Options != nil || a.s.v.Policy.Preferences == model.PreferencesIgnored {
		return
	}
	var keys []string
	for _, it := range b.Items {
		keys = append(keys, a.s.rules.SoftKeys(it.Class)...)
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return
	}
	to, matters := a.bestPreferred(b, keys)
	if !matters && !a.anotherIsSoft(b) {
		return // as good in each place: it stays flexible
	}
	if to != b.Base {
		a.s.limits.Return(b.Base)
		a.s.limits.Take(to, 1)
		b.Base = to
	}
	b.Items = slices.Clone(b.Items)
	for i, it := range b.Items {
		if a.s.rules.Soft(it.Class) {
			b.Items[i].Segment = a.s.segments.Of(a.keysOf(it.Class), to)
		}
	}
}

// anotherIsSoft says whether another claim has pods with preferred pod rules, which may look at where this one is.
func (a *attempt) anotherIsSoft(b *purchase.NewClaim) bool {
	soft := func(it market.Item) bool { return a.s.rules.Soft(it.Class) }
	return slices.ContainsFunc(a.claims, func(x *purchase.NewClaim) bool { return x != b && slices.ContainsFunc(x.Items, soft) })
}

// bestPreferred is the best of what a claim may become, the cheapest for each set of values of some labels; matters says
// whether some go more against preferences than others.
func (a *attempt) bestPreferred(b *purchase.NewClaim, keys []string) (to *market.Option, matters bool) {
	best, least, price := b.Base, int64(-1), market.PreferencePrice(&a.s.v.Policy)
	seen, first := make(map[string]bool), int64(0)
	fits := a.s.devicesFit(b, claimants(b.Items)...) // none of them has its devices before the claim has a site
	options, _ := a.s.market.Rank(b.Base, b.Items, func(o *market.Option) bool { return o == b.Base || a.s.limits.AllowInstead(o, b.Base) && fits(o) })
	for _, o := range options {
		place := o.Key(keys)
		if seen[place] {
			continue
		}
		seen[place] = true
		var unmet int64
		site := a.s.tally.Probe(nil, &o.Place)
		if a.s.tally.Opens(site) && o != b.Base {
			matters = true
			continue
		}
		for _, it := range b.Items {
			if a.s.rules.Soft(it.Class) {
				unmet += int64(a.s.tally.PreferencePenalty(it.Class, site)) * int64(len(it.Pods))
			}
		}
		matters = matters || (least >= 0 && unmet != first)
		if least < 0 {
			first = unmet
		}
		if cost := o.Price + price*unmet; least < 0 || cost < least {
			best, least = o, cost
		}
	}
	return best, matters
}
