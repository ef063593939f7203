package optimise_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
)

// small is a random problem with a few pods and bins, and everything that there can be.
func small(r *rand.Rand) *problem.Problem {
	n := 1 + r.IntN(4)
	p := &problem.Problem{Items: make([]problem.Item, n)}
	for i := range p.Items {
		p.Items[i].Request = []int64{int64(r.IntN(6)), int64(r.IntN(5)), 1}
	}
	for range 1 + r.IntN(6) {
		p.Items[r.IntN(n)].Count++
	}
	some := func(of int) bits.Set {
		s := bits.New(n)
		for i := range n {
			if r.IntN(of) > 0 {
				s.Add(i)
			}
		}
		return s
	}
	for range r.IntN(3) * r.IntN(2) {
		a := some(2)
		b := a
		if r.IntN(2) == 0 {
			b = some(2)
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: a, Counted: b, Most: r.IntN(3)})
	}
	for range 1 + r.IntN(5) {
		b := problem.Bin{Price: int64(1 + r.IntN(40)), Takes: some(5), Most: -1}
		b.Free = []int64{int64(r.IntN(14)), int64(r.IntN(12)), int64(1 + r.IntN(6))}
		if r.IntN(4) == 0 {
			b.Most = r.IntN(3)
			b.Price *= int64(r.IntN(2))
		}
		if len(p.Rules) > 0 && r.IntN(4) == 0 {
			b.Before = []problem.Before{{Rule: r.IntN(len(p.Rules)), Triggers: r.IntN(2) == 0, Counted: r.IntN(2)}}
		}
		p.Bins = append(p.Bins, b)
	}
	for range r.IntN(2) * r.IntN(2) {
		l := problem.Limit{Most: int64(r.IntN(12))}
		for range p.Bins {
			l.Amount = append(l.Amount, int64(r.IntN(5)))
		}
		p.Limits = append(p.Limits, l)
	}
	for range r.IntN(2) * r.IntN(4) {
		p.Penalties = append(p.Penalties, problem.Penalty{Item: r.IntN(n), Bin: r.IntN(len(p.Bins)), Price: int64(r.IntN(15))})
	}
	if r.IntN(3) == 0 { // room for a part of what all requests are multiples of
		for i := range p.Items {
			p.Items[i].Request[0] *= 3
		}
		for i := range p.Bins {
			p.Bins[i].Free[0] = 3*p.Bins[i].Free[0] + int64(r.IntN(3))
		}
	}
	return p
}

// exhaustive finds the fewest pods left, and the least cost with that, by trying everything.
type exhaustive struct {
	p     *problem.Problem
	pods  []int
	open  []optimise.Pattern
	left  int
	cost  int64
	least struct {
		left int
		cost int64
	}
}

func optimum(p *problem.Problem) (left int, cost int64) {
	e := &exhaustive{p: p}
	for i, it := range p.Items {
		for range it.Count {
			e.pods = append(e.pods, i)
		}
	}
	e.least.left, e.least.cost = len(e.pods), 0
	e.place(0)
	return e.least.left, e.least.cost
}

func (e *exhaustive) place(at int) {
	if e.left > e.least.left || e.left == e.least.left && e.cost >= e.least.cost && e.least.left < len(e.pods) {
		return
	}
	if at == len(e.pods) {
		if e.left < e.least.left || e.left == e.least.left && e.cost < e.least.cost {
			e.least.left, e.least.cost = e.left, e.cost
		}
		return
	}
	i := e.pods[at]
	for k := range e.open {
		e.into(k, i, at)
	}
	for b := range e.p.Bins {
		e.open = append(e.open, optimise.Pattern{Bin: b, Copies: 1})
		if e.within() {
			e.cost += e.p.Bins[b].Price
			e.into(len(e.open)-1, i, at)
			e.cost -= e.p.Bins[b].Price
		}
		e.open = e.open[:len(e.open)-1]
	}
	e.left++
	e.place(at + 1)
	e.left--
}

// within says that the open bins are within limits.
func (e *exhaustive) within() bool {
	used := make([]int, len(e.p.Bins))
	for _, x := range e.open {
		used[x.Bin]++
		if m := e.p.Bins[x.Bin].Most; m >= 0 && used[x.Bin] > m {
			return false
		}
	}
	for _, l := range e.p.Limits {
		sum := int64(0)
		for _, x := range e.open {
			sum += l.Amount[x.Bin]
		}
		if sum > l.Most {
			return false
		}
	}
	return true
}

func (e *exhaustive) into(k, i, at int) {
	x := &e.open[k]
	old := x.Counts
	x.Counts = slices.Clone(old)
	if n := slices.IndexFunc(x.Counts, func(c optimise.Count) bool { return c.Item == i }); n >= 0 {
		x.Counts[n].Pods++
	} else {
		x.Counts = append(x.Counts, optimise.Count{Item: i, Pods: 1})
	}
	slices.SortFunc(x.Counts, func(a, b optimise.Count) int { return a.Item - b.Item })
	if checkBin(e.p, *x) == "" {
		extra := int64(0)
		for _, y := range e.p.Penalties {
			if y.Item == i && y.Bin == x.Bin {
				extra += y.Price
			}
		}
		e.cost += extra
		e.place(at + 1)
		e.cost -= extra
	}
	e.open[k].Counts = old
}

func TestSmallProblemsAreSolvedToTheOptimum(t *testing.T) {
	cases := 1500
	if n, err := strconv.Atoi(os.Getenv("KERF_CASES")); err == nil {
		cases = n
	}
	missed := 0
	for seed := range cases {
		p := small(rand.New(rand.NewPCG(uint64(seed), 2)))
		s := optimise.Solve(p)
		if bad := check(p, s); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
		left, cost := optimum(p)
		got := 0
		for _, n := range s.Left {
			got += n
		}
		switch {
		case got < left || got == left && s.Cost < cost || s.Bound > cost:
			t.Fatalf("seed %d: left %d, cost %d, bound %d is below what is possible: %d, %d", seed, got, s.Cost, s.Bound, left, cost)
		case got != left || s.Cost != cost:
			missed++
			t.Logf("seed %d: left %d, cost %d, not %d, %d (%d limits)", seed, got, s.Cost, left, cost, len(p.Limits))
		case left == 0 && len(p.Limits) == 0 && (s.Bound != cost || s.BoundKind != optimise.KindExact):
			t.Errorf("seed %d: the bound of %d is %d (%v)", seed, cost, s.Bound, s.BoundKind)
		}
	}
	if missed*100 > cases {
		t.Errorf("%d of %d problems have a better answer", missed, cases)
	}
}

func TestBoundIsNeverAboveTheOptimum(t *testing.T) {
	cases := 1500
	if n, err := strconv.Atoi(os.Getenv("KERF_CASES")); err == nil {
		cases = n
	}
	missed, sum, alone := 0, 0.0, 0.0
	for seed := range cases {
		p := small(rand.New(rand.NewPCG(uint64(seed), 2)))
		s := optimise.SolveWithoutExact(p)
		if bad := check(p, s); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
		left, cost := optimum(p)
		got := 0
		for _, n := range s.Left {
			got += n
		}
		if got < left || got == left && s.Cost < cost || got == left && s.Bound > cost {
			t.Fatalf("seed %d: left %d, cost %d, bound %d (%v); the optimum is %d, %d", seed, got, s.Cost, s.Bound, s.BoundKind, left, cost)
		}
		if got != left || s.Cost != cost {
			missed++
		}
		if left == 0 && cost > 0 {
			sum += float64(s.Bound) / float64(cost)
		}
		p.BoundOnly, p.GapTarget = true, float64(seed%3)/100
		if b := optimise.SolveWithoutExact(p).Bound; left == 0 && b > cost {
			t.Fatalf("seed %d: the bound alone is %d, and the optimum %d", seed, b, cost)
		} else if left == 0 && cost > 0 {
			alone += float64(b) / float64(cost)
		}
		p.Known = cost + int64(seed%4)
		if b := optimise.SolveWithoutExact(p).Bound; left == 0 && b > cost {
			t.Fatalf("seed %d: with a plan of %d known the bound is %d, and the optimum %d", seed, p.Known, b, cost)
		}
	}
	t.Logf("%d of %d have a better answer; bounds are %.3f of the optimum, and %.3f without a search for answers", missed, cases,
		sum/float64(cases), alone/float64(cases))
	if alone < 0.97*sum {
		t.Errorf("a bound alone is %.3f of the optimum, and one with an answer %.3f", alone/float64(cases), sum/float64(cases))
	}
	if missed*5 > cases {
		t.Errorf("%d of %d problems have a better answer", missed, cases)
	}
}
