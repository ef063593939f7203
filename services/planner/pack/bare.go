package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// MaxOfferings is how many offerings a claim lists at most.
func (m *Market) MaxOfferings() int { return m.most }

// StaticOptions lists what a static pool's nodes may be bought as now, best first: all of its options that have room for the
// DaemonSets that will run there; none and the reason where nothing can be bought. They are no options for pods.
func (m *Market) StaticOptions(p *view.Pool) ([]*Option, model.Reason) {
	if r := unusable(p); !r.OK() {
		return nil, r
	}
	all := variants(m.w, p, nil)
	if len(all) == 0 {
		return nil, model.Reason{}
	}
	v := all[len(all)-1] // that for pods that do not care
	v.build(m.w, m.byType, func() bool { return false })
	return slices.DeleteFunc(v.options, func(o *Option) bool {
		return !o.Available || slices.ContainsFunc(o.Free, func(n int64) bool { return n < 0 })
	}), model.Reason{}
}

// EmptyClaim is a claim for no pods that may become any of some options, best first.
func EmptyClaim(options []*Option) *NewClaim { return &NewClaim{base: options[0], Options: options} }

// CountClaim makes a claim known to those who count domains: its node will be there, whatever runs on it.
func (d *Scheduler) CountClaim(b *NewClaim) {
	places := make([]*fit.Place, len(b.Options))
	for i, o := range b.Options {
		places[i] = &o.place
	}
	b.site = d.tally.Claim(nil, places...)
}

// capped is as many of a pool's options as a claim may list, as flexible as the pool wishes; nil where that can't be.
func (m *Market) capped(options []*Option) []*Option {
	v := options[0].variant
	if !minValues(v.pool) {
		return options[:m.most]
	}
	if list := m.diverse(v, options); list != nil || m.w.Policy.MinValues != model.MinValuesBestEffort {
		return list
	}
	return options[:m.most]
}

// EmptyClaimWithin is a claim for no pods that may become those of the options that are paid for alike: of one reservation that
// has an instance left, or of none. It is nil where limits leave nothing.
func (m *Market) EmptyClaimWithin(options []*Option, lim *Limits) *NewClaim {
	for _, first := range options {
		if lim.Remaining(first, 1) == 0 {
			continue
		}
		slack := lim.Clone()
		slack.Take(first, 1)
		room := slack.share(first.Pool, 1)
		return EmptyClaim(slices.DeleteFunc(slices.Clone(options), func(o *Option) bool {
			return o.Offering.ReservationID != first.Offering.ReservationID || !within(o, first, room)
		}))
	}
	return nil
}

// ReplaceStatic is a claim that takes the place of a static pool's node: one that may become any of some options that hold some
// items, paid for alike; nil where there is none, or where the items' pods mind others that it can't be sure of.
func (d *Scheduler) ReplaceStatic(options []*Option, items []Item, lim *Limits) *NewClaim {
	if d.m.portsClash(items) || slices.ContainsFunc(items, func(it Item) bool { return d.rules.Constrained(it.Class) }) {
		return nil
	}
	l, fits := d.m.burdenOf(items), d.fitting(nil, claimants(items)...)
	able := slices.DeleteFunc(slices.Clone(options), func(o *Option) bool { return !o.holds(l) || !fits(o) })
	b := d.m.EmptyClaimWithin(able, lim)
	if b == nil {
		return nil
	}
	if len(b.Options) > d.m.most {
		if b.Options = d.m.capped(b.Options); b.Options == nil {
			return nil
		}
	}
	b.Items = items
	d.CountClaim(b)
	for _, c := range claimants(items) {
		d.handOut(b, c)
	}
	return b
}
