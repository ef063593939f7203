package knapsack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// maxRules is how many rules a knapsack takes as capacities.
const maxRules = 8

// sharedRules finds the rules that let only so many pods of several rows of a bin in together, as anti-affinity of rows
// with each other does. Such a rule is a capacity like any other: each pod takes one of so many places. Those of the
// most rows come first; the rest is left out of the relaxation, but not of the fillings.
func (p *Packer) sharedRules(b *compact.Bin) []int32 {
	if len(p.c.Rules) == 0 {
		return nil
	}
	members := make([]int, len(p.c.Rules))
	for _, i := range b.Rows {
		for _, pt := range p.c.RulesOf[i] {
			if p.c.Rules[pt.Rule].Mutual {
				members[pt.Rule]++
			}
		}
	}
	var out []int32
	for r, n := range members {
		if n >= 2 && p.c.Rules[r].Most > 0 {
			out = append(out, int32(r))
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int { return members[b] - members[a] })
	return out[:min(len(out), maxRules)]
}

// addRule makes a rule the capacity at a place.
func (kn *state) addRule(p *Packer, at int, rule int32) {
	part := 1 / float64(p.c.Rules[rule].Most)
	for x, i := range kn.b.Rows {
		for _, pt := range p.c.RulesOf[i] {
			if pt.Rule == rule {
				kn.a[x*kn.k+at] = part
			}
		}
	}
}
