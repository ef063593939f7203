package market

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Rank lists what a claim that was packed for an option may become: what else holds its items, best first and as many as
// a claim may list; ok is false when there is nothing, or less that is distinct than the pool's minValues ask for. A
// claim is for one reservation or for none, so that it holds no units that it will not use. A nil allow allows all.
func (m *Market) Rank(base *Option, items []Item, allow func(*Option) bool) (ranked []*Option, ok bool) {
	return m.RankAmong(base.Variant.Options, base, items, allow)
}

// RankAmong is rank among some options of the variant, in its order.
func (m *Market) RankAmong(among []*Option, base *Option, items []Item, allow func(*Option) bool) (ranked []*Option, ok bool) {
	l, v := m.Combine(items), base.Variant
	if !v.diverse && m.World.Policy.MinValues != model.MinValuesBestEffort {
		return nil, false
	}
	flexible, preferring := HasMinValues(v.Pool), m.withPreferences(items)
	for _, o := range among {
		if !o.Available || o.Offering.ReservationID != base.Offering.ReservationID || !o.Fits(l) || (allow != nil && !allow(o)) {
			continue
		}
		ranked = append(ranked, o)
		if len(ranked) == m.maxOfferings && !flexible && preferring == nil {
			break
		}
	}
	all := ranked
	if preferring != nil {
		ranked = m.preferredOnly(ranked, preferring)
		if !flexible {
			ranked = ranked[:min(len(ranked), m.maxOfferings)]
		}
	}
	if flexible {
		diverse := m.meetMinValues(v, ranked)
		if diverse == nil && len(ranked) < len(all) {
			diverse = m.meetMinValues(v, m.withFewest(v, ranked, all))
		}
		if diverse == nil && m.World.Policy.MinValues == model.MinValuesBestEffort {
			diverse = ranked[:min(len(ranked), m.maxOfferings)]
		}
		ranked = diverse
	}
	return ranked, len(ranked) > 0
}

// withPreferences are the items whose pods have preferences about nodes; nil where there are none, or the policy
// ignores them.
func (m *Market) withPreferences(items []Item) []Item {
	var out []Item
	for _, it := range items {
		if p := it.Class.Profile; len(p.Preferred) > 0 && !p.Indifferent {
			out = append(out, it)
		}
	}
	return out
}

// preferredOnly leaves out of a claim's options, which are sorted by price, those that it must not become because of
// its pods' preferences: what costs no more than the best one, preferences counted, and is not as good; and where they
// are enforced, all that meets fewer of them.
func (m *Market) preferredOnly(options []*Option, preferring []Item) []*Option {
	if len(options) == 0 {
		return nil
	}
	price := PreferencePrice(&m.World.Policy)
	unmet := make([]int64, len(options))
	best := 0
	for i, o := range options {
		unmet[i] = unmetBy(preferring, o)
		if o.Price+price*unmet[i] < options[best].Price+price*unmet[best] {
			best = i
		}
	}
	var out []*Option
	for i, o := range options {
		worse := o.Price+price*unmet[i] > options[best].Price+price*unmet[best]
		if worse && (o.Price <= options[best].Price || (price == enforcedPrice && unmet[i] > unmet[best])) {
			continue
		}
		out = append(out, o)
	}
	return out
}

// withFewest are the options that preferences leave of all, and of the others, the cheapest first, as few as make
// enough distinct ones for the pool's minValues: a preference gives way to those. Both lists are sorted by price, and
// so is the result.
func (m *Market) withFewest(v *Variant, left, all []*Option) []*Option {
	others := slices.DeleteFunc(slices.Clone(all), func(o *Option) bool { return slices.Contains(left, o) })
	options := slices.Concat(left, others)
	options = options[:m.fewest(v, options, len(left))]
	slices.SortFunc(options, CompareOptions)
	return options
}

// fewest is how many of the first options make enough distinct ones for the pool's minValues, from some number on; all
// of them where there are not enough.
func (m *Market) fewest(v *Variant, options []*Option, low int) int {
	high := len(options)
	for low < high {
		mid := (low + high) / 2
		if m.meetMinValues(v, options[:mid]) == nil {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// HasMinValues says whether a pool asks for a minimum number of distinct values of some label.
func HasMinValues(p *view.Pool) bool {
	for _, r := range p.Requirements {
		if r.MinValues > 0 {
			return true
		}
	}
	return false
}

// isDiverse says whether the variant's options, all of them taken together, have as many distinct values as the pool's
// minValues ask for. Where they have not, no claim of it can, and asking for each option anew takes minutes.
func (v *Variant) isDiverse() bool {
	for _, r := range v.Pool.Requirements {
		seen := make(map[string]bool)
		for _, o := range v.Options {
			if len(seen) >= r.MinValues {
				break
			}
			if value, ok := o.Label(r.Key); ok {
				seen[value] = true
			}
		}
		if len(seen) < r.MinValues {
			return false
		}
	}
	return true
}

// meetMinValues picks at most as many of the options as a claim may list, cheapest first, such that each label has its
// minValues; nil when there are not enough values.
func (m *Market) meetMinValues(v *Variant, options []*Option) []*Option {
	if !v.diverse {
		return nil
	}
	picked := make([]bool, len(options))
	count := 0
	for _, r := range v.Pool.Requirements {
		seen := make(map[string]bool)
		for pass := range 2 {
			for i, o := range options {
				value, ok := o.Label(r.Key)
				if len(seen) >= r.MinValues || !ok || seen[value] || picked[i] != (pass == 0) {
					continue
				}
				seen[value] = true
				if pass == 1 {
					picked[i] = true
					count++
				}
			}
		}
		if len(seen) < r.MinValues || count > m.maxOfferings {
			return nil
		}
	}
	var out []*Option
	for i, o := range options {
		if picked[i] {
			out = append(out, o)
		} else if count < m.maxOfferings {
			out = append(out, o)
			count++
		}
	}
	return out
}

// Label is the value of a label on nodes of the option.
func (o *Option) Label(key string) (string, bool) {
	for _, l := range o.Place.Local {
		if l.Key == key {
			return l.Value, true
		}
	}
	return o.Place.Labels.Get(key)
}

// Choices are what a claim of a pool with minValues may become, within the limits; ok is false when they are too few.
// fits says what else they must keep; nil where there is nothing.
func (m *Market) Choices(o *Option, items []Item, lim *Limits, fits func(*Option) bool) (ranked []*Option, ok bool) {
	return m.Rank(o, items, func(x *Option) bool { return lim.Remaining(x, 1) == 1 && (fits == nil || fits(x)) })
}

// enforcedPrice is more than any node costs: an enforced preference is dropped only where it can't be met.
const enforcedPrice = 1e9

// PreferencePrice is the price of a preference of weight 1, micro-dollars per hour.
func PreferencePrice(p *model.Policy) int64 {
	switch {
	case p.Preferences == model.PreferencesIgnored:
		return 0
	case p.Preferences == model.PreferencesEnforced:
		return enforcedPrice
	}
	return model.Or(p.PreferencePrice, model.DefaultPreferencePrice)
}

// StandIns are the options that could replace o with the least loss of capacity, as many as make enough distinct ones
// for the pool's minValues; nil where there are not enough.
func (m *Market) StandIns(o *Option, allow func(*Option) bool) []*Option {
	type standIn struct {
		o    *Option
		lost float64
	}
	if !o.Variant.diverse {
		return nil
	}
	var all []standIn
	for _, x := range o.Variant.Options {
		if x.Available && allow(x) {
			all = append(all, standIn{x, lost(o.Free, x.Free)})
		}
	}
	slices.SortStableFunc(all, func(a, b standIn) int { return cmp.Compare(a.lost, b.lost) })
	options := make([]*Option, len(all))
	for i, x := range all {
		options[i] = x.o
	}
	options = options[:m.fewest(o.Variant, options, min(1, len(options)))]
	if m.meetMinValues(o.Variant, options) == nil {
		return nil
	}
	return options
}

// lost is the largest part of any resource that one node has less than another.
func lost(of, has view.Vector) float64 {
	worst := 0.0
	for i, v := range of {
		if v > has[i] {
			worst = max(worst, 1-float64(has[i])/float64(v))
		}
	}
	return worst
}
