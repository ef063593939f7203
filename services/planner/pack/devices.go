package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// probeNumber is the number of a place that is tried out, and that nothing is ever left on.
const probeNumber = -1

// devicesFit says whether a claim may become an option, as far as devices go: with one more pod of each of some classes. A
// nil claim is a new one. It must be asked before the state changes again.
func (s *Scheduler) devicesFit(b *purchase.NewClaim, more ...*view.Class) func(*market.Option) bool {
	claims := func(c *view.Class) bool { return devices.ClaimsDevices(c.PodClass) }
	if s.devices == nil || ((b == nil || b.DeviceNumber == 0) && !slices.ContainsFunc(more, claims)) {
		return func(*market.Option) bool { return true }
	}
	verdicts := make(map[*market.DeviceSet]bool)
	return func(o *market.Option) bool {
		ok, known := verdicts[o.Devices]
		if !known {
			ok = s.couldBecome(b, o, more)
			verdicts[o.Devices] = ok
		}
		return ok
	}
}

// rankAll lists, for each claim, what it may become.
func (s *Scheduler) rankAll(claims []*purchase.NewClaim) {
	s.buyer.RankAll(claims, s.limits, func(b *purchase.NewClaim) func(*market.Option) bool { return s.devicesFit(b) })
}

func (s *Scheduler) couldBecome(b *purchase.NewClaim, o *market.Option, more []*view.Class) bool {
	mark := s.devices.Fork()
	defer s.devices.Back(mark)
	number := probeNumber
	if b == nil || b.DeviceNumber == 0 {
		s.devices.Add(number, "", o.Devices.Stock())
	} else {
		number = b.DeviceNumber
		if !s.devices.Replace(number, o.Devices.Stock()) {
			return false
		}
	}
	return !slices.ContainsFunc(more, func(c *view.Class) bool { return !s.devices.Take(number, c.PodClass) })
}

// takeDevices allocates one more pod's devices on a claim; false where the claim does not have them in all that it may
// become.
func (s *Scheduler) takeDevices(b *purchase.NewClaim, c *view.Class) bool {
	if s.devices == nil || !devices.ClaimsDevices(c.PodClass) {
		return true
	}
	if b.DeviceNumber == 0 {
		s.deviceNumbers++
		b.DeviceNumber = len(s.v.Hosts) + s.deviceNumbers
		s.devices.Add(b.DeviceNumber, "", b.DeviceStocks()...)
	}
	return s.devices.Take(b.DeviceNumber, c.PodClass)
}

// replaceDevices makes the devices of a claim those of what it may become now.
func (s *Scheduler) replaceDevices(b *purchase.NewClaim) {
	if b.DeviceNumber != 0 {
		s.devices.Replace(b.DeviceNumber, b.DeviceStocks()...)
	}
}

// sharesClaims says whether pods of a class have to be where others are that use the same resource claim.
func (s *Scheduler) sharesClaims(c *view.Class) bool {
	return s.devices != nil && devices.SharesClaims(c.PodClass)
}

// hostsForAll are those of some hosts that hold all of a number of pods, with their devices; none where none does.
func (s *Scheduler) hostsForAll(c *view.Class, hosts []int, pods int) []int {
	return slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return s.matcher.Capacity(c, h, pods) < pods })
}

// claimants are the classes of pods that claim devices, one for each pod, in the order of the pods.
func claimants(items []market.Item) []*view.Class {
	var out []*view.Class
	for _, it := range items {
		if !devices.ClaimsDevices(it.Class.PodClass) {
			continue
		}
		for range it.Pods {
			out = append(out, it.Class)
		}
	}
	return out
}
