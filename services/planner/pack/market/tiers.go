package market

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// tiers are the options worth weighing, by pool weight, highest first. An option that another one of its tier, with the
// same values of some labels, beats in every respect is left out: it could never be part of a better answer. Claims are
// ranked from all options later.
func tiers(variants []*Variant, keys []string) [][]*Option {
	var out [][]*Option
	for i := 0; i < len(variants); {
		var tier []*Option
		weight := variants[i].Pool.Weight
		for ; i < len(variants) && variants[i].Pool.Weight == weight; i++ {
			for _, o := range variants[i].Options {
				if o.Available {
					tier = append(tier, o)
				}
			}
		}
		slices.SortStableFunc(tier, CompareOptions)
		out = append(out, Undominated(tier, keys))
	}
	return out
}

// TierOf is the tier of a pool's options.
func (m *Market) TierOf(p *view.Pool) int {
	t, last := -1, int32(0)
	for _, v := range m.variants {
		if t < 0 || v.Pool.Weight != last {
			t, last = t+1, v.Pool.Weight
		}
		if v.Pool.Weight == p.Weight {
			return t
		}
	}
	return 0
}

// Limited says whether something else than what pods need may send them to a pool of lower weight.
func (m *Market) Limited() bool {
	return slices.ContainsFunc(m.World.Pools, func(p *view.Pool) bool {
		return p.NodeLimit >= 0 || HasMinValues(p) || slices.ContainsFunc(p.LimitVector, func(n int64) bool { return n >= 0 })
	})
}

// Undominated keeps the options that no earlier one beats. The options are sorted by price.
func Undominated(options []*Option, keys []string) []*Option {
	var kept []*Option
	places := make(map[string][]*Option)
	for _, o := range options {
		place := o.Key(keys)
		if !slices.ContainsFunc(places[place], func(k *Option) bool { return k.beats(o) }) {
			kept = append(kept, o)
			places[place] = append(places[place], o)
		}
	}
	return kept
}

// beats says that o, which costs no more than p, can stand in for it wherever p is of use.
func (o *Option) beats(p *Option) bool {
	if !p.Free.Within(o.Free) || !o.admits.Covers(p.admits) || !o.prefers.Covers(p.prefers) {
		return false
	}
	if len(o.Ports) > 0 && (o.Pool != p.Pool || !slices.Equal(o.Ports, p.Ports)) {
		return false
	}
	if o.Variant != p.Variant && (HasMinValues(o.Pool) || HasMinValues(p.Pool)) {
		return false
	}
	if !o.replaces(p) {
		return false
	}
	if id := o.Offering.ReservationID; id != "" && id != p.Offering.ReservationID {
		return false // there are only so many of it
	}
	for i, w := range o.unmet {
		if w > p.unmet[i] {
			return false
		}
	}
	return o.limitsAllow(p)
}

// limitsAllow says that o can be bought whenever p can, as far as limits go.
func (o *Option) limitsAllow(p *Option) bool {
	limited := o.Pool.NodeLimit >= 0
	for i, limit := range o.Pool.LimitVector {
		if limit < 0 {
			continue
		}
		limited = true
		if o.Capacity[i] > p.Capacity[i] {
			return false
		}
	}
	return !limited || o.Pool == p.Pool
}

// Passes are the rounds of a search: one, in which a preference about nodes that is not met has its price; and where
// the policy enforces preferences, one before that which keeps all of them.
func (m *Market) Passes() []bool {
	if m.World.Policy.Preferences == model.PreferencesEnforced {
		return []bool{true, false}
	}
	return []bool{false}
}

// Weighed are the options of a tier by what one node that holds some items costs, with the price of their preferences
// about nodes that it does not meet.
func (m *Market) Weighed(tier []*Option, items []Item) []*Option {
	price := PreferencePrice(&m.World.Policy)
	preferring := slices.ContainsFunc(items, func(it Item) bool {
		return !it.Class.Profile.Indifferent && (m.softTaints || len(it.Class.Profile.Preferred) > 0)
	})
	if price == 0 || !preferring {
		return tier
	}
	type weighed struct {
		o    *Option
		cost int64
	}
	all := make([]weighed, len(tier))
	for i, o := range tier {
		all[i] = weighed{o, o.Price + price*unmetBy(items, o)}
	}
	slices.SortStableFunc(all, func(a, b weighed) int { return cmp.Compare(a.cost, b.cost) })
	out := make([]*Option, len(all))
	for i, w := range all {
		out[i] = w.o
	}
	return out
}

// unmetBy is the weight of the preferences about nodes of some items' pods that an option does not meet.
func unmetBy(items []Item, o *Option) (sum int64) {
	for _, it := range items {
		sum += int64(fit.PreferencePenalty(it.Class.Profile, &o.Place)) * int64(len(it.Pods))
	}
	return sum
}

// TiersOf are the options worth weighing where the values of some labels matter.
func (m *Market) TiersOf(keys []string, only *view.Pool) [][]*Option {
	if len(keys) == 0 && only == nil {
		return m.Tiers
	}
	name, variants := strings.Join(keys, ","), m.variants
	if only != nil {
		name = string(only.Name) + "|" + name
		variants = slices.DeleteFunc(slices.Clone(variants), func(v *Variant) bool { return v.Pool != only })
	}
	t := m.byKeys[name]
	if t == nil {
		t = tiers(variants, keys)
		m.byKeys[name] = t
	}
	return t
}
