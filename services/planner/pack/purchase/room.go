package purchase

import (
	"slices"
	"sort"

	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// useRoom lets pods of pools of higher weight have what is free on claims of lighter pools, which are bought in any case
// for pods that no heavier pool takes, and buys for the others anew, where all comes to cost less then. A weight says
// where nodes are bought, and not which nodes pods may run on: bought apart, a node of the heavier pool would be found
// underused as soon as it is there. before are the limits before anything was bought.
func (by *Buyer) useRoom(tiers [][]*market.Option, items []market.Item, claims []*NewClaim, before, lim *market.Limits) []*NewClaim {
	for t := len(tiers) - 1; t > 0; t-- {
		var light, heavy []*NewClaim
		for _, b := range claims {
			if by.m.TierOf(b.Base.Pool) < t {
				heavy = append(heavy, b)
			} else {
				light = append(light, b)
			}
		}
		if len(light) == 0 || len(heavy) == 0 {
			continue
		}
		rest := itemsOn(heavy, items)
		filled, moved := by.fillRoom(light, rest)
		if !moved {
			continue
		}
		rest = slices.DeleteFunc(rest, func(it market.Item) bool { return len(it.Pods) == 0 })
		slack := before.Clone()
		for _, b := range filled {
			slack.Take(b.Base, 1)
		}
		anew, left, _ := by.inTiers(tiers[:t], rest, slack)
		if len(left) > 0 || by.price(anew) >= by.price(heavy) {
			continue
		}
		claims, *lim = append(anew, filled...), *slack
	}
	return claims
}

// price is what claims cost as what they were packed for, micro-dollars per hour.
func (by *Buyer) price(claims []*NewClaim) (sum int64) {
	for _, b := range claims {
		sum += b.Base.Price + by.Overhead
	}
	return sum
}

// itemsOn are the items with those of their pods that are on some claims.
func itemsOn(claims []*NewClaim, items []market.Item) []market.Item {
	on, out := ByPod(claims), slices.Clone(items)
	for i := range out {
		out[i].Pods = slices.DeleteFunc(slices.Clone(out[i].Pods), func(p int) bool { return on[p] == nil })
	}
	return out
}

// fillRoom moves pods of items, as many as there is room for, to copies of claims; moved says whether it did. Pods with
// rules about other pods, with devices, or that would rather be elsewhere stay, and so do claims that keep a choice.
func (by *Buyer) fillRoom(claims []*NewClaim, items []market.Item) (filled []*NewClaim, moved bool) {
	filled = slices.Clone(claims)
	for i := range items {
		it := &items[i]
		c := it.Class
		if it.Segment != nil || by.rules.Constrained(c) || by.rules.Soft(c) || devices.ClaimsDevices(c.PodClass) {
			continue
		}
		for k, b := range filled {
			if len(it.Pods) == 0 {
				break
			}
			if market.HasMinValues(b.Base.Pool) || fit.PreferencePenalty(c.Profile, &b.Base.Place) > 0 {
				continue
			}
			n := sort.Search(len(it.Pods), func(n int) bool { return !by.hasRoom(b, c, it.Pods[:n+1]) })
			if n == 0 {
				continue
			}
			more := &NewClaim{Base: b.Base, Items: append(slices.Clone(b.Items), market.Item{Class: c, Pods: it.Pods[:n]}), Guests: b.Guests + n}
			filled[k], it.Pods, moved = more, it.Pods[n:], true
		}
	}
	return filled, moved
}

// hasRoom says whether a claim, as it was packed for, holds some more pods of a class.
func (by *Buyer) hasRoom(b *NewClaim, c *view.Class, pods []int) bool {
	items := append(slices.Clone(b.Items), market.Item{Class: c, Pods: pods})
	return b.Base.Fits(by.m.Combine(items)) && !by.m.PortsClash(items) && WorkloadCapsAllow(items, by.m.World.Policy.MaxPodsOfWorkloadPerNode)
}
