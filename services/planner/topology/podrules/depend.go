package podrules

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/view"
)

// DependsOn are the counts that a class's pods rely on others to keep up, wherever they are: those of required spread and
// affinity. Where a pod goes away that one of them counts, see CountedBy, the class's pods may break their constraints.
func (r *Rules) DependsOn(c *view.Class) []int32 {
	x := &r.Classes[c.Index]
	var out []int32
	for i := range x.Spread {
		out = append(out, x.Spread[i].Counter)
	}
	for i := range x.Affinity {
		out = append(out, x.Affinity[i].Counter)
	}
	return out
}

// CountedBy are the counts of spread and affinity that count a class's pods and that some constraint requires.
func (r *Rules) CountedBy(c *view.Class) []int32 {
	k := &r.Kinds[r.KindOf[c.Index]]
	var out []int32
	for _, list := range [][]int32{k.Spread, k.Pods} {
		for _, n := range list {
			if r.Counters[n].Required {
				out = append(out, n)
			}
		}
	}
	return out
}

// Circles number the classes so that pods of two circles never matter to each other: no required rule counts, or keeps
// away, those of both. It is None for a class that no required rule is about.
func Circles(r *Rules) []int32 {
	joined := make([]int32, len(r.Counters))
	for i := range joined {
		joined[i] = int32(i)
	}
	find := func(n int32) int32 {
		for joined[n] != n {
			joined[n] = joined[joined[n]]
			n = joined[n]
		}
		return n
	}
	out := make([]int32, len(r.Classes))
	for i := range r.Classes {
		out[i] = None
		for _, n := range concerns(r, i) {
			if out[i] == None {
				out[i] = n
			}
			joined[find(n)] = find(out[i])
		}
	}
	for i, n := range out {
		if n != None {
			out[i] = find(n)
		}
	}
	return out
}

// concerns are the counters of required rules that pods of a class look at, or are in.
func concerns(r *Rules, class int) []int32 {
	x, k := &r.Classes[class], &r.Kinds[r.KindOf[class]]
	out := slices.Concat(k.Spread, k.Pods, k.RepelledBy, x.Owned)
	for _, rule := range x.Spread {
		out = append(out, rule.Counter)
	}
	for _, rule := range x.Affinity {
		out = append(out, rule.Counter)
	}
	for _, rule := range x.Anti {
		out = append(out, rule.Counter)
	}
	return slices.DeleteFunc(out, func(n int32) bool { return !r.Counters[n].Required })
}
