package pricing

import (
	"math"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

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
		sum -= float64(v * x.limitRows[k].leftIn(all))
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

// CapacityWorth is what a unit of each resource is worth on each bin where pods are worth y each, by bin and resource, and the work to find that.
func CapacityWorth(c *compact.Problem, y []float64) (capacity [][]float64, work int64) {
	c.ListRows()
	p := newPricer(c)
	capacity = make([][]float64, len(c.Bins))
	for b := range c.Bins {
		capacity[b] = make([]float64, c.NumResources)
		if len(c.Bins[b].Rows) == 0 {
			continue
		}
		kn := p.knapsackOf(b)
		p.relax(kn, p.values(kn.b, y))
		for r := range capacity[b] {
			if f := kn.b.Free[r]; f > 0 {
				capacity[b][r] = max(0, kn.lam[r]) / float64(f)
			}
		}
		p.drop(b)
	}
	return capacity, p.work
}

// MostWorth is what no filling of a bin is worth more than where pods are worth y each, by bin, and the work to find that.
func MostWorth(c *compact.Problem, y []float64) (most []float64, work int64) {
	c.ListRows()
	p := newPricer(c)
	most = make([]float64, len(c.Bins))
	for b := range c.Bins {
		if len(c.Bins[b].Rows) == 0 {
			continue
		}
		kn := p.knapsackOf(b)
		v := p.values(kn.b, y)
		p.relax(kn, v)
		most[b] = p.upper(kn, v)
		p.drop(b)
	}
	return most, p.work
}

// slope is worth per price.
func slope(worth float64, price int64) float64 {
	switch {
	case worth <= 0:
		return 0
	case price == 0:
		return math.Inf(1)
	}
	return worth / float64(price)
}
