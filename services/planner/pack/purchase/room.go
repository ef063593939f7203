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
		heavy, light := by.split(claims, t)
		if len(light) == 0 || len(heavy) == 0 {
			continue
		}
		best := by.price(heavy)
		for from := range t { // pods of all heavier pools have the room, or those of the lighter ones of these
			heaviest, guests := by.split(heavy, from)
			if from > 0 && len(heaviest) == 0 { // tried already
				continue
			}
			filled, rest := by.fillRoom(light, itemsOn(guests, items), itemsOn(heaviest, items))
			if filled == nil {
				continue
			}
			slack := before.Clone()
			for _, b := range filled {
				slack.Take(b.Base, 1)
			}
			anew, left, _ := by.inTiers(tiers[:t], rest, slack)
			if price := by.price(anew); len(left) == 0 && price < best {
				best, claims, *lim = price, slices.Concat(anew, filled), *slack
			}
		}
	}
	return claims
}

// split are the claims of tiers heavier than one, and the others.
func (by *Buyer) split(claims []*NewClaim, tier int) (heavy, light []*NewClaim) {
	for _, b := range claims {
		if by.m.TierOf(b.Base.Pool) < tier {
			heavy = append(heavy, b)
		} else {
			light = append(light, b)
		}
	}
	return heavy, light
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

// fillRoom moves guests, as many as there is room for, to copies of claims; filled is nil where there is none for any. The
// rest are the other items and the guests that are left. Pods with rules about other pods, with devices, or that would
// rather be elsewhere stay, and so do claims that keep a choice.
func (by *Buyer) fillRoom(claims []*NewClaim, guests, others []market.Item) (filled []*NewClaim, rest []market.Item) {
	with, moved := slices.Clone(claims), false
	for i := range guests {
		it := &guests[i]
		for k, b := range with {
			if n := by.room(b, it); n > 0 {
				more := Join(b.Items, market.Item{Class: it.Class, Pods: it.Pods[:n]})
				with[k], it.Pods, moved = &NewClaim{Base: b.Base, Items: more, Guests: b.Guests + n}, it.Pods[n:], true
			}
		}
		if it.Pods = slices.Concat(it.Pods, others[i].Pods); len(it.Pods) > 0 {
			slices.Sort(it.Pods)
			rest = append(rest, *it)
		}
	}
	if !moved {
		return nil, nil
	}
	return with, rest
}

// room is how many of an item's pods a claim, as it was packed for, holds beside what it has.
func (by *Buyer) room(b *NewClaim, it *market.Item) int {
	c := it.Class
	if it.Segment != nil || by.rules.Constrained(c) || by.rules.Soft(c) || devices.ClaimsDevices(c.PodClass) {
		return 0
	}
	if fit.PreferencePenalty(c.Profile, &b.Base.Place) > 0 {
		return 0
	}
	return sort.Search(len(it.Pods), func(n int) bool { return !by.HasRoom(b, c, it.Pods[:n+1]) })
}

// HasRoom says whether a claim, as it was packed for, holds some more pods of a class, rules about other pods and devices
// aside. One of a pool with minValues is left as flexible as it is.
func (by *Buyer) HasRoom(b *NewClaim, c *view.Class, pods []int) bool {
	items := Join(b.Items, market.Item{Class: c, Pods: pods})
	return !market.HasMinValues(b.Base.Pool) && b.Base.Fits(by.m.Combine(items)) && !by.m.PortsClash(items) &&
		WorkloadCapsAllow(items, by.m.World.Policy.MaxPodsOfWorkloadPerNode)
}
