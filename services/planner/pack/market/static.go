package market

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// MaxOfferings is how many offerings a claim lists at most.
func (m *Market) MaxOfferings() int { return m.maxOfferings }

// StaticOptions lists what a static pool's nodes may be bought as now, best first: all of its options that hold the
// DaemonSets that will run there; none and the reason where nothing can be bought. They are no options for pods.
func (m *Market) StaticOptions(p *view.Pool) ([]*Option, model.Reason) {
	if r := unusable(p); !r.OK() {
		return nil, r
	}
	all := variants(m.World, p, nil)
	if len(all) == 0 {
		return nil, model.Reason{}
	}
	v := all[len(all)-1] // that for pods that do not care
	v.build(m.World, m.byType, func() bool { return false })
	if len(v.Options) == 0 {
		return nil, m.zoneIDClash(p, []require.Set{nil})
	}
	return slices.DeleteFunc(v.Options, func(o *Option) bool { return !o.Available || o.crowded }), model.Reason{}
}

// Capped is as many of a pool's options as a claim may list, with the pool's minValues; nil where these can't be met.
func (m *Market) Capped(options []*Option) []*Option {
	v := options[0].Variant
	if !HasMinValues(v.Pool) {
		return options[:m.maxOfferings]
	}
	if list := m.meetMinValues(v, options); list != nil || m.World.Policy.MinValues != model.MinValuesBestEffort {
		return list
	}
	return options[:m.maxOfferings]
}
