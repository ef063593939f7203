package pricing

import "github.com/kerf-dev/kerf/services/planner/optimise/compact"

// TotalBound is what the best duals bound all pods of the problem by, bins that cost nothing included.
func (x *Columns) TotalBound() float64 {
	x.c.ListRows()
	copy(x.demand, x.c.Count)
	x.pr.renew(x.demand)
	sum, steepest, free := 0.0, 1.0, 0.0
	for i, v := range x.BestDuals {
		sum += float64(v * float64(x.demand[i]))
	}
	all := compact.NewPlan(x.c)
	for k, v := range x.bestLimitDuals {
		sum -= float64(v * x.limitRows[k].LeftIn(all))
	}
	for b := range x.c.Bins {
		bin := &x.c.Bins[b]
		if len(bin.Rows) == 0 {
			continue
		}
		kn := x.pr.knapsackOf(b)
		v := x.pr.values(bin, x.BestDuals)
		x.pr.relax(kn, v)
		upper := x.pr.upper(kn, v)
		if bin.Existing() {
			free += float64(upper * float64(bin.Copies))
			x.pr.drop(b)
			continue
		}
		steepest = max(steepest, slope(upper-x.toll(int32(b), x.bestLimitDuals), bin.Price))
	}
	return max(0, sum/steepest-free)
}

// CapacityWorth is what a unit of each resource is worth on each bin where pods are worth y each, by bin and resource,
// and the work to find that.
func CapacityWorth(c *compact.Problem, y []float64) (capacity [][]float64, work int64) {
	for range c.Bins {
		capacity = append(capacity, make([]float64, c.NumResources))
	}
	return capacity, relaxEach(c, y, func(_ *pricer, b int, kn *knapsack, _ []float64) {
		for r := range capacity[b] {
			if f := kn.b.Free[r]; f > 0 {
				capacity[b][r] = max(0, kn.lam[r]) / float64(f)
			}
		}
	})
}

// MostWorth is what no filling of a bin is worth more than where pods are worth y each, by bin, and the work to find that.
func MostWorth(c *compact.Problem, y []float64) (most []float64, work int64) {
	most = make([]float64, len(c.Bins))
	return most, relaxEach(c, y, func(p *pricer, b int, kn *knapsack, v []float64) { most[b] = p.upper(kn, v) })
}

// relaxEach solves the relaxation of each bin's knapsack where pods are worth y each.
func relaxEach(c *compact.Problem, y []float64, solved func(p *pricer, b int, kn *knapsack, v []float64)) (work int64) {
	c.ListRows()
	p := newPricer(c)
	for b := range c.Bins {
		if len(c.Bins[b].Rows) > 0 {
			kn := p.knapsackOf(b)
			v := p.values(kn.b, y)
			p.relax(kn, v)
			solved(p, b, kn, v)
			p.drop(b)
		}
	}
	return p.work
}

// slope is worth per price; infinite for what costs nothing.
func slope(worth float64, price int64) float64 {
	if worth <= 0 {
		return 0
	}
	return worth / float64(price)
}
