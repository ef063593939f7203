package draft

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Awaits finds pods without a place that could run on a host if its own pods left, so that it is not to go: it might be
// bought again for them. What another rule keeps off it would not run there then, either. Pods for which its pool would
// buy a node but for the limit do not count: the limit has more left once the host is gone.
func Awaits(dr *Draft, host int) (pods market.Item, some bool) {
	if len(dr.Unplaced) == 0 || !dr.View.Open(host) {
		return pods, false
	}
	mark := dr.View.Fork()
	defer dr.View.Revert(mark)
	for _, p := range dr.View.Hosts[host].Pods {
		if c := dr.View.Pods[p].Class; !c.Daemon && !c.Mirror && !view.Left(dr.View, p) {
			view.SetFree(dr.View, p, true)
		}
	}
	free := slices.Clone(dr.View.Free(host))
	for _, p := range dr.Buffered[host] { // what pods do not need is for buffers
		free.Add(dr.View.Pods[p].Class.Requested, 1)
	}
	for _, it := range dr.Unplaced {
		if view.Fits(free, it.Class.Requested, 1) == 1 && lacksRoomAlone(dr, it.Class, host) && !waitsForLimit(dr, it, dr.View.Hosts[host].Pool) {
			return it, true
		}
	}
	return pods, false
}

// lacksRoomAlone says that a pod of a class that is not too large could run on a host that has been made free, its devices
// included. Rules about other pods go by where those are now: they would not be gone, but elsewhere, and mostly in the way
// there as well.
func lacksRoomAlone(dr *Draft, c *view.Class, host int) bool {
	if !dr.Matcher.Admits(c, host) || fit.PortsClash(c.HostPorts, dr.View.Ports(host)) {
		return false
	}
	_, _, attached := dr.View.VolumesLeft(host, c)
	tally := dr.Scheduler.Tally()
	return attached && tally.Allows(c, tally.Host(host))
}

// waitsForLimit says that what keeps a pool from buying a node for pods is its limit.
func waitsForLimit(dr *Draft, it market.Item, p *view.Pool) bool {
	known, is := dr.misses[it.Class]
	if !is {
		_, known = dr.Scheduler.Explain(it)
		dr.misses[it.Class] = known
	}
	i := slices.IndexFunc(known, func(m model.PoolMiss) bool { return m.NodePool == p.Name })
	return i >= 0 && known[i].Reason.Code == model.CodeLimit
}
