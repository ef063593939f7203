package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// grower looks for a claim, one of this plan or a new one, for one more pod of a class.
type grower struct {
	a     *attempt
	r     *round
	class *view.Class
}

// cheapestGrowth finds the claim that takes one more pod for the lowest extra price.
func (g *grower) cheapestGrowth() (b *purchase.NewClaim, into *market.Option, extra int64) {
	for _, x := range g.a.claims {
		o := g.grownOption(x, b == nil, extra)
		if o == nil {
			continue
		}
		more := max(0, o.Price-x.Base.Price)
		if b == nil || more < extra {
			b, into, extra = x, o, more
		}
		if extra == 0 {
			return b, into, 0
		}
	}
	return b, into, extra
}

// grownOption is the cheapest option that holds a claim's pods and one more; nil when there is none, or none that costs less
// than most more.
func (g *grower) grownOption(b *purchase.NewClaim, anyPrice bool, most int64) *market.Option {
	refused := b.Site != nil && !g.r.allows(g.class, b.Site)
	if refused && !topology.Undecided(g.a.s.tally, g.class, b.Site) {
		return nil
	}
	items := append(slices.Clone(b.Items), market.Item{Class: g.class, Pods: []int{0}, Segment: g.a.segmentFor(g.class, b.Base, g.r)})
	if g.a.s.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, g.a.s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	switch {
	case market.HasMinValues(b.Base.Pool):
		return g.grownFlexible(b, items)
	case refused || g.r.undecided:
		return g.grownDecided(b, items, anyPrice, most)
	}
	items[len(items)-1].Segment = nil
	load, fits := g.a.s.market.Combine(items), g.a.s.devicesFit(b, g.class)
	check := func(o *market.Option) bool {
		if !o.Available || !o.Fits(load) || !fits(o) {
			return false
		}
		if b.Site != nil && !market.SameOn(g.a.s.keys, o, b.Base) {
			return false
		}
		if b.Site == nil && g.a.hasPodRules(g.class) && !g.wouldAllow(&o.Place) {
			return false
		}
		return o == b.Base || g.a.s.limits.AllowInstead(o, b.Base)
	}
	if check(b.Base) {
		return b.Base
	}
	for _, o := range b.Base.Variant.Options {
		if !anyPrice && o.Price-b.Base.Price >= most {
			return nil
		}
		if o.Price >= b.Base.Price && o != b.Base && check(o) {
			return o
		}
	}
	return nil
}

// grownDecided is the cheapest of what a claim may become such that it holds one more pod and is decided on all labels that
// matter to that.
func (g *grower) grownDecided(b *purchase.NewClaim, items []market.Item, anyPrice bool, most int64) *market.Option {
	if g.r.undecided {
		return nil // it was decided in the rounds before, where that is of use
	}
	seen, fits := make(map[*market.Segment]bool), g.a.s.devicesFit(b, g.class)
	for _, o := range slices.SortedFunc(slices.Values(b.Shown), market.CompareOptions) {
		segment := g.a.segmentFor(g.class, o, g.r)
		if seen[segment] || (!anyPrice && o.Price-b.Base.Price >= most) || (o != b.Base && !g.a.s.limits.AllowInstead(o, b.Base)) {
			continue
		}
		items[len(items)-1].Segment = segment
		ranked, ok := g.a.s.market.Rank(o, items, fits)
		if !ok || !slices.Contains(ranked, o) {
			continue
		}
		seen[segment] = true
		if g.allowsAs(b, ranked) {
			return o
		}
	}
	return nil
}

// allowsAs says whether a pod may go to a claim that becomes one of some options.
func (g *grower) allowsAs(b *purchase.NewClaim, options []*market.Option) bool {
	mark := g.a.s.tally.Mark()
	defer g.a.s.tally.Revert(mark)
	g.a.s.tally.Narrow(b.Site, nil, placesOf(options)...)
	return g.r.allows(g.class, b.Site)
}

func placesOf(options []*market.Option) []*fit.Place {
	out := make([]*fit.Place, len(options))
	for i, o := range options {
		out[i] = &o.Place
	}
	return out
}

// grownFlexible is what a claim of a pool with minValues was packed for, where enough distinct offerings hold more.
func (g *grower) grownFlexible(b *purchase.NewClaim, items []market.Item) *market.Option {
	if b.Site == nil && g.a.hasPodRules(g.class) {
		return nil
	}
	may := mayBecome(g.a, b, g.class)
	if g.r.undecided {
		fits := may
		may = func(o *market.Option) bool { return fits(o) && slices.Contains(b.Shown, o) }
	}
	b.CountBase(g.a.s.limits)
	g.a.s.limits.Return(b.Base)
	ranked, ok := g.a.s.market.Choices(b.Base, items, g.a.s.limits, may)
	g.a.s.limits.Take(b.Base, 1)
	b.CountLargest(g.a.s.limits)
	if !ok || (b.Site != nil && !g.allowsAs(b, withBase(ranked, b.Base))) {
		return nil
	}
	return b.Base
}

// withBase is what a claim may become with what it was packed for: a list that is cut short may be of others.
func withBase(options []*market.Option, base *market.Option) []*market.Option {
	if slices.Contains(options, base) {
		return options
	}
	return append(slices.Clone(options), base)
}

// segmentFor is where a claim must be that a pod of a class is on; nil for pods without pod rules, and for those that may go
// wherever it is.
func (a *attempt) segmentFor(c *view.Class, o *market.Option, r *round) *market.Segment {
	if !a.hasPodRules(c) || r.undecided {
		return nil
	}
	return a.s.segmentOf(a.keysOf(c), o)
}

// wouldAllow says whether a claim that becomes one of some places, bought now, might take a pod.
func (g *grower) wouldAllow(places ...*fit.Place) bool {
	site := g.a.s.tally.Probe(nil, places...)
	return !g.a.s.tally.Opens(site) && g.r.allows(g.class, site)
}

// cheapestNew is the option for a new claim for one pod: the cheapest of the pools of highest weight.
func (g *grower) cheapestNew() *market.Option {
	if !g.a.buysNodes {
		return nil
	}
	it := market.Item{Class: g.class, Pods: []int{0}}
	for _, preferred := range g.a.s.market.Passes() {
		for _, tier := range g.a.s.market.TiersOf(g.a.s.keys, g.a.s.onlyPool) {
			if o := g.firstAllowed(tier, &it, preferred); o != nil {
				return o
			}
		}
	}
	return nil
}

func (g *grower) firstAllowed(tier []*market.Option, it *market.Item, preferred bool) *market.Option {
	verdicts, fits := make(map[string]bool), g.a.s.devicesFit(nil, it.Class)
	for _, o := range tier {
		if !o.Takes(it, preferred) || g.a.s.limits.Remaining(o, 1) == 0 || !fits(o) || (g.r.undecided && !market.HasMinValues(o.Pool)) {
			continue
		}
		place := o.Key(g.a.s.keys)
		ok, known := verdicts[place]
		if !known && !g.r.undecided {
			ok = g.wouldAllow(&o.Place)
			verdicts[place] = ok
		}
		if !ok && !g.r.undecided {
			continue
		}
		if market.HasMinValues(o.Pool) {
			alone := *it
			alone.Segment = g.a.segmentFor(it.Class, o, g.r)
			ranked, ok := g.a.s.market.Choices(o, []market.Item{alone}, g.a.s.limits, fits)
			if !ok || (g.r.undecided && !g.wouldAllow(placesOf(withBase(ranked, o))...)) {
				continue
			}
		}
		return o
	}
	return nil
}
