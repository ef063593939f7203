// Package settle looks for the cheapest plan of all for few pods, between a bound and the cost of a plan that is known:
// first plans of full nodes that lose little, then all, by how many nodes they have. What it has looked through raises
// the bound.
//
// It is exact as far as its work goes: where it comes to its end the plan is the optimum. Start reading with Search.
package settle

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/knapsack"
)

const (
	// fewPods and fewRows are up to how many pods and rows a plan is searched for the last per cent. With more of
	// either the search does not come far, and is only for a bound: up to mostPods and mostRows.
	fewPods, fewRows   = 512, 32
	mostPods, mostRows = 4096, 64
	// firstSlack is the part of the bound that a plan may be above it when it is looked for first; then it is twice as
	// much, and so on.
	firstSlack = 1.0 / 512
	// wideGap is the part of the cost from which on more work is spent on a gap.
	wideGap = 0.005
)

// Search looks through all plans that cost little more than a bound. Pods are worth y, which is at most what a node
// costs for those on it; the difference is a node's loss, and a plan's losses are what it costs beyond the bound. So a
// search for a plan that costs so much at most need not look at nodes that lose more than is left of that. Each node is
// full as far as pods are left: had it room for one, that could be taken off another.
type Search struct {
	// Gap is what is known so far; Found is a plan that costs no more than it did before, where one was found, and Work
	// what all that took.
	Gap
	Found []compact.Filling
	Work  int64

	c *compact.Problem
	y []float64
	// capacity is what a unit of each resource is worth on a bin, by bin and resource.
	capacity [][]float64
	// dense are the densities of all rows in their order.
	dense []float64
	rest  []int32
	// from is what they are worth together.
	from  float64
	trial *trial
	limit int64
}

// Gap is what is known of the optimum: no plan costs less than Bound, and one costs Cost.
type Gap struct{ Bound, Cost int64 }

// Closed says that the plan is the optimum.
func (g *Gap) Closed() bool { return g.Bound >= g.Cost }

// Wide is how many times as wide as a gap is that more work is spent on.
func (g *Gap) Wide() float64 { return g.share() / wideGap }

// share is how much of the cost is above the bound.
func (g *Gap) share() float64 { return float64(g.Cost-g.Bound) / float64(max(1, g.Cost)) }

// Suits says whether a problem is one of few pods, or not of many where the bound counts, with nothing but prices and
// rules about what shares a node.
func Suits(c *compact.Problem) bool {
	return (Few(c) || !c.Source.Loose && c.Pods() <= mostPods && c.NumRows <= mostRows) && len(c.Limits) == 0 && !c.HasUnpackable &&
		!slices.ContainsFunc(c.Bins, func(b compact.Bin) bool { return b.Limited || b.Penalties != nil || len(b.Before) > 0 })
}

// Few says that there are so few pods that a better plan may be found.
func Few(c *compact.Problem) bool { return c.Pods() <= fewPods && c.NumRows <= fewRows }

// New is a search in a problem that suits, where pods are worth y and nothing holds pods that are worth more than it
// costs. It is nil where they are worth nothing.
func New(c *compact.Problem, y []float64, g Gap) *Search {
	t := &Search{Gap: g, c: c, y: slices.Clone(y), rest: slices.Clone(c.Count)}
	for i, n := range t.rest {
		t.y[i] *= 1 - 1e-7 // whatever rounding errors did
		t.from += float64(float64(n) * t.y[i])
	}
	if t.from <= 0 {
		return nil
	}
	c.ListRows()
	rows := make([]int32, c.NumRows)
	for i := range rows {
		rows[i] = int32(i)
	}
	t.dense = t.densities(rows)
	t.trial = newTrial(t)
	t.capacity, t.Work = knapsack.CapacityWorth(c, t.y)
	return t
}

// densities are, by place among some rows and resource, the most that a pod of the row there or a later one is worth
// for each unit of the resource; infinite where some need none of it.
func (t *Search) densities(rows []int32) []float64 {
	k := t.c.NumResources
	out := make([]float64, (len(rows)+1)*k)
	for at, i := range slices.Backward(rows) {
		copy(out[at*k:(at+1)*k], out[(at+1)*k:])
		for r := range k {
			if q := t.c.Request[int(i)*k+r]; q > 0 {
				out[at*k+r] = max(out[at*k+r], t.y[i]/float64(q))
			} else if t.y[i] > 0 {
				out[at*k+r] = math.Inf(1)
			}
		}
	}
	return out
}

func costOf(some []compact.Filling) (cost int64) {
	for _, f := range some {
		cost += f.Cost
	}
	return cost
}

func (t *Search) over() bool { return t.Work > t.limit || t.c.Stopped() }

// tolerance is how much more than the slack a node may lose, micro-dollars an hour: sums of floating-point numbers are
// not exact.
const tolerance = 1e-3
