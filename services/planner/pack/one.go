package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// One looks for the cheapest single claim that holds all items, in the pool of highest weight that has one at all, and
// counts their pods there; ok is false when there is none or it costs more than most. What the claim lists costs at most
// that, too. The limits are not changed, see Limits.Keep.
func (d *Scheduler) One(items []market.Item, most purchase.PriceCeiling) (b *purchase.NewClaim, ok bool) {
	if d.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, d.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil, false
	}
	minding := slices.ContainsFunc(items, func(it market.Item) bool { return d.rules.Constrained(it.Class) })
	tiers, verdicts := d.market.Tiers, make(map[string]bool)
	if minding {
		tiers = d.tiersBySegment()
	}
	l, fits := d.market.Combine(items), d.devicesFit(nil, claimants(items)...)
	suits := func(o *market.Option) bool {
		return o.Fits(l) && d.limits.Remaining(o, 1) > 0 && fits(o) && (!minding || d.togetherIn(o, items, verdicts))
	}
	for _, preferred := range d.market.Passes() {
		for _, tier := range tiers {
			tooExpensive := false
			for _, o := range tier {
				switch {
				case (preferred && !o.PreferredBy(l)) || !suits(o):
				case most.Allows(o):
					return d.oneOf(o, items, most)
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

func (d *Scheduler) oneOf(o *market.Option, items []market.Item, most purchase.PriceCeiling) (*purchase.NewClaim, bool) {
	pinned := slices.Clone(items)
	for i, it := range items {
		if d.rules.Constrained(it.Class) {
			pinned[i].Segment = d.segmentOf(d.rules.Keys(it.Class), o)
		}
	}
	b, ok := purchase.OneClaim(d.market, o, pinned, d.limits, most, d.devicesFit(nil, claimants(items)...))
	if ok {
		d.together(o, items)
		for _, c := range claimants(items) {
			d.takeDevices(b, c)
		}
	}
	return b, ok
}

// togetherIn is together, asked once for all options that other pods see alike, and taken back.
func (d *Scheduler) togetherIn(o *market.Option, items []market.Item, verdicts map[string]bool) bool {
	place := o.Key(d.keys)
	ok, known := verdicts[place]
	if !known {
		mark := d.tally.Mark()
		ok = d.together(o, items)
		d.tally.Revert(mark)
		verdicts[place] = ok
	}
	return ok
}

// together says whether all pods of some items may be on one new node of an option, in some order, and counts them there.
func (d *Scheduler) together(o *market.Option, items []market.Item) bool {
	site := d.tally.Claim(nil, &o.Place)
	if d.tally.Opens(site) {
		return false
	}
	rest := slices.Clone(items)
	for len(rest) > 0 {
		before := len(rest)
		rest = slices.DeleteFunc(rest, func(it market.Item) bool {
			if d.tally.Capacity(it.Class, site, len(it.Pods)) < len(it.Pods) {
				return false
			}
			d.tally.Add(it.Class, site, len(it.Pods))
			return true
		})
		if len(rest) == before {
			return false
		}
	}
	return true
}

// tiersBySegment are the options worth weighing for pods that mind others.
func (d *Scheduler) tiersBySegment() [][]*market.Option { return d.market.TiersOf(d.keys, d.onlyPool) }

// segmentOf is the cell of an option on some labels; nil where there are none.
func (d *Scheduler) segmentOf(keys []string, o *market.Option) *market.Segment {
	if len(keys) == 0 {
		return nil
	}
	return d.partition(keys).segmentOf(o)
}

// Buy seats pods on claims to buy and on nothing else, within limits, which it takes them off.
func (d *Scheduler) Buy(items []market.Item, lim *market.Limits) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	own, proof := d.limits, d.proof
	d.limits = lim
	defer func() { d.limits, d.proof = own, proof }()
	return d.Assign(items, func(int) bool { return false })
}

// BuyFrom is Buy from one pool. Pods that mind others are left: where they may go depends on all pools.
func (d *Scheduler) BuyFrom(pool *view.Pool, items []market.Item, lim *market.Limits) (assignments []Assignment, claims []*purchase.NewClaim, left []market.Item) {
	if slices.ContainsFunc(items, func(it market.Item) bool { return d.rules.Constrained(it.Class) || d.rules.Soft(it.Class) }) {
		return nil, nil, items
	}
	d.onlyPool = pool
	defer func() { d.onlyPool = nil }()
	return d.Buy(items, lim)
}
