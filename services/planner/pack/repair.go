package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// repair is the second pass; on says which claim was bought for each pod. What replay leaves unplaced goes one pod at a time
// onto anything: hosts, claims of this plan, which may grow, and new claims. In a second try, domains count for spread only
// if they exist or are planned; see topology.Tally.AllowsReal.
func (a *attempt) repair(on map[int]*purchase.NewClaim) {
	a.replay(on)
	for _, actual := range []bool{false, true} {
		if actual && len(a.unplaced) > 0 {
			a.countClaims()
		}
		for progress := true; progress && len(a.unplaced) > 0; {
			progress = false
			open := a.unplaced
			a.unplaced = nil
			for _, it := range open {
				n := a.repairClass(it.Class, it.Pods, actual)
				progress = progress || n > 0
				a.leaveUnplaced(it.Class, it.Pods[n:])
			}
		}
	}
}

// replay repeats the first pass with claims in the place of segments; a pod that does not fit any more stays unplaced.
func (a *attempt) replay(on map[int]*purchase.NewClaim) {
	for _, it := range a.wantedItems {
		if it.Segment != nil || a.hasPodRules(it.Class) || a.s.Stopped() {
			continue
		}
		for _, p := range it.Pods {
			b := on[p]
			switch {
			case b == nil:
			case a.s.takeDevices(b, it.Class):
				a.assignments = append(a.assignments, Assignment{Pod: p, Claim: b})
			default:
				b.Drop(p)
				a.leaveUnplaced(it.Class, []int{p})
			}
		}
	}
	for i, ch := range a.intended {
		if i%podsPerStop == 0 && a.s.Stopped() {
			return
		}
		c := a.s.v.Pods[ch.pod].Class
		b := on[ch.pod]
		switch {
		case !ch.newNode && a.s.matcher.Capacity(c, ch.host, 1) == 1:
			a.s.v.Place(ch.host, c, 1)
			a.assignments = append(a.assignments, Assignment{Pod: ch.pod, Host: ch.host})
		case b != nil && a.s.tally.Allows(c, a.site(b)) && a.s.takeDevices(b, c):
			a.s.tally.Add(c, a.site(b), 1)
			a.assignments = append(a.assignments, Assignment{Pod: ch.pod, Claim: b})
		default:
			if b != nil {
				b.Drop(ch.pod)
			}
			a.leaveUnplaced(c, []int{ch.pod})
		}
	}
	a.claims = slices.DeleteFunc(a.claims, func(b *purchase.NewClaim) bool {
		if len(b.Items) == 0 {
			if b.Options != nil {
				b.CountBase(a.s.limits)
			}
			a.s.limits.Return(b.Base)
		}
		return len(b.Items) == 0
	})
}

// countClaims counts the claims of pods without pod rules, too: they open domains.
func (a *attempt) countClaims() {
	for _, b := range a.claims {
		a.site(b)
	}
}

func (a *attempt) repairClass(c *view.Class, pods []int, actual bool) int {
	hosts := hostOrder(a.s.v, a.s.matcher, c, a.usable)
	if !actual && a.s.sharesClaims(c) {
		hosts = a.s.hostsForAll(c, hosts, len(pods)) // all of them must be on one node; a new one may hold them
	}
	for n, p := range pods {
		if a.s.Stopped() || !a.placeAnywhere(c, p, hosts, actual) {
			return n
		}
	}
	return len(pods)
}

// placeAnywhere looks for the cheapest place for one pod.
func (a *attempt) placeAnywhere(c *view.Class, pod int, hosts []int, actual bool) bool {
	allows := a.s.tally.Allows
	if actual {
		allows = a.s.tally.AllowsReal
	}
	for _, h := range hosts {
		if a.fitsOnHost(c, h) && allows(c, a.s.tally.Host(h)) {
			a.s.v.Place(h, c, 1)
			a.assignments = append(a.assignments, Assignment{Pod: pod, Host: h})
			if actual {
				a.s.tally.Freeze(c)
			}
			return true
		}
	}
	grown, into, extra := a.cheapestGrowth(c, allows)
	fresh := a.cheapestNew(c, allows)
	switch {
	case grown != nil && (fresh == nil || extra <= fresh.Price+a.s.v.Policy.PerNodeOverhead):
		a.addTo(grown, into, c, pod)
	case fresh != nil:
		a.newClaimFor(fresh, c, pod)
	default:
		return false
	}
	if actual {
		a.s.tally.Freeze(c)
	}
	return true
}

// fitsOnHost says whether one more pod may run on a host, other pods' rules aside.
func (a *attempt) fitsOnHost(c *view.Class, h int) bool {
	if view.Fits(a.s.v.Free(h), c.Requested, 1) == 0 || !a.s.v.Open(h) || !a.s.matcher.Admits(c, h) || fit.PortsClash(c.HostPorts, a.s.v.Ports(h)) {
		return false
	}
	_, _, ok := a.s.v.VolumesLeft(h, c)
	return ok && a.s.matcher.DeviceCapacity(c, h, 1) == 1
}

// newClaimFor makes a claim for one pod.
func (a *attempt) newClaimFor(o *market.Option, c *view.Class, pod int) {
	b := &purchase.NewClaim{Base: o}
	a.s.limits.Take(o, 1)
	a.claims = append(a.claims, b)
	a.addTo(b, o, c, pod)
}

// addTo puts a pod on a claim, which becomes into if it is not that yet.
func (a *attempt) addTo(b *purchase.NewClaim, into *market.Option, c *view.Class, pod int) {
	if b.Options != nil {
		b.CountBase(a.s.limits)
	}
	if into != b.Base {
		a.s.limits.Return(b.Base)
		a.s.limits.Take(into, 1)
		b.Base = into
	}
	b.RunnersUp, b.Options = nil, nil
	segment := a.segmentFor(c, into)
	i := slices.IndexFunc(b.Items, func(it market.Item) bool { return it.Class == c && it.Segment == segment })
	b.Items = slices.Clone(b.Items)
	if i < 0 {
		b.Items = append(b.Items, market.Item{Class: c, Segment: segment})
		i = len(b.Items) - 1
	}
	pods := append(slices.Clone(b.Items[i].Pods), pod)
	slices.Sort(pods)
	b.Items[i].Pods = pods
	if market.HasMinValues(into.Pool) {
		a.s.limits.Return(into)
		b.Options, _ = a.s.market.Choices(into, b.Items, a.s.limits, a.s.devicesFit(b, c))
		a.s.limits.Take(into, 1)
		b.CountLargest(a.s.limits)
	}
	a.s.replaceDevices(b)
	a.s.takeDevices(b, c)
	if a.hasPodRules(c) || b.Site != nil {
		a.s.tally.Narrow(a.site(b), nil, a.places(b)...)
	}
	if a.hasPodRules(c) {
		a.s.tally.Add(c, a.site(b), 1)
	}
	a.assignments = append(a.assignments, Assignment{Pod: pod, Claim: b})
}

// cheapestGrowth finds the claim that takes one more pod for the lowest extra price.
func (a *attempt) cheapestGrowth(c *view.Class, allows func(*view.Class, *topology.Site) bool) (b *purchase.NewClaim, into *market.Option, extra int64) {
	for _, x := range a.claims {
		o := a.grownOption(x, c, allows, b == nil, extra)
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
func (a *attempt) grownOption(b *purchase.NewClaim, c *view.Class, allows func(*view.Class, *topology.Site) bool, anyPrice bool, most int64) *market.Option {
	if b.Site != nil && !allows(c, b.Site) {
		return nil
	}
	items := append(slices.Clone(b.Items), market.Item{Class: c, Pods: []int{0}, Segment: a.segmentFor(c, b.Base)})
	if market.HasMinValues(b.Base.Pool) {
		return a.grownFlexible(b, items)
	}
	items[len(items)-1].Segment = nil
	if a.s.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, a.s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	load, fits := a.s.market.Combine(items), a.s.devicesFit(b, c)
	check := func(o *market.Option) bool {
		if !o.Available || !o.Fits(load) || !fits(o) {
			return false
		}
		if b.Site != nil && !market.SameOn(a.s.keys, o, b.Base) {
			return false
		}
		if b.Site == nil && a.hasPodRules(c) && !a.wouldAllow(c, o, allows) {
			return false
		}
		return o == b.Base || a.s.limits.AllowInstead(o, b.Base)
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

// grownFlexible is what a claim of a pool with minValues was packed for, where enough distinct offerings hold more.
func (a *attempt) grownFlexible(b *purchase.NewClaim, items []market.Item) *market.Option {
	c := items[len(items)-1].Class
	if b.Site == nil && a.hasPodRules(c) || a.s.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, a.s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	b.CountBase(a.s.limits)
	a.s.limits.Return(b.Base)
	_, ok := a.s.market.Choices(b.Base, items, a.s.limits, a.s.devicesFit(b, c))
	a.s.limits.Take(b.Base, 1)
	b.CountLargest(a.s.limits)
	if !ok {
		return nil
	}
	return b.Base
}

// segmentFor is where a claim must be that a pod of a class is on; nil for pods without pod rules.
func (a *attempt) segmentFor(c *view.Class, o *market.Option) *market.Segment {
	if !a.hasPodRules(c) {
		return nil
	}
	return a.s.segmentOf(a.keysOf(c), o)
}

// wouldAllow says whether a claim for nothing but an option, bought now, might take a pod.
func (a *attempt) wouldAllow(c *view.Class, o *market.Option, allows func(*view.Class, *topology.Site) bool) bool {
	site := a.s.tally.Probe(nil, &o.Place)
	return !a.s.tally.Opens(site) && allows(c, site)
}

// cheapestNew is the option for a new claim for one pod: the cheapest of the pools of highest weight.
func (a *attempt) cheapestNew(c *view.Class, allows func(*view.Class, *topology.Site) bool) *market.Option {
	it := market.Item{Class: c, Pods: []int{0}}
	for _, preferred := range a.s.market.Passes() {
		for _, tier := range a.s.tiersBySegment() {
			if o := a.firstAllowed(tier, &it, preferred, allows); o != nil {
				return o
			}
		}
	}
	return nil
}

func (a *attempt) firstAllowed(tier []*market.Option, it *market.Item, preferred bool, allows func(*view.Class, *topology.Site) bool) *market.Option {
	verdicts, fits := make(map[string]bool), a.s.devicesFit(nil, it.Class)
	for _, o := range tier {
		if !o.Takes(it, preferred) || a.s.limits.Remaining(o, 1) == 0 || !fits(o) {
			continue
		}
		place := o.Key(a.s.keys)
		ok, known := verdicts[place]
		if !known {
			ok = a.wouldAllow(it.Class, o, allows)
			verdicts[place] = ok
		}
		if !ok {
			continue
		}
		if market.HasMinValues(o.Pool) {
			alone := *it
			alone.Segment = a.segmentFor(it.Class, o)
			if _, ok := a.s.market.Choices(o, []market.Item{alone}, a.s.limits, fits); !ok {
				continue
			}
		}
		return o
	}
	return nil
}
