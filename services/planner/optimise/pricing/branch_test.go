package pricing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// TestNoFillingIsWorthMoreThanTheBranchingSays compares fillings of small bins, some of them under a rule, with all
// that there are.
func TestNoFillingIsWorthMoreThanTheBranchingSays(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := drawn(r)
		pr := pricerOf(p)
		for b := range pr.c.Bins {
			kn := pr.knapsackOf(b)
			v := pr.value[:len(kn.b.Rows)]
			for x := range v {
				v[x] = math.Round(100 * r.Float64())
			}
			pr.relax(kn, v)
			upper := pr.upper(kn, v)
			most := mostWorth(pr, kn, v, 0)
			for _, nodes := range []int{1, 5, 100_000} {
				bound := pr.fill(kn, v, upper, 0, searchLimit{nodes, math.MaxInt64})
				found := 0.0
				pr.open.Open(kn.b)
				for x, q := range pr.search.tops[0].counts {
					if pr.open.Capacity(kn.b.Rows[x], q) < q {
						t.Fatalf("seed %d: the filling has %d pods of row %d, which do not fit", seed, q, x)
					}
					pr.open.Put(kn.b.Rows[x], q)
					found += float64(q) * v[x]
				}
				if bound < most-1e-6 || found > most+1e-6 {
					t.Fatalf("seed %d, %d relaxations: a filling of %g was found and none is said to exceed %g; the best is worth %g", seed, nodes, found, bound, most)
				}
				if nodes > 1000 && (found < most-1e-6 || bound > most+1e-3) {
					t.Fatalf("seed %d: the search ended at %g with %g as its bound; the best filling is worth %g", seed, found, bound, most)
				}
			}
		}
	}
}

// pricerOf prices fillings of a problem's bins.
func pricerOf(p *problem.Problem) *pricer {
	c := compact.Compile(p)
	c.ListRows()
	return newPricer(c)
}

// drawn is a few rows of pods and bins of two resources.
func drawn(r *rand.Rand) *problem.Problem {
	p := &problem.Problem{}
	rows := 1 + r.IntN(6)
	for range rows {
		p.Items = append(p.Items, problem.Item{Count: 1 + r.IntN(5), Request: []int64{5 + r.Int64N(40), 5 + r.Int64N(40)}})
	}
	takes := bits.New(rows)
	for i := range rows {
		takes.Add(i)
	}
	for range 1 + r.IntN(2) {
		p.Bins = append(p.Bins, problem.Bin{Price: 50 + r.Int64N(50), Free: []int64{30 + r.Int64N(150), 30 + r.Int64N(150)}, Takes: takes, Most: -1})
	}
	if r.IntN(3) == 0 {
		trigger, counted := bits.New(rows), bits.New(rows)
		for i := range rows {
			if r.IntN(2) == 0 {
				trigger.Add(i)
			}
			if r.IntN(2) == 0 {
				counted.Add(i)
			}
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: trigger, Counted: counted, Most: 1 + r.IntN(3)})
	}
	return p
}

// mostWorth tries all fillings with pods of the rows from x on.
func mostWorth(pr *pricer, kn *knapsack, v []float64, x int) float64 {
	if x == 0 {
		pr.open.Open(kn.b)
	}
	if x == len(v) {
		return 0
	}
	row := kn.b.Rows[x]
	most := mostWorth(pr, kn, v, x+1)
	if x == 0 {
		pr.open.Open(kn.b)
	}
	n := pr.open.Capacity(row, int32(kn.u[x]))
	for q := int32(1); q <= n; q++ {
		pr.open.Put(row, 1)
		most = max(most, float64(q)*v[x]+mostWorth(pr, kn, v, x+1))
	}
	pr.open.Put(row, -n)
	return most
}

// TestFillingUpTakesAgainAndAgainWhatLosesLeast compares with a search that looks at all rows each time.
func TestFillingUpTakesAgainAndAgainWhatLosesLeast(t *testing.T) {
	for seed := range uint64(2000) {
		p := drawn(rand.New(rand.NewPCG(seed, 2)))
		var nows [2][]int32
		var works [2]int64
		for way := range nows {
			r, pr := rand.New(rand.NewPCG(seed, 3)), pricerOf(p)
			for b := range pr.c.Bins {
				kn := pr.knapsackOf(b)
				v := pr.value[:len(kn.b.Rows)]
				for x := range v {
					v[x] = math.Round(10*r.Float64()) - 1 // some are equal, and some worth nothing
				}
				pr.relax(kn, v)
				s := &pr.search
				s.begin(pr, kn, v)
				s.empty()
				if seed%2 == 0 {
					s.roundDown(kn)
				}
				if way == 0 {
					s.fillUp(kn.lam)
				} else {
					fillUpSlowly(s, kn.lam)
				}
				nows[way] = append(nows[way], s.now...)
			}
			works[way] = pr.work
		}
		if !slices.Equal(nows[0], nows[1]) || works[0] != works[1] {
			t.Fatalf("seed %d: %v for %d, slowly %v for %d", seed, nows[0], works[0], nows[1], works[1])
		}
	}
}

func fillUpSlowly(s *branchAndBound, lam []float64) {
	for {
		at, best, count := -1, 0.0, int32(0)
		for x, v := range s.v {
			if v <= 0 || s.now[x] >= int32(s.kn.u[x]) {
				continue
			}
			q := s.p.open.Capacity(s.kn.b.Rows[x], int32(s.kn.u[x])-s.now[x])
			if d := v / (float64(1e-6*v) + capacity(s.kn, lam, x)); q > 0 && d > best {
				at, best, count = x, d, q
			}
		}
		s.p.work += int64(len(s.v) * (s.p.c.NumResources + 2))
		if at < 0 {
			return
		}
		s.put(int32(at), count)
	}
}
