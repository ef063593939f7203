package pricing

import "github.com/kerf-dev/kerf/services/planner/optimise/compact"

// TotalBound is what the best duals bound all pods of the problem by, bins that cost nothing included.
func (x *Columns) TotalBound() float64 {
	x.c.ListRows()
	copy(x.demand, x.c.Count)
	x.packer.Renew(x.demand)
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
		kn := x.packer.Of(b, x.BestDuals)
		kn.Relax()
		upper := kn.Upper()
		if bin.Existing() {
			free += float64(upper * float64(bin.Copies))
			x.packer.Drop(b)
			continue
		}
		steepest = max(steepest, slope(upper-x.toll(int32(b), x.bestLimitDuals), bin.Price))
	}
	return max(0, sum/steepest-free)
}

// slope is worth per price; infinite for what costs nothing.
func slope(worth float64, price int64) float64 {
	if worth <= 0 {
		return 0
	}
	return worth / float64(price)
}
