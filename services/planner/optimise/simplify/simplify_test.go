package simplify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/simplify"
)

// drawn is a few pods, some of them equal but for rules, on bins of which some are equal but for what they take.
func drawn(r *rand.Rand) *problem.Problem {
	p := &problem.Problem{}
	rows := 2 + r.IntN(5)
	some := func() bits.Set {
		out := bits.New(rows)
		for i := range rows {
			out.Put(i, r.IntN(3) > 0)
		}
		return out
	}
	for range rows {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(4), Request: []int64{1 + r.Int64N(2), 1 + r.Int64N(2)}})
	}
	for range 2 + r.IntN(4) {
		size := 2 + r.Int64N(4)
		p.Bins = append(p.Bins, problem.Bin{Price: size * (9 + r.Int64N(3)), Free: []int64{size, size + r.Int64N(2)}, Takes: some(), Most: -1})
	}
	for range r.IntN(4) {
		rule := problem.Rule{Trigger: some(), Most: 1 + r.IntN(2)}
		if rule.Counted = rule.Trigger; r.IntN(4) == 0 {
			rule.Counted = some()
		}
		p.Rules = append(p.Rules, rule)
	}
	if r.IntN(3) == 0 {
		limit := problem.Limit{Most: int64(rows) + r.Int64N(20)}
		for _, b := range p.Bins {
			limit.Amount = append(limit.Amount, b.Free[0])
		}
		p.Limits = []problem.Limit{limit}
	}
	return p
}

// TestWhatIsProvenForTheSimplerProblemIsProvenForTheWhole, for a plan and for a bound alone, of problems whose cheapest packing is known.
func TestWhatIsProvenForTheSimplerProblemIsProvenForTheWhole(t *testing.T) {
	known, fewer := 0, 0
	for seed := range uint64(3000) {
		p := drawn(rand.New(rand.NewPCG(seed, 12)))
		whole := optimise.Solve(p)
		if whole.BoundKind != optimise.KindExact {
			continue
		}
		known++
		for _, boundOnly := range []bool{false, true} {
			p.BoundOnly = boundOnly
			c := compact.Compile(p)
			simpler, sc := simplify.Of(compact.NewPlan(c), 256, 0)
			if s := optimise.Solve(&simpler.Problem); s.Bound > whole.Cost {
				t.Fatalf("seed %d, bound only %t: the simpler problem costs %d at least, a packing of the whole %d", seed, boundOnly, s.Bound, whole.Cost)
			}
			if sc.NumRows < c.NumRows {
				fewer++
			}
		}
	}
	if known < 1000 || fewer < 200 {
		t.Errorf("%d cheapest packings are known, and %d problems have fewer rows", known, fewer)
	}
}
