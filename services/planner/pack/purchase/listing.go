package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
)

// Listing is what a claim says of what it may become. Claims that may become the same share one.
type Listing struct {
	// Requirements are what the claim's node must be: what its pool asks for, as narrow as its pods and its offerings make
	// it. Sorted by key.
	Requirements []model.Requirement
	// Offerings are sorted, best first.
	Offerings []model.RankedOffering

	options []*market.Option
	variant *market.Variant
	zoneIDs bool
}

// Listings are those that claims have been given. It belongs to one goroutine.
type Listings struct{ byOptions map[uint64][]*Listing }

// Of is that of a claim. Thousands of claims have a few hundred of them.
func (ls *Listings) Of(b *NewClaim) *Listing {
	sum := uint64(len(b.Options))
	for _, o := range b.Options {
		sum = sum*1099511628211 + uint64(o.ID)
	}
	zoneIDs := b.asksForZoneIDs()
	for _, l := range ls.byOptions[sum] {
		if l.variant == b.Base.Variant && l.zoneIDs == zoneIDs && slices.Equal(l.options, b.Options) {
			return l
		}
	}
	l := &Listing{
		Requirements: b.requirements(), Offerings: make([]model.RankedOffering, len(b.Options)), options: b.Options, variant: b.Base.Variant,
		zoneIDs: zoneIDs,
	}
	for i, o := range b.Options {
		l.Offerings[i] = o.Ranked()
	}
	if ls.byOptions == nil {
		ls.byOptions = make(map[uint64][]*Listing)
	}
	ls.byOptions[sum] = append(ls.byOptions[sum], l)
	return l
}

func (b *NewClaim) requirements() []model.Requirement {
	v := b.Base.Variant
	set := v.Pool.Requirements.Intersect(v.Decided)
	keys := []string{labels.InstanceType, labels.Zone, labels.CapacityType}
	if b.asksForZoneIDs() {
		keys = append(keys, labels.ZoneID)
	}
	for _, key := range keys {
		set = set.With(require.New(model.Requirement{Key: key, Operator: model.In, Values: b.values(key)}))
	}
	var out []model.Requirement
	for _, r := range set {
		if r.MinValues > 0 {
			r.MinValues = min(r.MinValues, b.distinct(r.Key))
		}
		if _, finite := r.Values(); finite {
			out = append(out, r.Model()...)
			continue
		}
		// What is not narrowed to a list stays in the pool's own words.
		for _, m := range v.Pool.NodePool.Requirements {
			if labels.Normal(m.Key) == r.Key {
				m.Key = r.Key
				if m.MinValues > 0 {
					m.MinValues = min(m.MinValues, b.distinct(r.Key))
				}
				out = append(out, m)
			}
		}
	}
	return out
}

// asksForZoneIDs says whether the pool, or a pod of the claim, asks for ids of zones, and all that the claim may become has
// one.
func (b *NewClaim) asksForZoneIDs() bool {
	_, asks := b.Base.Pool.Requirements.Get(labels.ZoneID)
	asks = asks || slices.ContainsFunc(b.Items, func(it market.Item) bool { return it.Class.Profile.Mentions(labels.ZoneID) })
	return asks && !slices.Contains(b.values(labels.ZoneID), "")
}

// values are those that the claim's options have of a label, with "" for those without it.
func (b *NewClaim) values(key string) []string {
	out := make([]string, 0, len(b.Options))
	for _, o := range b.Options {
		if v, _ := o.Label(key); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
