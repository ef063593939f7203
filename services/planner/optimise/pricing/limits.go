package pricing

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/scarce"
)

const (
	// maxLimitRows is how many limits and stocks may be rows.
	maxLimitRows = 120
	// MaxLimitRounds is how often the programme starts over because its solution goes beyond others.
	MaxLimitRounds = 4
)

// CountNodes makes numbers of nodes rows of the programme, in the place of limits and stocks, from the next Begin on.
// No filling may be worth more than its bin by some duals and those of the counts.
func (x *Columns) CountNodes(all []scarce.NodeCount, duals []float64) {
	x.limitRows, x.limitDuals, x.bestLimitDuals, x.trialLimitDuals = x.limitRows[:0], x.limitDuals[:0], x.bestLimitDuals[:0], x.trialLimitDuals[:0]
	for _, least := range []bool{true, false} {
		for _, n := range all {
			if n.Least == least {
				k := len(x.limitRows)
				if x.addLimitRow(scarce.Row{Limit: -1, Bin: -1, Nodes: n, Unit: 1}); k < len(x.limitRows) { // without some rows a bound is lower
					x.bestLimitDuals[k] = n.Dual
				}
			}
		}
	}
	copy(x.BestDuals, duals)
}

// Tolls says that some bins cost a toll beside their price in the best bound: fillings may be worth more than the price
// of their bin then.
func (x *Columns) Tolls() bool {
	return slices.ContainsFunc(x.bestLimitDuals, func(toll float64) bool { return toll > 0 })
}

// Counted are the numbers of nodes that are rows, with the duals of the best bound.
func (x *Columns) Counted() []scarce.NodeCount {
	out := make([]scarce.NodeCount, len(x.limitRows))
	for k := range out {
		out[k] = x.limitRows[k].Nodes
		out[k].Dual = x.bestLimitDuals[k]
	}
	return out
}

// toll is what a copy of a bin takes of what is scarce, at its prices.
func (x *Columns) toll(b int32, mu []float64) float64 {
	sum := 0.0
	for k := range x.limitRows {
		if mu[k] > 0 {
			sum += float64(mu[k] * x.limitRows[k].Taken(&x.c.Bins[b], b))
		}
	}
	return sum
}

// AddExceededLimits makes limits and stocks rows that the solution goes beyond and that are none yet; false where there
// are none.
func (x *Columns) AddExceededLimits(pl *compact.Plan) bool {
	n := len(x.limitRows)
	use := make([]float64, len(x.c.Bins))
	limits := make([]float64, len(x.c.Limits))
	for k, j := range x.Program.Basis {
		if j < 0 || x.Pool[j].Bin < 0 {
			continue
		}
		b := x.Pool[j].Bin
		use[b] += x.Program.X[k]
		for l, a := range x.c.Bins[b].Amount {
			limits[l] += float64(x.Program.X[k] * float64(a))
		}
	}
	for l, v := range limits {
		if v > float64(pl.LimitLeft[l])*(1+1e-6) {
			x.addLimitRow(scarce.Row{Limit: int32(l), Bin: -1, Unit: float64(max(1, x.c.Limits[l]))})
		}
	}
	for b, v := range use {
		bin := &x.c.Bins[b]
		if bin.Limited && v > float64(bin.Copies-int(pl.Used[b]))+1e-3 {
			x.addLimitRow(scarce.Row{Limit: -1, Bin: int32(b), Unit: 1})
		}
	}
	return len(x.limitRows) > n
}

// AddUsedUpLimits makes those limits and stocks rows that a plan uses up, or nearly.
func (x *Columns) AddUsedUpLimits(pl *compact.Plan) {
	for l, m := range x.c.Limits {
		if pl.LimitLeft[l] < m/10 {
			x.addLimitRow(scarce.Row{Limit: int32(l), Bin: -1, Unit: float64(max(1, m))})
		}
	}
	for b := range x.c.Bins {
		bin := &x.c.Bins[b]
		if bin.Limited && !bin.Existing() && int(pl.Used[b]) == bin.Copies {
			x.addLimitRow(scarce.Row{Limit: -1, Bin: int32(b), Unit: 1})
		}
	}
}

func (x *Columns) addLimitRow(s scarce.Row) {
	for _, y := range x.limitRows {
		if !s.CountsNodes() && y.Limit == s.Limit && y.Bin == s.Bin {
			return
		}
	}
	if len(x.limitRows) < maxLimitRows {
		x.limitRows = append(x.limitRows, s)
		x.limitDuals, x.bestLimitDuals, x.trialLimitDuals = append(x.limitDuals, 0), append(x.bestLimitDuals, 0), append(x.trialLimitDuals, 0)
	}
}

// unpackedPrice is how many times more expensive than on its cheapest bin a pod is that has no bin.
const unpackedPrice = 20

// missingPrice is how many times more expensive than the most expensive bin a node is that is missing.
const missingPrice = 2

// addUnpacked adds the column of a pod that has no bin, of the row at a place, because limits allow none.
func (x *Columns) addUnpacked(k int, single compact.Filling) {
	x.Program.Entry(int32(k), 1)
	x.Program.Add(unpackedPrice * float64(single.Cost) / float64(single.Counts[0]))
	x.Pool = append(x.Pool, compact.Filling{Bin: -1})
}

// LeavesPods says that the solution leaves pods without a bin.
func (x *Columns) LeavesPods() bool {
	for k, j := range x.Program.Basis {
		if j >= 0 && x.Pool[j].Bin < 0 && x.Program.X[k] > 1e-3 {
			return true
		}
	}
	return false
}
