package fleet_test

import (
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/fleet"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// TestFleetsProveABoundAndHoldPods compares with the optimum: no fleet that is the cheapest costs more, however early
// the search ends, and what is put on fleets fits there.
func TestFleetsProveABoundAndHoldPods(t *testing.T) {
	better, packed, best := 0, 0, 0
	for seed := range uint64(600) {
		p := problemtest.Priced(rand.New(rand.NewPCG(seed, 3)), 4)
		exact := optimise.Solve(p)
		c := compact.Compile(p)
		if exact.BoundKind != optimise.KindExact || !fleet.Suits(c) {
			continue
		}
		r, worth := compact.PriceResources(c, c.Count, func(int32) bool { return true })
		for _, limit := range []int64{0, 2000, 1 << 24} {
			f := fleet.New(c, r.Worth)
			some, bound := f.Least(1, exact.Cost+1000, limit)
			if bound > exact.Cost {
				t.Fatalf("seed %d, work %d: a bound of %d, and the optimum is %d", seed, limit, bound, exact.Cost)
			}
			if some == nil {
				continue
			}
			if float64(bound) > worth*1.001 {
				better++
			}
			pl := compact.NewPlan(c)
			for _, q := range f.Fill(some, compact.NewPlan(c), limit) {
				if _, ok := compact.NewOpenBin(c).Holds(&c.Bins[q.Bin], q.Rows, q.Counts); !ok {
					t.Fatalf("seed %d: bin %d does not hold %v of %v", seed, q.Bin, q.Counts, q.Rows)
				}
				pl.Take(q)
			}
			if pl.Pods > 0 {
				continue
			}
			packed++
			if pl.Cost < exact.Cost {
				t.Fatalf("seed %d: a plan for %d, and the optimum is %d", seed, pl.Cost, exact.Cost)
			}
			if pl.Cost == exact.Cost {
				best++
			}
		}
	}
	t.Logf("%d bounds were higher, and %d fleets held all pods, %d of them as the optimum does", better, packed, best)
	if better < 200 || packed < 200 || best < 100 {
		t.Error("too few to tell")
	}
}

// TestRulesThatBindOneWayAloneCountNoPlaces draws rules by which some pods mind others and not the reverse: nodes have
// no number of places for these.
func TestRulesThatBindOneWayAloneCountNoPlaces(t *testing.T) {
	judged := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := problemtest.Priced(r, 4)
		p.Rules = nil
		for range 1 + r.IntN(2) {
			a, b := bits.New(len(p.Items)), bits.New(len(p.Items))
			a.Add(r.IntN(len(p.Items)))
			b.Add(r.IntN(len(p.Items)))
			p.Rules = append(p.Rules, problem.Rule{Trigger: a, Counted: b, Most: r.IntN(3)})
		}
		exact, c := optimise.Solve(p), compact.Compile(p)
		if exact.BoundKind != optimise.KindExact || !fleet.Suits(c) {
			continue
		}
		judged++
		y, _ := compact.PriceResources(c, c.Count, func(int32) bool { return true })
		if _, bound := fleet.New(c, y.Worth).Least(1, exact.Cost+1000, 1<<22); bound > exact.Cost {
			t.Fatalf("seed %d: bound %d, and the optimum is %d", seed, bound, exact.Cost)
		}
	}
	if judged < 50 {
		t.Errorf("%d problems were solved, too few to say anything", judged)
	}
}
