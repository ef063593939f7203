package offer

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// Overlays is what the node overlays in effect say, found out once for each pool and instance type. It is not changed
// after NewOverlays. A nil *Overlays has none.
type Overlays struct {
	all []compiled
	// touched are the overlays in effect for each pool's types, in the order of all.
	touched  map[poolType][]int
	problems []model.Reason
}

type poolType struct {
	pool         model.PoolName
	instanceType model.TypeName
}

// compiled is an overlay whose requirements are parted: those that follow from a pool and a type, and those that follow
// from where and how an instance is bought.
type compiled struct {
	*model.NodeOverlay
	node, place require.Set
	places      Places
}

// NewOverlays finds out which overlays have an effect on what. Those of highest weight come first, and of equal weight
// the last by name; one that says of the same offering's price, or of a resource of it, what another of the same weight
// before it says, has no effect on anything.
func NewOverlays(s *model.Snapshot) *Overlays {
	if len(s.NodeOverlays) == 0 {
		return nil
	}
	m := newMarket(s)
	o := &Overlays{touched: make(map[poolType][]int)}
	for i := range s.NodeOverlays {
		spec := &s.NodeOverlays[i]
		if !spec.NotReady.OK() {
			o.problems = append(o.problems, spec.NotReady)
			continue
		}
		o.all = append(o.all, compile(spec, m.places))
	}
	slices.SortFunc(o.all, func(a, b compiled) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Name, a.Name))
	})
	for i := range o.all {
		if r := o.admit(i, m); !r.OK() {
			o.problems = append(o.problems, r)
		}
	}
	slices.SortFunc(o.problems, func(a, b model.Reason) int { return cmp.Compare(a.Subject, b.Subject) })
	return o
}

func compile(spec *model.NodeOverlay, places Places) compiled {
	c := compiled{NodeOverlay: spec, places: places}
	for _, r := range require.NewSet(spec.Requirements...) {
		if labels.OfPlace(r.Key) {
			c.place = c.place.With(r)
		} else {
			c.node = c.node.With(r)
		}
	}
	return c
}

// admit puts an overlay into effect wherever it applies, or nowhere.
func (o *Overlays) admit(i int, m *market) model.Reason {
	overlay := &o.all[i]
	var found []poolType
	for _, p := range m.pools {
		for j := range p.types {
			if !p.meets(overlay.node, &p.types[j]) {
				continue
			}
			key := poolType{p.Name, p.types[j].Name}
			if r := o.conflict(overlay, key, m, p); !r.OK() {
				return r
			}
			found = append(found, key)
		}
	}
	for _, key := range found {
		o.touched[key] = append(o.touched[key], i)
	}
	return model.Reason{}
}

// conflict says which overlay of the same weight before it says something about the same thing.
func (o *Overlays) conflict(overlay *compiled, key poolType, m *market, p *marketPool) model.Reason {
	for _, j := range o.touched[key] {
		other := &o.all[j]
		about := overlap(overlay, other)
		if other.Weight != overlay.Weight || about == "" {
			continue
		}
		for _, off := range m.offerings[key.instanceType] {
			if !m.sells(p, off) || !overlay.at(off) || !other.at(off) {
				continue
			}
			return model.Reason{
				Code: model.CodeOverlayConflict, Subject: "nodeoverlay/" + overlay.Name,
				Message: fmt.Sprintf("node overlay %s of the same weight %d says the %s of %s in %s (%s) of pool %s, too",
					other.Name, other.Weight, about, off.InstanceType, off.Zone, off.CapacityType, key.pool),
				Remedy: "give one of them another spec.weight, or requirements that exclude each other",
			}
		}
	}
	return model.Reason{}
}

// overlap is what both say something about: the price, or a resource of which they say different quantities; "" for
// nothing.
func overlap(a, b *compiled) string {
	if a.HasPrice() && b.HasPrice() {
		return "price"
	}
	for _, x := range a.Capacity {
		if v, ok := b.Capacity.Get(x.Resource); ok && v != x.Value {
			return string(x.Resource)
		}
	}
	return ""
}

// within says whether the overlay is about what is bought so.
func (c *compiled) within(zone string, ct model.CapacityType, reservation string) bool {
	return !slices.ContainsFunc(c.place, func(r require.Requirement) bool { return !c.places.meet(r, zone, ct, reservation) })
}

func (c *compiled) at(off *model.Offering) bool {
	return c.within(off.Zone, off.CapacityType, off.ReservationID)
}

// Problems are the overlays without effect, and why, sorted by subject.
func (o *Overlays) Problems() []model.Reason {
	if o == nil {
		return nil
	}
	return o.problems
}

// For is what overlays say about a pool's nodes of a type. It costs one look into a map; asking the answer about an
// offering costs a few comparisons, and nothing where no overlay touches the type.
func (o *Overlays) For(pool model.PoolName, t model.TypeName) Applied {
	if o == nil || len(o.touched) == 0 {
		return Applied{}
	}
	return Applied{o, o.touched[poolType{pool, t}]}
}

// Applied is what overlays say about a pool's nodes of one type. The zero Touch says nothing.
type Applied struct {
	o    *Overlays
	hits []int
}

// None says that no overlay says anything, wherever and however the type is bought.
func (t Applied) None() bool { return len(t.hits) == 0 }

// Price is what an offering is to be weighed at, and the overlay that says so; the list price and "" where none does.
func (t Applied) Price(off *model.Offering) (price int64, overlay string) {
	for _, i := range t.hits {
		c := &t.o.all[i]
		if off.Price <= 0 && c.Price == nil {
			continue // what is added to a price that is not known is none
		}
		if c.HasPrice() && c.at(off) {
			return c.apply(off.Price), c.Name
		}
	}
	return off.Price, ""
}

// Capacity is what nodes have according to overlays, zeros included, and the overlays that say so, separated by commas.
// It stands in for what the catalogue says of the same resources, both in capacity and in what pods can use.
func (t Applied) Capacity(zone string, ct model.CapacityType, reservation string) (has model.Amounts, overlays string) {
	var names []string
	for _, i := range t.hits {
		c := &t.o.all[i]
		if len(c.Capacity) == 0 || !c.within(zone, ct, reservation) {
			continue
		}
		before := len(has)
		for _, a := range c.Capacity {
			if !slices.ContainsFunc(has, func(x model.Amount) bool { return x.Resource == a.Resource }) {
				has = append(has, a)
			}
		}
		if len(has) > before {
			names = append(names, c.Name)
		}
	}
	slices.SortFunc(has, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	slices.Sort(names)
	return has, strings.Join(names, ",")
}

// Claim is what a claim's node will have at least according to overlays: that of what it was launched as, else of each
// offering that it may become the least. Until the node tells itself, this is laid over what the claim says (see With), or
// a pod that was bought for would not fit there, and another node would be bought.
func (o *Overlays) Claim(c *model.Claim) model.Amounts {
	if o == nil || len(o.touched) == 0 {
		return nil
	}
	if c.InstanceType != "" {
		has, _ := o.For(c.NodePool, c.InstanceType).Capacity(c.Zone, c.CapacityType, c.ReservationID)
		return has
	}
	var least model.Amounts
	for i, off := range c.Offerings {
		has, _ := o.For(c.NodePool, off.InstanceType).Capacity(off.Zone, off.CapacityType, off.ReservationID)
		if i == 0 {
			least = has
			continue
		}
		least = slices.DeleteFunc(least, func(a model.Amount) bool {
			_, said := has.Get(a.Resource)
			return !said
		})
		for j := range least {
			least[j].Value = min(least[j].Value, has.Value(least[j].Resource))
		}
	}
	return least
}

// With is amounts with what overlays say in their place.
func With(amounts, overlaid model.Amounts) model.Amounts {
	if len(overlaid) == 0 {
		return amounts
	}
	out := slices.Clone(overlaid)
	for _, a := range amounts {
		if _, said := overlaid.Get(a.Resource); !said {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) })
	return out
}

// apply is the list price as the overlay changes it; never below nothing.
func (c *compiled) apply(list int64) int64 {
	switch {
	case c.Price != nil:
		return *c.Price
	case c.Adjustment != nil:
		return max(0, add(list, *c.Adjustment))
	case c.AdjustmentPPM != nil:
		return max(0, add(list, share(list, *c.AdjustmentPPM)))
	}
	return list
}

func add(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// share is so many millionths of a price, which is 0 or more, rounded towards nothing.
func share(price, ppm int64) int64 {
	const million = 1_000_000
	less := ppm < 0
	if less {
		ppm = -ppm
	}
	hi, lo := bits.Mul64(uint64(max(price, 0)), uint64(ppm))
	if hi >= million {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, million)
	n := int64(min(q, math.MaxInt64))
	if less {
		return -n
	}
	return n
}
