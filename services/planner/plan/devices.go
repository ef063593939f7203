package plan

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
)

// trackDevices makes the plan keep track of devices, where any class claims some.
func (c *cycle) trackDevices() {
	c.devices = fit.Devices(c.view, func(pod int) bool {
		_, is := slices.BinarySearch(c.demand.pods, pod)
		return is
	})
	c.matcher.TrackDevices(c.devices)
	c.scheduler.TrackDevices(c.devices)
}

// mostTurns is of how many classes all orders are tried.
const mostTurns = 4

// inTurn puts the pods that a claim was bought for in an order in which all find their devices on its host, as they did
// when it was bought.
func (c *cycle) inTurn(host int, ids []model.PodID) []model.PodID {
	if c.Devices == nil {
		return ids
	}
	var pods []int
	for _, id := range ids {
		if p, known := c.Find(id); known {
			pods = append(pods, p)
		}
	}
	items := market.Items(c.World, pods)
	// Those that share a claim are placed last.
	slices.SortStableFunc(items, func(a, b market.Item) int { return cmp.Compare(late(a), late(b)) })
	if len(items) <= mostTurns {
		for some := range devices.Orders(items) {
			if c.allEquipped(host, some) {
				items = some
				break
			}
		}
	}
	var out []model.PodID
	for _, it := range items {
		for _, p := range it.Pods {
			out = append(out, c.Pods[p].ID)
		}
	}
	return out
}

// late is higher for pods that are placed last.
func late(it market.Item) int {
	if devices.SharesClaims(it.Class.PodClass) {
		return 1
	}
	return 0
}

// allEquipped says whether all pods of some items find their devices on a host, one after the other.
func (c *cycle) allEquipped(host int, items []market.Item) bool {
	mark := c.devices.Fork()
	defer c.devices.Back(mark)
	for _, it := range items {
		for range it.Pods {
			if !c.devices.Take(host, it.Class.PodClass) {
				return false
			}
		}
	}
	return true
}
