package draft

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Awaits finds pods without a place that could run on a host if its own pods left, so that it is not to go: it might be
// bought again for them. What another rule keeps off it would not run there then, either. Pods do not count for which its
// pool can buy a node once the host is gone, because its limit has more left then.
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
		if view.Fits(free, it.Class.Requested, 1) == 1 && lacksRoomAlone(dr, it.Class, host) && !waitsForLimit(dr, it, host) {
			return it, true
		}
	}
	return pods, false
}

// lacksRoomAlone says that a pod of a class that is not too large could run on a host that has been made free. Rules
// about other pods go by where those are now: they would not be gone, but elsewhere, and mostly in the way there as
// well.
func lacksRoomAlone(dr *Draft, c *view.Class, host int) bool {
	if !dr.Matcher.Admits(c, host) || fit.PortsClash(c.HostPorts, dr.View.Ports(host)) || !dr.Matcher.HasDevices(c, host) {
		return false
	}
	_, _, attached := dr.View.VolumesLeft(host, c)
	tally := dr.Scheduler.Tally()
	return attached && tally.Allows(c, tally.Host(host))
}

// freedBy is a pod's class beside a node that leaves more of its pool's limit when it is gone.
type freedBy struct {
	class *view.Class
	pool  *view.Pool
	typ   model.TypeName
}

// waitsForLimit says that a host's pool can buy no node for one of some pods, and can once the host is gone.
func waitsForLimit(dr *Draft, it market.Item, host int) bool {
	h := dr.View.Hosts[host]
	if h.Pool == nil || h.Claim == nil {
		return false
	}
	key := freedBy{it.Class, h.Pool, h.Claim.InstanceType}
	waits, known := dr.waitForLimit[key]
	if !known {
		buys := func(lim *market.Limits) bool {
			mark := dr.Scheduler.Mark()
			defer dr.Scheduler.Revert(mark)
			_, _, left := dr.Scheduler.BuyFrom(h.Pool, []market.Item{{Class: it.Class, Pods: it.Pods[:1]}}, lim)
			return len(left) == 0
		}
		without := dr.Limits.Clone()
		without.Count(h.Pool, dr.View.ClaimCapacity(h.Claim), -1)
		without.NodesLeft[h.Pool.Index]++
		waits = !buys(dr.Limits.Clone()) && buys(without)
		dr.waitForLimit[key] = waits
	}
	return waits
}
