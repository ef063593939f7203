package settle_test

import (
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/pricing"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
	"github.com/kerf-dev/kerf/services/planner/optimise/settle"
)

// drawn is a random problem, of odd seeds one of zones.
func drawn(seed, stream uint64) *problem.Problem {
	r := rand.New(rand.NewPCG(seed, stream))
	if seed%2 == 1 {
		return zoned(r)
	}
	return problemtest.Priced(r, 0)
}

// zoned is a random problem whose pods must be in a zone, or outside one, or may be anywhere: as bounds have them.
// Requests are multiples of 3, and nodes have room for parts of that.
func zoned(r *rand.Rand) *problem.Problem {
	const zones = 3
	p := &problem.Problem{}
	var where []func(zone int) bool
	for range 3 + r.IntN(4) {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(2), Request: []int64{int64(3 * (1 + r.IntN(3))), int64(3 * r.IntN(3)), 1}})
		own := r.IntN(zones)
		where = append(where, []func(int) bool{
			func(zone int) bool { return zone == own }, func(zone int) bool { return zone != own }, func(int) bool { return true },
		}[r.IntN(3)])
	}
	for range 2 {
		size := 9 + r.Int64N(16)
		for zone := range zones {
			in := bits.New(len(p.Items))
			for i, ok := range where {
				if ok(zone) {
					in.Add(i)
				}
			}
			p.Bins = append(p.Bins, problemtest.PricedBin(r, size, in))
		}
	}
	for range r.IntN(3) {
		p.Rules = append(p.Rules, problemtest.Few(r, len(p.Items), 1+r.IntN(3)))
	}
	return p
}

// begin is a search for a problem between what resources alone prove and the cost of a node for each pod.
func begin(c *compact.Problem) *settle.Search {
	r, worth := compact.PriceResources(c, c.Count, func(int32) bool { return true })
	alone := int64(0)
	for i, n := range c.Count {
		for b := range c.Bins {
			open := compact.NewOpenBin(c)
			if open.Open(&c.Bins[b]); c.Bins[b].Takes.Has(i) && open.Capacity(int32(i), 1) == 1 {
				alone += int64(n) * c.Bins[b].Price
				break
			}
		}
	}
	return settle.New(c, r.Worth, settle.Gap{Bound: int64(worth * (1 - 1e-9)), Cost: alone + 1})
}

// checkFound checks that what was found is a plan at its cost.
func checkFound(t *testing.T, c *compact.Problem, x *settle.Search) {
	t.Helper()
	if x.Found == nil {
		return
	}
	pl := compact.NewPlan(c)
	for _, f := range x.Found {
		if _, ok := compact.NewOpenBin(c).Holds(&c.Bins[f.Bin], f.Rows, f.Counts); !ok {
			t.Errorf("bin %d does not hold %v of %v", f.Bin, f.Counts, f.Rows)
		}
		pl.Take(f)
	}
	if pl.Pods != 0 || pl.Cost != x.Cost {
		t.Errorf("%d pods are left of what was found, at %d, want none at %d", pl.Pods, pl.Cost, x.Cost)
	}
}

// TestCountsProveABound looks at problems of which the programme of all pods proves too little, and checks the plans
// that are found on the way.
func TestCountsProveABound(t *testing.T) {
	better, closed, found := 0, 0, 0
	for seed := range uint64(600) {
		p := drawn(seed, 2)
		exact := optimise.Solve(p)
		for _, limit := range []int64{1000, 30_000, 1 << 24} {
			c := compact.Compile(p)
			if !settle.Suits(c) {
				continue
			}
			x, base, slab := begin(c), compact.NewPlan(c), compact.Slab{}
			columns := pricing.NewColumns(c, &slab)
			columns.Program.WorkLimit, columns.Program.Stop = 1<<24, c.Stopped
			columns.Begin(base, nil)
			columns.Generate(pricing.Effort{Gap: 1e-9, Limit: 1 << 24, Depth: 3, Slack: 1e-9, Stop: c.Stopped})
			x.Bound = max(x.Bound, int64(columns.Bound*(1-1e-9)))
			before := x.Bound
			x.ByCounts(base, settle.RootOf(columns), limit)
			checkFound(t, c, x)
			if x.Found != nil {
				found++
			}
			if x.Bound > exact.Cost || x.Bound < before || x.Cost < exact.Cost {
				t.Fatalf("seed %d, work %d: the bound rose from %d to %d, and the optimum is %d", seed, limit, before, x.Bound, exact.Cost)
			}
			if limit == 1<<24 && x.Bound > before {
				better++
				if float64(x.Bound) >= float64(exact.Cost)*(1-1e-4) {
					closed++
				}
			}
		}
	}
	t.Logf("%d bounds rose, %d of them to the optimum, and %d plans were found", better, closed, found)
	if better < 100 || closed < 50 || found < 100 {
		t.Error("too few to tell")
	}
}

func TestSearchFindsTheOptimum(t *testing.T) {
	const plenty = 1 << 24
	ways := map[string]func(*settle.Search, int64){
		"by covers": func(x *settle.Search, limit int64) { x.ByCovers(limit) },
	}
	for name, look := range ways {
		t.Run(name, func(t *testing.T) {
			searched, open := 0, 0
			for seed := range uint64(400) {
				p := drawn(seed, 1)
				exact := optimise.Solve(p)
				for _, limit := range []int64{200, 3000, plenty} {
					c := compact.Compile(p)
					if !settle.Suits(c) {
						continue
					}
					x := begin(c)
					look(x, limit)
					checkFound(t, c, x)
					if x.Bound > exact.Cost || x.Cost < exact.Cost {
						t.Fatalf("seed %d, work %d: the optimum %d is not from the bound %d to the cost %d", seed, limit, exact.Cost, x.Bound, x.Cost)
					}
					if limit == plenty {
						searched++
						switch {
						case x.Bound == exact.Cost && x.Cost == exact.Cost:
						case seed%2 == 1 && open < 2: // where each pod has a node of its own there are more sets than are listed
							open++
						default:
							t.Errorf("seed %d: bound %d and cost %d, want %d", seed, x.Bound, x.Cost, exact.Cost)
						}
					}
				}
			}
			if searched < 100 {
				t.Errorf("%d problems were searched: too few to tell", searched)
			}
		})
	}
}
