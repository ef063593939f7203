package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// seatLast seats what is still open one pod at a time, on anything: hosts, claims of this plan, which may grow, and new
// claims. In a second try, domains count for spread only if they exist or are planned; see topology.Tally.AllowsReal.
func (s *seating) seatLast() {
	for _, actual := range []bool{false, true} {
		if actual && len(s.open) > 0 {
			s.showClaims()
		}
		for progress := true; progress && len(s.open) > 0; {
			progress = false
			open := s.open
			s.open = nil
			for _, it := range open {
				n := s.seatEach(it.Class, it.Pods, actual)
				progress = progress || n > 0
				s.keepOpen(it.Class, it.Pods[n:])
			}
		}
	}
}

// showClaims makes the claims known that no pod minds: they open domains too.
func (s *seating) showClaims() {
	for _, b := range s.bought {
		s.site(b)
	}
}

func (s *seating) seatEach(c *view.Class, pods []int, actual bool) int {
	hosts := fillOrder(s.v, s.matcher, c, s.usable)
	if !actual && s.shares(c) {
		hosts = s.equippedFor(c, hosts, len(pods)) // where one of them is, the others must be; a new node may hold all
	}
	for n, p := range pods {
		if s.Stopped() || !s.seatAnywhere(c, p, hosts, actual) {
			return n
		}
	}
	return len(pods)
}

// seatAnywhere looks for the cheapest place for one pod.
func (s *seating) seatAnywhere(c *view.Class, pod int, hosts []int, actual bool) bool {
	allows := s.tally.Allows
	if actual {
		allows = s.tally.AllowsReal
	}
	for _, h := range hosts {
		if s.hasRoom(c, h) && allows(c, s.tally.Host(h)) {
			s.v.Place(h, c, 1)
			s.seats = append(s.seats, Assignment{Pod: pod, Host: h})
			s.frozen(c, actual)
			return true
		}
	}
	grown, into, dearer := s.growth(c, allows)
	fresh := s.freshest(c, allows)
	switch {
	case grown != nil && (fresh == nil || dearer <= fresh.Price+s.v.Policy.PerNodeOverhead):
		s.grow(grown, into, c, pod)
	case fresh != nil:
		s.claimFor(fresh, c, pod)
	default:
		return false
	}
	s.frozen(c, actual)
	return true
}

// hasRoom says whether one more pod may run on a host, other pods' rules aside.
func (s *seating) hasRoom(c *view.Class, h int) bool {
	if view.Fits(s.v.Free(h), c.Requested, 1) == 0 || !s.v.Open(h) || !s.matcher.Admits(c, h) || fit.PortsClash(c.HostPorts, s.v.Ports(h)) {
		return false
	}
	_, _, ok := s.v.VolumesLeft(h, c)
	return ok && s.matcher.DeviceCapacity(c, h, 1) == 1
}

// claimFor makes a claim for one pod.
func (s *seating) claimFor(o *Option, c *view.Class, pod int) {
	b := &NewClaim{base: o}
	s.lim.Take(o, 1)
	s.bought = append(s.bought, b)
	s.grow(b, o, c, pod)
}

func (s *seating) frozen(c *view.Class, actual bool) {
	if actual {
		s.tally.Freeze(c)
	}
}

// grow puts a pod on a claim, which becomes into if it is not that yet.
func (s *seating) grow(b *NewClaim, into *Option, c *view.Class, pod int) {
	if b.Options != nil {
		s.lim.unstretch(b)
	}
	if into != b.base {
		s.lim.give(b.base)
		s.lim.Take(into, 1)
		b.base = into
	}
	b.RunnersUp, b.Options = nil, nil
	cell := s.cellFor(c, into)
	i := slices.IndexFunc(b.Items, func(it Item) bool { return it.Class == c && it.Segment == cell })
	b.Items = slices.Clone(b.Items)
	if i < 0 {
		b.Items = append(b.Items, Item{Class: c, Segment: cell, row: -1})
		i = len(b.Items) - 1
	}
	pods := append(slices.Clone(b.Items[i].Pods), pod)
	slices.Sort(pods)
	b.Items[i].Pods = pods
	if minValues(into.Pool) {
		s.lim.give(into)
		b.Options, _ = s.m.choices(into, b.Items, s.lim, s.fitting(b, c))
		s.lim.Take(into, 1)
		s.lim.stretch(b)
	}
	s.refit(b)
	s.handOut(b, c)
	if s.minds(c) || b.site != nil {
		s.tally.Narrow(s.site(b), nil, s.places(b)...)
	}
	if s.minds(c) {
		s.tally.Add(c, s.site(b), 1)
	}
	s.seats = append(s.seats, Assignment{Pod: pod, Claim: b})
}

// growth finds the claim that takes one more pod for the least money.
func (s *seating) growth(c *view.Class, allows func(*view.Class, *topology.Site) bool) (b *NewClaim, into *Option, dearer int64) {
	for _, x := range s.bought {
		o := s.larger(x, c, allows, b == nil, dearer)
		if o == nil {
			continue
		}
		more := max(0, o.Price-x.base.Price)
		if b == nil || more < dearer {
			b, into, dearer = x, o, more
		}
		if dearer == 0 {
			return b, into, 0
		}
	}
	return b, into, dearer
}

// larger is the cheapest option that holds a claim's pods and one more; nil when there is none, or none that is less than
// most dearer.
func (s *seating) larger(b *NewClaim, c *view.Class, allows func(*view.Class, *topology.Site) bool, anyPrice bool, most int64) *Option {
	if b.site != nil && !allows(c, b.site) {
		return nil
	}
	items := append(slices.Clone(b.Items), Item{Class: c, Pods: []int{0}, Segment: s.cellFor(c, b.base)})
	if minValues(b.base.Pool) {
		return s.asFlexible(b, items)
	}
	items[len(items)-1].Segment = nil
	if s.m.portsClash(items) || !capsAllow(items, s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	load, fits := s.m.burdenOf(items), s.fitting(b, c)
	check := func(o *Option) bool {
		if !o.Available || !o.holds(load) || !fits(o) {
			return false
		}
		if b.site != nil && !sameOn(s.keys, o, b.base) {
			return false
		}
		if b.site == nil && s.minds(c) && !s.wouldAllow(c, o, allows) {
			return false
		}
		return o == b.base || s.lim.roomInstead(o, b.base)
	}
	if check(b.base) {
		return b.base
	}
	for _, o := range b.base.variant.options {
		if !anyPrice && o.Price-b.base.Price >= most {
			return nil
		}
		if o.Price >= b.base.Price && o != b.base && check(o) {
			return o
		}
	}
	return nil
}

// asFlexible is what a claim of a pool with minValues was packed for, where enough distinct offerings hold more.
func (s *seating) asFlexible(b *NewClaim, items []Item) *Option {
	c := items[len(items)-1].Class
	if b.site == nil && s.minds(c) || s.m.portsClash(items) || !capsAllow(items, s.v.Policy.MaxPodsOfWorkloadPerNode) {
		return nil
	}
	s.lim.unstretch(b)
	s.lim.give(b.base)
	_, ok := s.m.choices(b.base, items, s.lim, s.fitting(b, c))
	s.lim.Take(b.base, 1)
	s.lim.stretch(b)
	if !ok {
		return nil
	}
	return b.base
}

// cellFor is where a claim must be that a pod of a class is on; nil for pods that mind nobody.
func (s *seating) cellFor(c *view.Class, o *Option) *Segment {
	if !s.minds(c) {
		return nil
	}
	return s.cellOf(s.keysOf(c), o)
}

// wouldAllow says whether a claim for nothing but an option, bought now, might take a pod.
func (s *seating) wouldAllow(c *view.Class, o *Option, allows func(*view.Class, *topology.Site) bool) bool {
	site := s.tally.Probe(nil, &o.place)
	return !s.tally.Opens(site) && allows(c, site)
}

// freshest is the option for a new claim for one pod: of the heaviest pools the cheapest.
func (s *seating) freshest(c *view.Class, allows func(*view.Class, *topology.Site) bool) *Option {
	it := Item{Class: c, Pods: []int{0}}
	for _, wishes := range s.m.passes() {
		for _, tier := range s.tiersByCell() {
			if o := s.firstThat(tier, &it, wishes, allows); o != nil {
				return o
			}
		}
	}
	return nil
}

func (s *seating) firstThat(tier []*Option, it *Item, wishes bool, allows func(*view.Class, *topology.Site) bool) *Option {
	verdicts, fits := make(map[string]bool), s.fitting(nil, it.Class)
	for _, o := range tier {
		if !o.takes(it, wishes) || s.lim.Remaining(o, 1) == 0 || !fits(o) {
			continue
		}
		place := o.key(s.keys)
		ok, known := verdicts[place]
		if !known {
			ok = s.wouldAllow(it.Class, o, allows)
			verdicts[place] = ok
		}
		if !ok {
			continue
		}
		if minValues(o.Pool) {
			alone := *it
			alone.Segment = s.cellFor(it.Class, o)
			if _, ok := s.m.choices(o, []Item{alone}, s.lim, fits); !ok {
				continue
			}
		}
		return o
	}
	return nil
}
