package simplify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
	"github.com/kerf-dev/kerf/services/planner/optimise/simplify"
)

// drawn is a few pods, some of them equal but for rules, on bins of which some are equal but for what they take.
func drawn(r *rand.Rand) *problem.Problem {
	p := problemtest.Alike(r, 2)
	if r.IntN(3) == 0 {
		limit := problem.Limit{Most: int64(len(p.Items)) + r.Int64N(20)}
		for _, b := range p.Bins {
			limit.Amount = append(limit.Amount, b.Free[0])
		}
		p.Limits = []problem.Limit{limit}
	}
	return p
}

// TestWhatIsProvenForTheSimplerProblemIsProvenForTheWhole, for a plan and for a bound alone, of problems whose cheapest
// packing is known.
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

// TestNearRequestsBecomeTheirMean, as long as the same bins take them: what they ask for together stays what it is.
func TestNearRequestsBecomeTheirMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := &problem.Problem{}
	const items = 600
	some, others := bits.New(items), bits.New(items)
	for i := range items {
		if some.Add(i); i%3 == 0 {
			others.Add(i)
		}
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(9), Request: []int64{50 + r.Int64N(4000), 50 + r.Int64N(9000)}})
	}
	for _, cores := range []int64{4, 8, 16} {
		p.Bins = append(p.Bins,
			problem.Bin{Price: 10 * cores, Free: []int64{1000 * cores, 2000 * cores}, Takes: others, Most: -1},
			problem.Bin{Price: 25 * cores, Free: []int64{1000 * cores, 3000 * cores}, Takes: some, Most: -1})
	}
	c := compact.Compile(p)
	simpler, sc := simplify.Of(compact.NewPlan(c), 256, 0)
	if !simpler.Near || sc.NumRows > 128 || sc.NumRows < 64 {
		t.Fatalf("%d rows, near %t", sc.NumRows, simpler.Near)
	}
	for row, of := range sc.ItemsOf {
		asked, mean := make([]int64, 2), make([]int64, 2)
		for _, i := range of {
			n := int64(simpler.Items[i].Count)
			for k := range asked {
				asked[k] += n * c.Request[int(i)*2+k]
				mean[k] += n * simpler.Items[i].Request[k]
			}
			for b := range c.Bins {
				if c.Bins[b].Takes.Has(int(i)) != c.Bins[b].Takes.Has(int(of[0])) && len(c.Bins[b].Kinds) > 0 && c.Bins[b].Fits([]int64{4050, 9050}) {
					t.Errorf("row %d has pods that bin %d takes, and others", row, b)
				}
			}
		}
		for k := range asked {
			if mean[k] < asked[k] || mean[k] > asked[k]+int64(sc.Count[row]) {
				t.Errorf("row %d asks for %d of resource %d, and its pods for %d", row, mean[k], k, asked[k])
			}
		}
	}
	p.BoundOnly = true
	if simpler, _ := simplify.Of(compact.NewPlan(compact.Compile(p)), 256, 0); simpler != nil {
		t.Error("a bound alone is asked for, and mean requests prove none")
	}
}
