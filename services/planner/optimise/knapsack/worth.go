package knapsack

import "github.com/kerf-dev/kerf/services/planner/optimise/compact"

// CapacityWorth is what a unit of each resource is worth on each bin where pods are worth y each, by bin and resource,
// and the work to find that.
func CapacityWorth(c *compact.Problem, y []float64) (capacity [][]float64, work int64) {
	for range c.Bins {
		capacity = append(capacity, make([]float64, c.NumResources))
	}
	return capacity, relaxEach(c, y, func(b int, k Knapsack) {
		for r := range capacity[b] {
			if f := k.kn.b.Free[r]; f > 0 {
				capacity[b][r] = max(0, k.kn.lam[r]) / float64(f)
			}
		}
	})
}

// MostWorth is what no filling of a bin is worth more than where pods are worth y each, by bin, and the work to find that.
func MostWorth(c *compact.Problem, y []float64) (most []float64, work int64) {
	most = make([]float64, len(c.Bins))
	return most, relaxEach(c, y, func(b int, k Knapsack) { most[b] = k.Upper() })
}

// relaxEach solves the relaxation of each bin's knapsack where pods are worth y each.
func relaxEach(c *compact.Problem, y []float64, solved func(b int, k Knapsack)) (work int64) {
	c.ListRows()
	p := New(c)
	for b := range c.Bins {
		if len(c.Bins[b].Rows) > 0 {
			k := p.Of(b, y)
			k.Relax()
			solved(b, k)
			p.Drop(b)
		}
	}
	return p.Work
}
