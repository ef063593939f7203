package knapsack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

// TestNoFillingIsWorthMoreThanTheBranchingSays compares fillings of small bins, some of them under a rule, with all
// that there are.
func TestNoFillingIsWorthMoreThanTheBranchingSays(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := problemtest.Unequal(r)
		pk := packerOf(p)
		for b := range pk.c.Bins {
			kn := pk.stateOf(b)
			v := pk.value[:len(kn.b.Rows)]
			for x := range v {
				v[x] = math.Round(100 * r.Float64())
			}
			pk.relax(kn, v)
			upper := pk.upper(kn, v)
			most := mostWorth(pk, kn, v)
			for _, nodes := range []int{1, 5, 100_000} {
				f := Knapsack{pk, kn, v}.Fill(upper, 0, Limit{Relaxations: nodes, Work: 1 << 40})
				bound, found := f.Most, 0.0
				pk.open.Open(kn.b)
				for x, q := range f.Fillings[0].Counts {
					if pk.open.Capacity(kn.b.Rows[x], q) < q {
						t.Fatalf("seed %d: the filling has %d pods of row %d, which do not fit", seed, q, x)
					}
					pk.open.Put(kn.b.Rows[x], q)
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

// packerOf fills a problem's bins.
func packerOf(p *problem.Problem) *Packer {
	c := compact.Compile(p)
	c.ListRows()
	return New(c)
}

// mostWorth is what the best filling of a packer's bin is worth.
func mostWorth(pk *Packer, kn *state, v []float64) float64 {
	return problemtest.MostWorth(pk.c, kn.b, func(x int) float64 { return v[x] })
}

// TestFillingUpTakesAgainAndAgainWhatLosesLeast compares with a search that looks at all rows each time.
func TestFillingUpTakesAgainAndAgainWhatLosesLeast(t *testing.T) {
	for seed := range uint64(2000) {
		p := problemtest.Unequal(rand.New(rand.NewPCG(seed, 2)))
		var nows [2][]int32
		var works [2]int64
		for way := range nows {
			r, pk := rand.New(rand.NewPCG(seed, 3)), packerOf(p)
			for b := range pk.c.Bins {
				kn := pk.stateOf(b)
				v := pk.value[:len(kn.b.Rows)]
				for x := range v {
					v[x] = math.Round(10*r.Float64()) - 1 // some are equal, and some worth nothing
				}
				pk.relax(kn, v)
				s := &pk.search
				s.begin(pk, kn, v)
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
			works[way] = pk.Work
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
		s.p.Work += int64(len(s.v) * (s.p.c.NumResources + 2))
		if at < 0 {
			return
		}
		s.put(int32(at), count)
	}
}
