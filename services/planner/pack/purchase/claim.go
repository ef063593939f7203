package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// NewClaim is a claim to create.
type NewClaim struct {
	// Options are what it may become, best first. All hold its pods.
	Options []*market.Option
	Items   []market.Item
	// RunnersUp are shapes that were weighed and lost.
	RunnersUp []RunnerUp
	// Base is the option that it was packed for, whose capacity was counted against the limits.
	Base *market.Option
	// Site is its node in the eyes of the rules about other pods; nil where none of its pods has such rules.
	Site *topology.Site
	// Shown are the options that the site is judged by: it becomes nothing that is unlike all of them.
	Shown []*market.Option
	// Guests is how many of its pods a pool of higher weight would have a node for: they are there because it has room.
	Guests int
	// DeviceNumber is its place in the eyes of devices; 0 where none of its pods claims any.
	DeviceNumber int
}

// Hosted is how many pods it is for, guests among them.
func (b *NewClaim) Hosted() (n int) {
	for _, it := range b.Items {
		n += len(it.Pods)
	}
	return n
}

// Best is the option that the claim will most likely become.
func (b *NewClaim) Best() *market.Option { return b.Options[0] }

// Alike says that two claims were packed for the same option and hold the same number of pods of the same classes.
func Alike(a, b *NewClaim) bool {
	return a.Base == b.Base && slices.EqualFunc(a.Items, b.Items, func(x, y market.Item) bool {
		return x.Class == y.Class && x.Segment == y.Segment && len(x.Pods) == len(y.Pods)
	})
}

// Join are items with one more, whose pods join those of their class and segment where there are some. Pods are sorted.
func Join(items []market.Item, more market.Item) []market.Item {
	out := slices.Clone(items)
	i := slices.IndexFunc(out, func(it market.Item) bool { return it.Class == more.Class && it.Segment == more.Segment })
	if i < 0 {
		return append(out, more)
	}
	out[i].Pods = slices.Concat(out[i].Pods, more.Pods)
	slices.Sort(out[i].Pods)
	return out
}

// ByPod says which claim was bought for each pod.
func ByPod(claims []*NewClaim) map[int]*NewClaim {
	pods := 0
	for _, b := range claims {
		pods += b.Hosted()
	}
	out := make(map[int]*NewClaim, pods)
	for _, b := range claims {
		for _, it := range b.Items {
			for _, p := range it.Pods {
				out[p] = b
			}
		}
	}
	return out
}

// CountLargest counts the largest of a claim's options instead of the one that it was packed for.
func (b *NewClaim) CountLargest(l *market.Limits) {
	l.Count(b.Base.Pool, b.Base.Capacity, -1)
	l.Count(b.Base.Pool, b.largest(), 1)
}

// CountBase counts the option that a claim was packed for instead of the largest that it may become.
func (b *NewClaim) CountBase(l *market.Limits) {
	l.Count(b.Base.Pool, b.largest(), -1)
	l.Count(b.Base.Pool, b.Base.Capacity, 1)
}

// largest is the most of each resource that a claim may have.
func (b *NewClaim) largest() view.Vector {
	most := slices.Clone(b.Base.Capacity)
	for _, o := range b.Options {
		for i, c := range o.Capacity {
			most[i] = max(most[i], c)
		}
	}
	return most
}

// distinct is how many values of a label the claim's options have.
func (b *NewClaim) distinct(key string) int {
	seen := make(map[string]bool)
	for _, o := range b.Options {
		if v, ok := o.Label(key); ok {
			seen[v] = true
		}
	}
	return len(seen)
}

// IsLikeShown says whether a claim may become an option, as far as rules about other pods see its node: pods may have
// been placed since its site was made, which took it to be nothing else.
func (b *NewClaim) IsLikeShown(o *market.Option, t *topology.Tally) bool {
	return b.Site == nil || slices.ContainsFunc(b.Shown, func(x *market.Option) bool { return x == o || topology.Alike(t, &x.Place, &o.Place) })
}

// Relaxed says that the claim is less flexible than its pool's minValues ask for.
func (b *NewClaim) Relaxed() bool {
	return slices.ContainsFunc(b.Base.Pool.Requirements, func(r require.Requirement) bool {
		return r.MinValues > 0 && b.distinct(r.Key) < r.MinValues
	})
}

// OneClaim is a claim for an option that holds all items, without taking it off the limits: what it may become costs at
// most most, stays within limits and is what fits allows; ok is false where nothing is left.
func (by *Buyer) OneClaim(o *market.Option, items []market.Item, lim *market.Limits, most PriceCeiling, fits func(*market.Option) bool) (*NewClaim, bool) {
	slack := lim.Clone()
	slack.Take(o, 1)
	spare := slack.Share(o.Pool, 1)
	b := &NewClaim{Base: o, Items: items}
	var ok bool
	b.Options, ok = by.m.Rank(o, items, func(x *market.Option) bool {
		return most.Allows(x) && market.Within(x, o, spare) && fits(x)
	})
	if !ok {
		return nil, false
	}
	b.FinishRunnersUp()
	return b, true
}

// TakeFrom takes a claim that One found off the limits.
func (b *NewClaim) TakeFrom(l *market.Limits) {
	l.Take(b.Base, 1)
	b.CountLargest(l)
}

// EmptyClaim is a claim for no pods that may become any of some options, best first.
func EmptyClaim(options []*market.Option) *NewClaim {
	return &NewClaim{Base: options[0], Options: options}
}

// EmptyClaimWithin is a claim for no pods that may become those of the options that are paid for alike: of one
// reservation that has an instance left, or of none. It is nil where limits leave nothing.
func EmptyClaimWithin(options []*market.Option, lim *market.Limits) *NewClaim {
	for _, first := range options {
		if lim.Remaining(first, 1) == 0 {
			continue
		}
		slack := lim.Clone()
		slack.Take(first, 1)
		spare := slack.Share(first.Pool, 1)
		return EmptyClaim(slices.DeleteFunc(slices.Clone(options), func(o *market.Option) bool {
			return o.Offering.ReservationID != first.Offering.ReservationID || !market.Within(o, first, spare)
		}))
	}
	return nil
}

// StaticClaim is EmptyClaimWithin with as many options as a claim may list; nil where these are fewer than the pool's
// minValues ask for.
func StaticClaim(m *market.Market, options []*market.Option, lim *market.Limits) *NewClaim {
	b := EmptyClaimWithin(options, lim)
	if b != nil && len(b.Options) > m.MaxOfferings() {
		b.Options = m.Capped(b.Options)
	}
	if b == nil || len(b.Options) == 0 || b.Relaxed() && m.World.Policy.MinValues != model.MinValuesBestEffort {
		return nil
	}
	return b
}

// Trim leaves out of what a claim may become all that costs more than it may; false, and nothing is changed, where too
// little would be left. A claim that other claims share their list with gets one of its own.
func (b *NewClaim) Trim(most PriceCeiling) bool { return b.Keep(most.Allows) }

// Keep is Trim for what else a claim may be.
func (b *NewClaim) Keep(may func(*market.Option) bool) bool {
	mayNot := func(o *market.Option) bool { return !may(o) }
	if !slices.ContainsFunc(b.Options, mayNot) {
		return true
	}
	kept := slices.DeleteFunc(slices.Clone(b.Options), mayNot)
	if len(kept) == 0 {
		return false
	}
	relaxed, all := b.Relaxed(), b.Options
	if b.Options = kept; b.Relaxed() && !relaxed {
		b.Options = all
		return false
	}
	return true
}

// PriceCeiling is the most that a claim may cost: as it is weighed, and by the list, which is what AWS bills.
type PriceCeiling struct{ Weighed, List int64 }

// Allows says whether an option costs no more, as it is weighed and by the list.
func (c PriceCeiling) Allows(o *market.Option) bool {
	return o.Price <= c.Weighed && o.Offering.Price <= c.List
}

// Drop takes a pod off a claim.
func (b *NewClaim) Drop(pod int) {
	for i, it := range b.Items {
		k, ok := slices.BinarySearch(it.Pods, pod)
		if !ok {
			continue
		}
		b.Items = slices.Clone(b.Items)
		b.Items[i].Pods = slices.Delete(slices.Clone(it.Pods), k, k+1)
		if len(b.Items[i].Pods) == 0 {
			b.Items = slices.Delete(b.Items, i, i+1)
		}
		return
	}
}

// DeviceStocks are the devices of all that a claim may become.
func (b *NewClaim) DeviceStocks() []*devices.Stock {
	options := b.Options
	if len(options) == 0 {
		options = []*market.Option{b.Base}
	}
	var seen []*market.DeviceSet
	var out []*devices.Stock
	for _, o := range options {
		if !slices.Contains(seen, o.Devices) {
			seen = append(seen, o.Devices)
			out = append(out, o.Devices.Stock())
		}
	}
	return out
}
