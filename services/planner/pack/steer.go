package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// steer decides, for a claim that is bought anyway, where the soft rules of its pods about other pods are best met: of what
// it may become, the option whose price and unmet wishes cost least. The pods that wished are pinned there.
func (s *seating) steer(b *NewClaim) {
	if b.Options != nil || s.v.Policy.Preferences == model.PreferencesIgnored {
		return
	}
	var keys []string
	for _, it := range b.Items {
		keys = append(keys, s.rules.SoftKeys(it.Class)...)
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return
	}
	to := s.bestFor(b, keys)
	if to != b.base {
		s.lim.give(b.base)
		s.lim.Take(to, 1)
		b.base = to
	}
	b.Items = slices.Clone(b.Items)
	for i, it := range b.Items {
		if s.rules.Soft(it.Class) {
			b.Items[i].Segment = s.cellOf(s.keysOf(it.Class), to)
		}
	}
}

// bestFor is the best of what a claim may become, the cheapest for each set of values of some labels.
func (s *seating) bestFor(b *NewClaim, keys []string) *Option {
	best, least, price := b.base, int64(-1), wishPrice(&s.v.Policy)
	seen := make(map[string]bool)
	options, _ := s.m.rank(b.base, b.Items, func(o *Option) bool { return o == b.base || s.lim.roomInstead(o, b.base) })
	for _, o := range options {
		place := o.key(keys)
		if seen[place] {
			continue
		}
		seen[place] = true
		cost, site := o.Price, s.tally.Probe(nil, &o.place)
		if s.tally.Opens(site) && o != b.base {
			continue
		}
		for _, it := range b.Items {
			if s.rules.Soft(it.Class) {
				cost += price * int64(s.tally.PreferencePenalty(it.Class, site)) * int64(len(it.Pods))
			}
		}
		if least < 0 || cost < least {
			best, least = o, cost
		}
	}
	return best
}
