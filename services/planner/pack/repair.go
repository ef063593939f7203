package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// repair seats what is still open one pod at a time, on anything: hosts, claims of this plan, which may grow, and new
// claims. In a second try, domains count for spread only if they exist or are planned; see topology.Tally.AllowsReal.
func (s *attempt) repair() {
	for _, actual := range []bool{false, true} {
		if actual && len(s.unplaced) > 0 {
			s.countClaims()
		}
		for progress := true; progress && len(s.unplaced) > 0; {
			progress = false
			open := s.unplaced
			s.unplaced = nil
			for _, it := range open {
				n := s.repairClass(it.Class, it.Pods, actual)
				progress = progress || n > 0
				s.leaveUnplaced(it.Class, it.Pods[n:])
			}
		}
	}
}

// countClaims makes the claims known that no pod minds: they open domains too.
func (s *attempt) countClaims() {
	for _, b := range s.claims {
		s.site(b)
	}
}

func (s *attempt) repairClass(c *view.Class, pods []int, actual bool) int {
	hosts := hostOrder(s.v, s.matcher, c, s.usable)
	if !actual && s.sharesClaims(c) {
		hosts = s.hostsForAll(c, hosts, len(pods)) // where one of them is, the others must be; a new node may hold all
	}
	for n, p := range pods {
		if s.Stopped() || !s.placeAnywhere(c, p, hosts, actual) {
			return n
		}
	}
	return len(pods)
}

// placeAnywhere looks for the cheapest place for one pod.
func (s *attempt) placeAnywhere(c *view.Class, pod int, hosts []int, actual bool) bool {
	allows := s.tally.Allows
	if actual {
		allows = s.tally.AllowsReal
	}
	for _, h := range hosts {
		if s.fitsOnHost(c, h) && allows(c, s.tally.Host(h)) {
			s.v.Place(h, c, 1)
			s.assignments = append(s.assignments, Assignment{Pod: pod, Host: h})
			s.freezeIf(c, actual)
			return true
		}
	}
	grown, into, extra := s.cheapestGrowth(c, allows)
	fresh := s.cheapestNew(c, allows)
	switch {
	case grown != nil && (fresh == nil || extra <= fresh.Price+s.v.Policy.PerNodeOverhead):
		s.addTo(grown, into, c, pod)
	case fresh != nil:
		s.newClaimFor(fresh, c, pod)
	default:
		return false
	}
	s.freezeIf(c, actual)
	return true
}

// fitsOnHost says whether one more pod may run on a host, other pods' rules aside.
func (s *attempt) fitsOnHost(c *view.Class, h int) bool {
	if view.Fits(s.v.Free(h), c.Requested, 1) == 0 || !s.v.Open(h) || !s.matcher.Admits(c, h) || fit.PortsClash(c.HostPorts, s.v.Ports(h)) {
		return false
	}
	_, _, ok := s.v.VolumesLeft(h, c)
	return ok && s.matcher.DeviceCapacity(c, h, 1) == 1
}

// newClaimFor makes a claim for one pod.
func (s *attempt) newClaimFor(o *market.Option, c *view.Class, pod int) {
	b := &purchase.NewClaim{Base: o}
	s.limits.Take(o, 1)
	s.claims = append(s.claims, b)
	s.addTo(b, o, c, pod)
}

func (s *attempt) freezeIf(c *view.Class, actual bool) {
	if actual {
		s.tally.Freeze(c)
	}
}

// addTo puts a pod on a claim, which becomes into if it is not that yet.
func (s *attempt) addTo(b *purchase.NewClaim, into *market.Option, c *view.Class, pod int) {
	if b.Options != nil {
		b.CountBase(s.limits)
	}
	if into != b.Base {
		s.limits.Return(b.Base)
		s.limits.Take(into, 1)
		b.Base = into
	}
	b.RunnersUp, b.Options = nil, nil
	segment := s.segmentFor(c, into)
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
		s.limits.Return(into)
		b.Options, _ = s.market.Choices(into, b.Items, s.limits, s.devicesFit(b, c))
		s.limits.Take(into, 1)
		b.CountLargest(s.limits)
	}
	s.replaceDevices(b)
	s.takeDevices(b, c)
	if s.hasPodRules(c) || b.Site != nil {
		s.tally.Narrow(s.site(b), nil, s.places(b)...)
	}
	if s.hasPodRules(c) {
		s.tally.Add(c, s.site(b), 1)
	}
	s.assignments = append(s.assignments, Assignment{Pod: pod, Claim: b})
}

// cheapestGrowth finds the claim that takes one more pod for the least money.
func (s *attempt) cheapestGrowth(c *view.Class, allows func(*view.Class, *topology.Site) bool) (b *purchase.NewClaim, into *market.Option, extra int64) {
	for _, x := range s.claims {
		o := s.grownOption(x, c, allows, b == nil, extra)
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

// grownOption is the cheapest option that holds a claim's pods and one more; nil when there is none, or none that is less than
// most dearer.
func (s *attempt) grownOption(b *purchase.NewClaim, c *view.Class, allows func(*view.Class, *topology.Site) bool, anyPrice bool, most int64) *market.Option {
	if b.Site != nil && !allows(c, b.Site) {
		return nil
	}
	items := append(slices.Clone(b.Items), market.Item{Class: c, Pods: []int{0}, Segment: s.segmentFor(c, b.Base)})
	if market.HasMinValues(b.Base.Pool) {
		return s.grownFlexible(b, items)
	}
	items[len(items)-1].Segment = nil
	if s.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	load, fits := s.market.Combine(items), s.devicesFit(b, c)
	check := func(o *market.Option) bool {
		if !o.Available || !o.Fits(load) || !fits(o) {
			return false
		}
		if b.Site != nil && !market.SameOn(s.keys, o, b.Base) {
			return false
		}
		if b.Site == nil && s.hasPodRules(c) && !s.wouldAllow(c, o, allows) {
			return false
		}
		return o == b.Base || s.limits.AllowInstead(o, b.Base)
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
func (s *attempt) grownFlexible(b *purchase.NewClaim, items []market.Item) *market.Option {
	c := items[len(items)-1].Class
	if b.Site == nil && s.hasPodRules(c) || s.market.PortsClash(items) || !purchase.WorkloadCapsAllow(items, s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	b.CountBase(s.limits)
	s.limits.Return(b.Base)
	_, ok := s.market.Choices(b.Base, items, s.limits, s.devicesFit(b, c))
	s.limits.Take(b.Base, 1)
	b.CountLargest(s.limits)
	if !ok {
		return nil
	}
	return b.Base
}

// segmentFor is where a claim must be that a pod of a class is on; nil for pods that mind nobody.
func (s *attempt) segmentFor(c *view.Class, o *market.Option) *market.Segment {
	if !s.hasPodRules(c) {
		return nil
	}
	return s.segmentOf(s.keysOf(c), o)
}

// wouldAllow says whether a claim for nothing but an option, bought now, might take a pod.
func (s *attempt) wouldAllow(c *view.Class, o *market.Option, allows func(*view.Class, *topology.Site) bool) bool {
	site := s.tally.Probe(nil, &o.Place)
	return !s.tally.Opens(site) && allows(c, site)
}

// cheapestNew is the option for a new claim for one pod: of the heaviest pools the cheapest.
func (s *attempt) cheapestNew(c *view.Class, allows func(*view.Class, *topology.Site) bool) *market.Option {
	it := market.Item{Class: c, Pods: []int{0}}
	for _, preferred := range s.market.Passes() {
		for _, tier := range s.tiersBySegment() {
			if o := s.firstAllowed(tier, &it, preferred, allows); o != nil {
				return o
			}
		}
	}
	return nil
}

func (s *attempt) firstAllowed(tier []*market.Option, it *market.Item, preferred bool, allows func(*view.Class, *topology.Site) bool) *market.Option {
	verdicts, fits := make(map[string]bool), s.devicesFit(nil, it.Class)
	for _, o := range tier {
		if !o.Takes(it, preferred) || s.limits.Remaining(o, 1) == 0 || !fits(o) {
			continue
		}
		place := o.Key(s.keys)
		ok, known := verdicts[place]
		if !known {
			ok = s.wouldAllow(it.Class, o, allows)
			verdicts[place] = ok
		}
		if !ok {
			continue
		}
		if market.HasMinValues(o.Pool) {
			alone := *it
			alone.Segment = s.segmentFor(it.Class, o)
			if _, ok := s.market.Choices(o, []market.Item{alone}, s.limits, fits); !ok {
				continue
			}
		}
		return o
	}
	return nil
}
