package podrules

import "github.com/kerf-dev/kerf/services/planner/view"

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
