package optimise

import "slices"

// mostGroups is how many rules a knapsack takes as capacities.
const mostGroups = 8

// groups finds the rules that let only so many pods of several rows of a bin in together, as anti-affinity of rows with each
// other does. Such a rule is a capacity like any other: each pod takes a seat. Those of the most rows come first; the rest
// is left out of the relaxation, but not of the fillings.
func (p *pricer) groups(b *bin) []int32 {
	if len(p.c.rules) == 0 {
		return nil
	}
	members := make([]int, len(p.c.rules))
	for _, i := range b.rows {
		for _, pt := range p.c.byRow[i] {
			if p.c.rules[pt.rule].mutual {
				members[pt.rule]++
			}
		}
	}
	var out []int32
	for r, n := range members {
		if n >= 2 && p.c.rules[r].most > 0 {
			out = append(out, int32(r))
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int { return members[b] - members[a] })
	return out[:min(len(out), mostGroups)]
}

// seat makes a rule the capacity at a place.
func (kn *knap) seat(p *pricer, at int, rule int32) {
	part := 1 / float64(p.c.rules[rule].most)
	for x, i := range kn.b.rows {
		for _, pt := range p.c.byRow[i] {
			if pt.rule == rule {
				kn.a[x*kn.k+at] = part
			}
		}
	}
}
