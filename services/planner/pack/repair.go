package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/pack/queue"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// round is how pods that are left are judged.
type round = topology.Leniency

// repair is the second pass. What replay leaves unplaced goes one pod at a time
// onto anything: hosts, claims of this plan, which may grow, and new claims.
func (a *attempt) repair() {
	daemons := len(a.s.rules.Daemons) > 0
	if daemons {
		a.countClaims() // DaemonSets' pods are on all of them from the start, and gone with those that are dropped
	}
	a.replay(purchase.ByPod(a.claims))
	a.placeLeft()
	for i := 0; daemons && (a.settle() || i == mostSettles && len(a.unplaced) > 0); i++ {
		// In the end nothing is bought that brings more pods of DaemonSets; and at last nothing that costs placed pods
		// their places.
		a.quiet, a.careful = i+1 == mostSettles, i == mostSettles
		if i <= mostSettles {
			a.placeLeft()
		}
	}
}

// placeLeft places what is left. Where some pods have no place at last, claims give up what they could become
// elsewhere, if that lets any of those in: what they may become are domains to spread over.
func (a *attempt) placeLeft() {
	if a.placeInRounds(); len(a.unplaced) == 0 || a.s.Stopped() {
		return
	}
	mark, before := a.s.Mark(), make(map[*purchase.NewClaim][]*market.Option)
	for _, b := range a.claims {
		if b.Site == nil || b.Options != nil {
			continue
		}
		alike := slices.DeleteFunc(slices.Clone(b.Shown), func(o *market.Option) bool { return !topology.Alike(a.s.tally, &o.Place, &b.Base.Place) })
		if len(alike) < len(b.Shown) {
			before[b], b.Shown = b.Shown, alike
			a.s.tally.Narrow(b.Site, nil, market.Places(alike)...)
		}
	}
	if len(before) == 0 || a.placeInRounds() {
		return
	}
	a.s.Revert(mark)
	for b, shown := range before {
		b.Shown = shown
	}
}

// placeInRounds places what is left, in rounds, and says whether it placed any.
func (a *attempt) placeInRounds() (some bool) {
	classes := make([]*view.Class, len(a.unplaced))
	for i, it := range a.unplaced {
		classes[i] = it.Class
	}
	rounds := topology.Leniencies(a.s.rules, classes)
	for i := 0; i < len(rounds) && len(a.unplaced) > 0; i++ {
		r := &rounds[i]
		if r.Over != 0 {
			a.countClaims()
		}
		progress := a.placeRound(r)
		some = some || progress
		if progress && (r.Undecided || r.Jointly) {
			i = -1 // there are more pods now that others may be with
		}
	}
	return some
}

// openTo are the nodes, claims of this plan and hosts in flight, of which something is open that matters to a class.
func (a *attempt) openTo(c *view.Class) []*topology.Site {
	sites := make([]*topology.Site, 0, len(a.claims))
	for _, b := range a.claims {
		if b.Site != nil {
			sites = append(sites, b.Site)
		}
	}
	return topology.Open(a.s.tally, c, sites)
}

// placeRound places what is left as long as there is progress, and says whether there was any.
func (a *attempt) placeRound(r *round) (some bool) {
	for progress := true; progress && len(a.unplaced) > 0; {
		progress = false
		open := a.unplaced
		a.unplaced = nil
		for _, it := range open {
			n := 0
			if !r.Several || a.s.rules.SpreadsOverSeveral(it.Class) {
				n = a.repairClass(it.Class, it.Pods, r)
			}
			progress = progress || n > 0
			a.leaveUnplaced(it.Class, it.Pods[n:])
		}
		some = some || progress
	}
	return some
}

// replay repeats the first pass with claims in the place of segments; a pod that does not fit any more stays unplaced.
func (a *attempt) replay(on map[int]*purchase.NewClaim) {
	a.assignments = slices.Grow(a.assignments, len(on))
	for _, it := range a.wantedItems {
		if it.Segment != nil || a.hasPodRules(it.Class) || a.s.Stopped() {
			continue
		}
		for _, p := range it.Pods {
			switch b := on[p]; {
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
	a.dropEmpty()
}

// dropEmpty drops claims that no pod is left for.
func (a *attempt) dropEmpty() {
	a.claims = slices.DeleteFunc(a.claims, func(b *purchase.NewClaim) bool {
		if len(b.Items) > 0 {
			return false
		}
		if b.Options != nil {
			b.CountBase(a.s.limits)
		}
		a.s.limits.Return(b.Base)
		if b.Site != nil {
			a.s.tally.Drop(b.Site)
		}
		return true
	})
}

// countClaims counts the claims of pods without pod rules, too: they open domains.
func (a *attempt) countClaims() {
	for _, b := range a.claims {
		a.site(b)
	}
}

func (a *attempt) repairClass(c *view.Class, pods []int, r *round) int {
	if r.Jointly {
		if r.Open = a.openTo(c); len(r.Open) == 0 {
			return 0
		}
	}
	hosts := queue.Order(a.s.v, a.s.matcher, c, a.usable)
	if r.Over == 0 && a.s.sharesClaims(c) {
		hosts = a.s.hostsForAll(c, hosts, len(pods)) // all of them must be on one node; a new one may hold them
	}
	for n, p := range pods {
		if a.s.Stopped() || !a.placeAnywhere(c, p, hosts, r) {
			return n
		}
		if r.Jointly {
			r.Open = a.openTo(c) // the pod may have decided one
		}
	}
	return len(pods)
}

// placeAnywhere looks for the cheapest place for one pod.
func (a *attempt) placeAnywhere(c *view.Class, pod int, hosts []int, r *round) bool {
	for _, h := range hosts {
		if a.fitsOnHost(c, h) && r.Lets(a.s.tally, c, a.s.tally.Host(h)) {
			a.s.v.Place(h, c, 1)
			a.assignments = append(a.assignments, Assignment{Pod: pod, Host: h})
			a.s.tally.Freeze(c, a.s.tally.Host(h), r.Over != 0)
			return true
		}
	}
	g := &grower{a, r, c, pod}
	grown, fresh := g.cheapestGrowth(), g.cheapestNew()
	if fresh != nil && (grown == nil || grown.extra() > fresh.into.Price+a.s.buyer.Overhead) {
		grown = fresh
	}
	if grown == nil {
		return false
	}
	g.add(grown)
	a.s.tally.Freeze(c, a.site(grown.claim), r.Over != 0)
	return true
}

// fitsOnHost says whether one more pod may run on a host, other pods' rules aside.
func (a *attempt) fitsOnHost(c *view.Class, h int) bool {
	if view.Fits(a.s.v.Free(h), c.Requested, 1) == 0 || !a.s.v.Open(h) || !a.s.matcher.Admits(c, h) || fit.PortsClash(c.HostPorts, a.s.v.Ports(h)) {
		return false
	}
	_, _, ok := a.s.v.VolumesLeft(h, c)
	return ok && a.s.matcher.DeviceCapacity(c, h, a.s.matcher.UnderCap(c, h, 1)) == 1
}

// mayBecome says what a claim may become with one more pod of a class, capacity and limits aside.
func mayBecome(a *attempt, b *purchase.NewClaim, c *view.Class) func(*market.Option) bool {
	fits := a.s.devicesFit(b, c)
	return func(o *market.Option) bool {
		return fits(o) && b.IsLikeShown(o, a.s.tally) && (b.Site != nil || a.s.harmless(o))
	}
}
