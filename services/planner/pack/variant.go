package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/require"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostVariants caps how many ways there are to narrow one pool. Beyond it pods may be spread over more claims than
// needed, but never put where they must not run.
const mostVariants = 32

// variant is a pool, narrowed on labels that the pool leaves open and pods ask for: where a pool says "team In [a, b]",
// pods of team a and of team b need different claims of the same pool.
type variant struct {
	pool  *view.Pool
	index int
	// open are the labels of its nodes that are not decided by type and place, as narrow as this variant makes them.
	open require.Set
	// images say which types the pool's images can boot.
	images []require.Set
	// options are sorted by price.
	options []*Option
}

// variants lists the ways to narrow a pool that some profile asks for, or that decide labels on which pods that mind
// others depend; the last is the pool as it is.
func variants(w *view.World, p *view.Pool, keys []string) []*variant {
	open := openKeys(p)
	sets := []require.Set{}
	add := func(s require.Set) {
		if _, empty := s.Empty(); empty || !decidable(open, s) || len(sets) >= mostVariants {
			return
		}
		if s.String() != open.String() && !slices.ContainsFunc(sets, func(t require.Set) bool { return t.String() == s.String() }) {
			sets = append(sets, s)
		}
	}
	if len(open) > 0 {
		for _, pr := range w.Profiles {
			for _, asked := range asks(pr) {
				add(narrow(open, asked))
			}
		}
		for _, k := range keys {
			r, _ := open.Get(k)
			values, finite := r.Values()
			for i := 0; finite && i < len(values); i++ {
				add(open.With(require.Value(k, values[i])))
			}
		}
		for i, n := 0, len(sets); i < n; i++ {
			for j := i + 1; j < n; j++ {
				add(sets[i].Intersect(sets[j]))
			}
		}
	}
	var images []require.Set
	for _, im := range p.Class.Images {
		images = append(images, require.NewSet(im.Requirements...))
	}
	var out []*variant
	for i, s := range append(sets, open) {
		out = append(out, &variant{pool: p, index: i, open: s, images: images})
	}
	return out
}

// decidable says that each label that is narrower than the pool has it is narrowed to a list of values, or away.
func decidable(open, narrowed require.Set) bool {
	for i, r := range narrowed {
		if _, finite := r.Values(); !finite && r.String() != open[i].String() {
			return false
		}
	}
	return true
}

// openKeys are the pool's requirements on labels that neither type nor place decides, and that have no single value.
func openKeys(p *view.Pool) require.Set {
	var out require.Set
	for _, r := range p.Requirements {
		if _, single := r.Single(); !single && !require.WellKnown(r.Key) && !p.Catalog.Defines(r.Key) {
			out = out.With(r)
		}
	}
	return out
}

// asks lists the alternatives of what a profile asks of labels.
func asks(p *view.Profile) []require.Set {
	if len(p.Affinity) == 0 {
		return []require.Set{p.Selector}
	}
	var out []require.Set
	for _, term := range p.Affinity {
		out = append(out, p.Selector.Intersect(term))
	}
	return out
}

func narrow(open, asked require.Set) require.Set {
	for _, r := range asked {
		if _, ok := open.Get(r.Key); ok {
			open = open.With(r)
		}
	}
	return open
}

// typePlace is what nodes of a type carry in this variant, zone and capacity type aside; ok is false where the pool or
// its images do not allow the type.
func (v *variant) typePlace(t *view.Type) (place fit.Place, ok bool) {
	labels := view.NewNodeLabels(v.pool, t)
	for _, r := range v.pool.Requirements {
		if r.Key == require.KeyZone || r.Key == require.KeyCapacityType || r.Key == require.KeyRegion {
			continue
		}
		value, defined := labels.Get(r.Key)
		if defined || require.WellKnown(r.Key) || v.pool.Catalog.Defines(r.Key) {
			if !r.Matches(value, defined) {
				return fit.Place{}, false
			}
			continue
		}
		if narrowed, ok := v.open.Get(r.Key); ok {
			r = narrowed
		}
		if single, is := r.Single(); is {
			labels = view.MergeLabels(labels, model.Labels{{Key: r.Key, Value: single}})
		}
	}
	boots := func(image require.Set) bool {
		_, ok := image.Matches(labels)
		return ok
	}
	if !slices.ContainsFunc(v.images, boots) {
		return fit.Place{}, false
	}
	return fit.Place{Labels: labels, Open: v.open, Taints: v.pool.Taints, Fresh: true}, true
}
