package market

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// mostVariants caps how many ways there are to narrow one pool. Beyond it pods may be spread over more claims than
// needed, but never put where they must not run.
const mostVariants = 32

// Variant is a pool with each label decided that the pool leaves open: where a pool says "team In [a, b]", pods of team a
// and of team b need different claims of the same pool. The planner decides, and says so in the claim, so that no node
// differs from what its pods were placed on.
type Variant struct {
	Pool  *view.Pool
	index int
	// Decided are the labels of its nodes that neither type nor place decides, with one value each.
	Decided require.Set
	// images say which types the pool's images can boot.
	images []require.Set
	// Options are sorted by price.
	Options []*Option
	// diverse says whether all of them together meet the pool's minValues.
	diverse bool
}

// variants lists the ways to decide a pool's open labels that some profile asks for, or that pods with pod rules may
// depend on; then the one for pods that do not care, and last those that keep some DaemonSet off the node.
func variants(w *view.World, p *view.Pool, keys []string) []*Variant {
	open := openKeys(p)
	var images []require.Set
	for _, im := range p.Class.Images {
		images = append(images, require.NewSet(im.Requirements...))
	}
	var out []*Variant
	seen := make(map[string]bool)
	others := fit.BesideDaemons(w, open)
	ways := append(narrowings(w, open, keys, others), open)
	for _, s := range others {
		ways = append(ways, open.Intersect(s))
	}
	for i, s := range ways {
		decided, ok := decide(s, string(p.Name))
		if !ok || seen[decided.String()] || i > mostVariants {
			continue
		}
		seen[decided.String()] = true
		out = append(out, &Variant{Pool: p, index: len(out), Decided: decided, images: images})
	}
	return out
}

// narrowings are the ways to narrow open labels that some profile asks for, alone and in pairs, and the values of those
// that pods with pod rules may depend on, or DaemonSets: a pod may fit only where some of them do not run.
func narrowings(w *view.World, open require.Set, keys []string, others []require.Set) []require.Set {
	if len(open) == 0 {
		return nil
	}
	var sets []require.Set
	add := func(s require.Set) {
		if _, empty := s.Empty(); empty || len(sets) >= mostVariants {
			return
		}
		if s.String() != open.String() && !slices.ContainsFunc(sets, func(t require.Set) bool { return t.String() == s.String() }) {
			sets = append(sets, s)
		}
	}
	for _, pr := range w.Profiles {
		for _, asked := range fit.Asks(pr) {
			add(narrow(open, asked))
		}
	}
	for _, d := range w.Daemons {
		keys = slices.Concat(keys, d.Class.Profile.Keys)
	}
	for _, k := range keys {
		r, _ := open.Get(k)
		values, finite := r.Values()
		for i := 0; finite && i < len(values); i++ {
			add(open.With(require.Value(k, values[i])))
		}
	}
	n := len(sets)
	for i := range n {
		for _, s := range others {
			add(sets[i].Intersect(s))
		}
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			add(sets[i].Intersect(sets[j]))
		}
	}
	return sets
}

// decide gives each label that must be there one value. What may be absent is: a node gets no label that is not asked for.
func decide(open require.Set, preferred string) (out require.Set, ok bool) {
	for _, r := range open {
		if r.AllowsAbsent() {
			continue
		}
		v, ok := r.Pick(preferred)
		if !ok {
			return nil, false
		}
		out = out.With(require.Value(r.Key, v))
	}
	return out, true
}

// openKeys are the pool's requirements on labels that neither type nor place decides, and that have no single value.
func openKeys(p *view.Pool) require.Set {
	var out require.Set
	for _, r := range p.Requirements {
		if _, single := r.Single(); !single && !labels.WellKnown(r.Key) && !p.Catalog.Defines(r.Key) {
			out = out.With(r)
		}
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

// typePlace is what nodes of a type carry in this variant, place aside; ok is false where the pool or
// its images do not allow the type.
func (v *Variant) typePlace(t *view.Type) (place fit.Place, ok bool) {
	carried := view.NewNodeLabels(v.Pool, t)
	for _, r := range v.Pool.Requirements {
		if labels.OfPlace(r.Key) {
			continue
		}
		value, defined := carried.Get(r.Key)
		if defined || labels.WellKnown(r.Key) || v.Pool.Catalog.Defines(r.Key) {
			if !r.Matches(value, defined) {
				return fit.Place{}, false
			}
			continue
		}
		if decided, ok := v.Decided.Get(r.Key); ok {
			r = decided
		}
		if single, is := r.Single(); is {
			carried = view.MergeLabels(carried, model.Labels{{Key: r.Key, Value: single}})
		}
	}
	boots := func(image require.Set) bool {
		_, ok := image.Matches(carried)
		return ok
	}
	if !slices.ContainsFunc(v.images, boots) {
		return fit.Place{}, false
	}
	return fit.Place{Labels: carried, Taints: v.Pool.Taints, Fresh: true}, true
}
