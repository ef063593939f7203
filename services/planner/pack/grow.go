package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/pack/settled"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// grower looks for a claim, one of this plan or a new one, for one more pod of a class.
type grower struct {
	a     *attempt
	r     *round
	class *view.Class
	pod   int
}

// growth is a claim with one more pod, before it is made so.
type growth struct {
	claim *purchase.NewClaim
	into  *market.Option
	// isNew says that the claim is not bought yet.
	isNew bool
	// items and options are what it holds and may become then, in a pool with minValues. They are found once: were they
	// looked for again when the pod is put there, there might be none.
	items   []market.Item
	options []*market.Option
}

// extra is what the claim costs more then.
func (x *growth) extra() int64 { return max(0, x.into.Price-x.claim.Base.Price) }

// cheapestGrowth finds the claim that takes one more pod for the lowest extra price; nil where none does.
func (g *grower) cheapestGrowth() *growth {
	var best *growth
	for _, b := range g.a.claims {
		most := int64(0)
		if best != nil {
			most = best.extra()
		}
		if x := g.grown(b, best == nil, most); x != nil && (best == nil || x.extra() < most) {
			best = x
		}
		if best != nil && best.extra() == 0 {
			break
		}
	}
	return best
}

// grown is a claim with one more pod, on the cheapest option that holds it; nil when there is none, or none that costs less
// than most more.
func (g *grower) grown(b *purchase.NewClaim, anyPrice bool, most int64) *growth {
	if market.HasMinValues(b.Base.Pool) {
		return g.grownFlexible(b)
	}
	if o := g.grownOption(b, anyPrice, most); o != nil {
		return &growth{claim: b, into: o}
	}
	return nil
}

func (g *grower) grownOption(b *purchase.NewClaim, anyPrice bool, most int64) *market.Option {
	refused := g.refused(b)
	if refused && !topology.Undecided(g.a.s.tally, g.class, b.Site) {
		return nil
	}
	items := append(slices.Clone(b.Items), market.Item{Class: g.class, Pods: []int{g.pod}, Segment: g.a.segmentFor(g.class, b.Base, g.r)})
	if !g.together(items) {
		return nil
	}
	if refused || g.r.Undecided {
		return g.grownDecided(b, items, anyPrice, most)
	}
	items[len(items)-1].Segment = nil
	load, fits := g.a.s.market.Combine(items), g.a.s.devicesFit(b, g.class)
	check := func(o *market.Option) bool {
		if !o.Available || !o.Fits(load) || !fits(o) || (b.Site == nil && !g.a.s.harmless(o)) {
			return false
		}
		if b.Site != nil && !(market.SameOn(g.a.s.keys, o, b.Base) && b.IsLikeShown(o, g.a.s.tally)) {
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

// refused says that a claim, as it is, may not have the pod.
func (g *grower) refused(b *purchase.NewClaim) bool {
	return b.Site != nil && !g.r.Lets(g.a.s.tally, g.class, b.Site)
}

// together says whether some items may be on one node, as far as it does not matter on which.
func (g *grower) together(items []market.Item) bool {
	return !g.a.s.market.PortsClash(items) && purchase.WorkloadCapsAllow(items, g.a.s.v.Policy.MaxPodsOfWorkloadPerNode)
}

// grownDecided is the cheapest of what a claim may become such that it holds one more pod and is decided on all labels that
// matter to that.
func (g *grower) grownDecided(b *purchase.NewClaim, items []market.Item, anyPrice bool, most int64) *market.Option {
	if g.r.Undecided {
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
	g.a.s.tally.Narrow(b.Site, nil, market.Places(options)...)
	return g.r.Lets(g.a.s.tally, g.class, b.Site)
}

// grownFlexible is a claim of a pool with minValues with one more pod, where enough distinct offerings hold it.
func (g *grower) grownFlexible(b *purchase.NewClaim) *growth {
	switch {
	case b.Site == nil && g.a.hasPodRules(g.class):
		return nil
	case g.refused(b) && !topology.Undecided(g.a.s.tally, g.class, b.Site):
		return nil
	}
	b.CountBase(g.a.s.limits)
	g.a.s.limits.Return(b.Base)
	x := g.withChoices(b, func(choices []*market.Option) bool { return b.Site == nil || g.allowsAs(b, choices) })
	g.a.s.limits.Take(b.Base, 1)
	b.CountLargest(g.a.s.limits)
	return x
}

// withChoices is a claim of a pool with minValues with one more pod, and all that it may become then, within limits
// that do not count it; nil where there is too little to choose from, or what there is does not suit. A preference of
// the pod's about other pods gives way where it would leave too little.
func (g *grower) withChoices(b *purchase.NewClaim, suits func(choices []*market.Option) bool) *growth {
	may := mayBecome(g.a, b, g.class)
	if g.r.Undecided && b.Site != nil {
		fits := may
		may = func(o *market.Option) bool { return fits(o) && slices.Contains(b.Shown, o) }
	}
	keys := [][]string{g.a.keysOf(g.class)}
	if rules := g.a.s.rules.Keys(g.class); len(rules) < len(keys[0]) {
		keys = append(keys, rules)
	}
	for _, k := range keys {
		items := g.itemsOn(b, b.Base, k)
		if !g.together(items) {
			return nil
		}
		options, ok := g.a.s.market.Choices(b.Base, items, g.a.s.limits, may)
		into := b.Base
		if ok && !into.Fits(g.a.s.market.Combine(items)) {
			into = options[0] // else other pods would be told that the claim may still become what it was packed for
		}
		if ok && suits(withBase(options, into)) {
			return &growth{claim: b, into: into, items: items, options: options}
		}
	}
	return nil
}

// itemsOn are a claim's items with the pod, once it is an option; the pod is kept where the values of some labels are
// those of the option.
func (g *grower) itemsOn(b *purchase.NewClaim, into *market.Option, keys []string) []market.Item {
	var segment *market.Segment
	switch {
	case b.Site == nil && g.a.s.tally.Frozen():
		segment = g.a.s.segments.Of(g.a.s.keys, into) // elsewhere it might break what placed pods rely on
	case g.a.hasPodRules(g.class) && !g.r.Undecided:
		segment = g.a.s.segments.Of(keys, into)
	}
	return purchase.Join(b.Items, market.Item{Class: g.class, Pods: []int{g.pod}, Segment: segment})
}

// add puts the pod on a claim, which becomes what it is to be then.
func (g *grower) add(x *growth) {
	a, b := g.a, x.claim
	if b.Options != nil {
		b.CountBase(a.s.limits)
	}
	if x.isNew {
		a.claims = append(a.claims, b)
	} else {
		a.s.limits.Return(b.Base)
	}
	a.s.limits.Take(x.into, 1)
	b.Base, b.RunnersUp = x.into, nil
	if x.items == nil {
		x.items = g.itemsOn(b, x.into, a.keysOf(g.class))
	}
	b.Items, b.Options = x.items, x.options
	if b.Options != nil {
		b.CountLargest(a.s.limits)
	}
	a.s.replaceDevices(b)
	a.s.takeDevices(b, g.class)
	if a.hasPodRules(g.class) || b.Site != nil || a.s.tally.Frozen() {
		a.s.tally.Narrow(a.site(b), nil, a.places(b)...)
	}
	if a.hasPodRules(g.class) {
		a.s.tally.Add(g.class, a.site(b), 1)
	}
	a.assignments = append(a.assignments, Assignment{Pod: g.pod, Claim: b})
}

// withBase is what a claim may become with what it was packed for: a list that is cut short may be of others.
func withBase(options []*market.Option, base *market.Option) []*market.Option {
	if slices.Contains(options, base) {
		return options
	}
	return append(slices.Clone(options), base)
}

// segmentFor is where a claim must be that a pod of a class is on; nil for pods without pod rules, and for those that
// may go wherever it is.
func (a *attempt) segmentFor(c *view.Class, o *market.Option, r *round) *market.Segment {
	if !a.hasPodRules(c) || r.Undecided {
		return nil
	}
	return a.s.segments.Of(a.keysOf(c), o)
}

// wouldAllow says whether a claim that becomes one of some places, bought now, might take a pod.
func (g *grower) wouldAllow(places ...*fit.Place) bool {
	site := g.a.s.tally.Probe(nil, places...)
	return !g.a.s.tally.Opens(site) && g.r.Lets(g.a.s.tally, g.class, site)
}

// harmless says that a new node of an option breaks nothing that placed pods rely on, see topology.Tally.Freeze.
func (s *Scheduler) harmless(o *market.Option) bool {
	return !s.tally.Frozen() || !s.tally.Opens(s.tally.Probe(nil, &o.Place))
}

// mayBuy says what a new claim for a pod of each of some classes may become, capacity, limits and their pod rules aside.
func mayBuy(s *Scheduler, classes ...*view.Class) func(*market.Option) bool {
	fits := s.devicesFit(nil, classes...)
	return func(o *market.Option) bool { return fits(o) && s.harmless(o) }
}

// cheapestNew is a new claim for the pod: the cheapest of the pools of highest weight.
func (g *grower) cheapestNew() *growth {
	if !g.a.buysNodes {
		return nil
	}
	it := market.Item{Class: g.class, Pods: []int{g.pod}}
	for _, preferred := range g.a.s.market.Passes() {
		for _, tier := range g.a.s.market.TiersOf(g.a.s.keys, g.a.s.onlyPool) {
			if x := g.firstAllowed(tier, &it, preferred); x != nil {
				return x
			}
		}
	}
	return nil
}

func (g *grower) firstAllowed(tier []*market.Option, it *market.Item, preferred bool) *growth {
	verdicts, fits := make(map[string]bool), mayBuy(g.a.s, g.class)
	for _, o := range g.a.s.market.Weighed(tier, []market.Item{*it}) {
		if !o.Takes(it, preferred) || g.a.s.limits.Remaining(o, 1) == 0 || !fits(o) || (g.a.quiet && g.a.s.rules.Starts(&o.Place)) || (g.r.Undecided && !market.HasMinValues(o.Pool)) {
			continue
		}
		place := o.Key(g.a.s.keys)
		ok, known := verdicts[place]
		if !known && !g.r.Undecided {
			ok = g.wouldAllow(&o.Place) && (!g.a.careful || settled.AllowBeside(g.a.s.tally, &o.Place, placedByRules(g.a), g.a.openTo))
			verdicts[place] = ok
		}
		if !ok && !g.r.Undecided {
			continue
		}
		x := &growth{claim: &purchase.NewClaim{Base: o}, into: o}
		if market.HasMinValues(o.Pool) {
			x = g.withChoices(x.claim, func(choices []*market.Option) bool { return !g.r.Undecided || g.wouldAllow(market.Places(choices)...) })
		}
		if x != nil {
			x.isNew = true
			return x
		}
	}
	return nil
}
