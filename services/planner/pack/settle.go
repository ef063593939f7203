package pack

import (
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/settled"
)

// mostSettles bounds how often pods that lose their places get others: those may cost others theirs.
const mostSettles = 3

// settle places all pods once more, in their order, where they are, now that all claims are known: the pods of
// DaemonSets are on each of them before any other, and so on those, too, that were made after a pod was placed. It says
// whether some pods may not be where they are; these are left.
func (a *attempt) settle() (some bool) {
	a.s.Revert(a.begin)
	for _, b := range a.claims {
		b.DeviceNumber = 0 // it gets its devices anew
		if b.Site != nil {
			b.Site = a.s.tally.Claim(nil, market.Places(b.Shown)...)
		}
	}
	a.countClaims()
	placed := a.assignments
	a.assignments = nil
	for _, x := range placed {
		if a.stays(x) {
			a.assignments = append(a.assignments, x)
			continue
		}
		some = true
		if x.Claim != nil {
			x.Claim.Drop(x.Pod)
		}
		a.leaveUnplaced(a.s.v.Pods[x.Pod].Class, []int{x.Pod})
	}
	a.dropEmpty()
	return some
}

// stays places a pod where it is, if it may be there.
func (a *attempt) stays(x Assignment) bool {
	c, t := a.s.v.Pods[x.Pod].Class, a.s.tally
	if x.Claim != nil && !a.hasPodRules(c) {
		return a.s.takeDevices(x.Claim, c)
	}
	site := a.s.siteOf(x)
	if !settled.Allows(t, settled.Placed{Class: c, Site: site}, a.openTo) {
		return false
	}
	if x.Claim == nil && a.s.matcher.DeviceCapacity(c, x.Host, 1) == 0 || x.Claim != nil && !a.s.takeDevices(x.Claim, c) {
		return false
	}
	relies := !t.Allows(c, site)
	if x.Claim == nil {
		a.s.v.Place(x.Host, c, 1)
	} else {
		t.Add(c, site, 1)
	}
	t.Freeze(c, site, relies)
	return true
}

// placedByRules are the pods that were placed by pod rules, in their order.
func placedByRules(a *attempt) (out []settled.Placed) {
	for _, x := range a.assignments {
		if a.hasPodRules(a.s.v.Pods[x.Pod].Class) {
			out = append(out, PlacedAs(a.s, x))
		}
	}
	return out
}
