package optimise_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/bits"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/optimise/problem"
	"github.com/kerf-dev/kerf/services/planner/optimise/problemtest"
)

func set(n int, members ...int) bits.Set {
	s := bits.New(n)
	for _, i := range members {
		s.Add(i)
	}
	return s
}

func Bin(price int64, most int, takes bits.Set, free ...int64) problem.Bin {
	return problem.Bin{Price: price, Free: free, Takes: takes, Most: most}
}

func items(counts ...int) []problem.Item {
	out := make([]problem.Item, len(counts))
	for i, n := range counts {
		out[i] = problem.Item{Count: n, Request: []int64{int64(i + 1), 1}}
	}
	return out
}

func TestNoBinIsOverfilledByRequestsThatAreLarge(t *testing.T) {
	const gib = 1 << 30
	p := problem.Problem{Bins: []problem.Bin{Bin(10, -1, problemtest.All(4), 8*gib, 10)}}
	for _, memory := range []int64{7, 6, 5, 3} {
		p.Items = append(p.Items, problem.Item{Count: 10, Request: []int64{memory * gib, 1}})
	}
	for _, work := range []int64{-1, 0} { // the greedy search alone, and all of it
		p.Work = work
		if s := optimise.Solve(&p); s.Cost != 300 || slices.Max(s.Left) > 0 {
			t.Errorf("work %d: cost %d with %v left, want 300 with none left", work, s.Cost, s.Left)
		}
	}
}

func TestSolve(t *testing.T) {
	for name, tc := range map[string]struct {
		p     problem.Problem
		cost  int64
		left  int
		bound int64
	}{
		"nothing costs nothing": {p: problem.Problem{}},
		"two small bins beat one large": {
			p:    problem.Problem{Items: items(4), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 2, 9), Bin(25, -1, problemtest.All(1), 4, 9)}},
			cost: 20, bound: 20,
		},
		"one large bin beats two small": {
			p:    problem.Problem{Items: items(4), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 2, 9), Bin(15, -1, problemtest.All(1), 4, 9)}},
			cost: 15, bound: 15,
		},
		"a bin that exists comes first": {
			p:    problem.Problem{Items: items(3), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 2, 9), Bin(0, 1, problemtest.All(1), 1, 1)}},
			cost: 10, bound: 10,
		},
		"a pod that fits nothing is left, and there is no bound": {
			p:    problem.Problem{Items: items(1, 1), Bins: []problem.Bin{Bin(10, -1, problemtest.All(2), 1, 9)}},
			cost: 10, left: 1,
		},
		"a bin that does not take an item does not get it": {
			p:    problem.Problem{Items: items(1, 1), Bins: []problem.Bin{Bin(10, -1, set(2, 0), 9, 9), Bin(99, -1, problemtest.All(2), 9, 9)}},
			cost: 99, bound: 99,
		},
		"pods that avoid their like get a bin each": {
			p: problem.Problem{
				Items: items(3), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 9, 9)},
				Rules: []problem.Rule{{Trigger: problemtest.All(1), Counted: problemtest.All(1), Most: 1}},
			},
			cost: 30, bound: 30,
		},
		"what is on a bin already counts": {
			p: problem.Problem{
				Items: items(3), Rules: []problem.Rule{{Trigger: problemtest.All(1), Counted: problemtest.All(1), Most: 2}},
				Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 9, 9), {
					Free: []int64{9, 9}, Takes: problemtest.All(1), Most: 1, Before: []problem.Before{{Rule: 0, Triggers: true, Counted: 1}},
				}},
			},
			cost: 10, bound: 10,
		},
		"a pod may keep others away that have no rule about each other": {
			p: problem.Problem{
				Items: items(1, 2), Bins: []problem.Bin{Bin(10, -1, problemtest.All(2), 9, 9)},
				Rules: []problem.Rule{{Trigger: set(2, 0), Counted: set(2, 1), Most: 0}},
			},
			cost: 20, bound: 20,
		},
		"a limit sends pods to the more expensive bin": {
			p: problem.Problem{
				Items: items(4), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 2, 9), Bin(15, -1, problemtest.All(1), 2, 9)},
				Limits: []problem.Limit{{Amount: []int64{1, 0}, Most: 1}},
			},
			cost: 25, bound: 25,
		},
		"a limit leaves pods": {
			p: problem.Problem{
				Items: items(4), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 2, 9)},
				Limits: []problem.Limit{{Amount: []int64{1}, Most: 1}},
			},
			cost: 10, left: 2,
		},
		"a penalty may cost more than a bin": {
			p: problem.Problem{
				Items: items(1), Bins: []problem.Bin{Bin(10, -1, problemtest.All(1), 2, 9), Bin(15, -1, problemtest.All(1), 2, 9)},
				Penalties: []problem.Penalty{{Item: 0, Bin: 0, Price: 7}},
			},
			cost: 15, bound: 15,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := optimise.Solve(&tc.p)
			if bad := check(&tc.p, s); bad != "" {
				t.Fatal(bad)
			}
			left := 0
			for _, n := range s.Left {
				left += n
			}
			if s.Cost != tc.cost || left != tc.left || s.Bound != tc.bound {
				t.Errorf("cost %d, left %d, bound %d (%v); want %d, %d, %d", s.Cost, left, s.Bound, s.BoundKind, tc.cost, tc.left, tc.bound)
			}
		})
	}
}

// mixed is a random problem of middle size with everything that there can be.
func mixed(r *rand.Rand) *problem.Problem {
	n := 5 + r.IntN(30)
	p := generated(200+r.IntN(2000), n, r.Uint64())
	for range r.IntN(4) {
		a, b := bits.New(n), bits.New(n)
		for range 1 + r.IntN(4) {
			a.Add(r.IntN(n))
			b.Add(r.IntN(n))
		}
		if r.IntN(2) == 0 {
			b = a
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: a, Counted: b, Most: r.IntN(4)})
	}
	for b := range p.Bins {
		x := &p.Bins[b]
		switch r.IntN(20) {
		case 0:
			x.Most = r.IntN(4)
		case 1:
			x.Price, x.Most = 0, 1
			if len(p.Rules) > 0 {
				x.Before = []problem.Before{{Rule: r.IntN(len(p.Rules)), Triggers: true, Counted: r.IntN(3)}}
			}
		case 2:
			x.Takes = slices.Clone(x.Takes)
			x.Takes[0] &^= r.Uint64()
		case 3:
			p.Penalties = append(p.Penalties, problem.Penalty{Item: r.IntN(n), Bin: b, Price: r.Int64N(100_000)})
		}
	}
	if r.IntN(2) == 0 {
		l := problem.Limit{Most: int64(20_000 + r.IntN(2_000_000))}
		for _, b := range p.Bins {
			l.Amount = append(l.Amount, b.Free[0])
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

func TestEveryAnswerKeepsTheRulesAndItsBound(t *testing.T) {
	for seed := range 60 {
		p := mixed(rand.New(rand.NewPCG(uint64(seed), 3)))
		s := optimise.Solve(p)
		if bad := check(p, s); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
		p.Work = -1
		if g := optimise.Solve(p); slices.Equal(g.Left, s.Left) && g.Cost < s.Cost {
			t.Errorf("seed %d: the greedy search finds %d, which is less than %d", seed, g.Cost, s.Cost)
		}
	}
}

func TestOrderOfItemsAndBinsDoesNotMatter(t *testing.T) {
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		p := mixed(r)
		s := optimise.Solve(p)
		items, bins := r.Perm(len(p.Items)), r.Perm(len(p.Bins))
		q := shuffled(p, items, bins)
		u := optimise.Solve(q)
		if bad := check(q, u); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
		if s.Cost != u.Cost || s.Bound != u.Bound || !slices.Equal(shape(p, s), shape(q, u)) {
			t.Errorf("seed %d: cost %d and bound %d become %d and %d when the lists are shuffled", seed, s.Cost, s.Bound, u.Cost, u.Bound)
		}
	}
}

// shuffled is the same problem with other numbers for items and bins.
func shuffled(p *problem.Problem, items, bins []int) *problem.Problem {
	q := &problem.Problem{Work: p.Work, GapTarget: p.GapTarget}
	place := make([]int, len(items))
	for n, i := range items {
		q.Items = append(q.Items, p.Items[i])
		place[i] = n
	}
	move := func(s bits.Set) bits.Set {
		out := bits.New(len(items))
		for i := range items {
			if s.Has(i) {
				out.Add(place[i])
			}
		}
		return out
	}
	binPlace := make([]int, len(bins))
	for n, b := range bins {
		x := p.Bins[b]
		x.Takes = move(x.Takes)
		q.Bins = append(q.Bins, x)
		binPlace[b] = n
	}
	for _, x := range p.Rules {
		q.Rules = append(q.Rules, problem.Rule{Trigger: move(x.Trigger), Counted: move(x.Counted), Most: x.Most})
	}
	for _, l := range p.Limits {
		m := problem.Limit{Most: l.Most}
		for _, b := range bins {
			m.Amount = append(m.Amount, l.Amount[b])
		}
		q.Limits = append(q.Limits, m)
	}
	for _, x := range p.Penalties {
		q.Penalties = append(q.Penalties, problem.Penalty{Item: place[x.Item], Bin: binPlace[x.Bin], Price: x.Price})
	}
	return q
}

// shape is a solution without the numbers of items and bins: what each pattern costs and holds, sorted.
func shape(p *problem.Problem, s optimise.Solution) []string {
	byShape := make(map[string]int)
	for _, x := range s.Patterns {
		b := p.Bins[x.Bin]
		key := strconv.FormatInt(b.Price, 10)
		for _, f := range b.Free {
			key += " " + strconv.FormatInt(f, 10)
		}
		var held []string
		for _, c := range x.Counts {
			for range c.Pods {
				h := ""
				for _, q := range p.Items[c.Item].Request {
					h += " " + strconv.FormatInt(q, 10)
				}
				held = append(held, h)
			}
		}
		slices.Sort(held)
		for _, h := range held {
			key += h
		}
		byShape[key] += x.Copies
	}
	var out []string
	for k, n := range byShape {
		out = append(out, k+" x"+strconv.Itoa(n))
	}
	slices.Sort(out)
	return out
}

func TestSameProblemSameAnswer(t *testing.T) {
	p := generated(3000, 40, 5)
	a := optimise.Solve(p)
	for range 3 {
		if b := optimise.Solve(p); !slices.Equal(shape(p, a), shape(p, b)) || a.Cost != b.Cost || a.Bound != b.Bound || a.Work != b.Work {
			t.Fatal("two runs differ")
		}
	}
}

func TestStopEndsTheSearchWithAWholeAnswer(t *testing.T) {
	for asked := range 40 {
		p := generated(5000, 60, 6)
		n := 0
		p.Stop = func() bool { n++; return n > asked }
		s := optimise.Solve(p)
		if bad := check(p, s); bad != "" {
			t.Fatal(bad)
		}
		if slices.Max(s.Left) > 0 {
			t.Fatalf("stopped after %d questions, pods are left", asked)
		}
	}
}

func TestWhatIsDroppedEndsAtOnceAndClaimsNothing(t *testing.T) {
	for asked := range 40 {
		p := generated(5000, 60, 6)
		n := 0
		p.Stop, p.Drop = func() bool { n++; return n > asked }, true
		s := optimise.Solve(p)
		if bad := check(p, s); bad != "" {
			t.Fatal(bad)
		}
		if asked == 0 && s.Work.Total() > 1_000_000 {
			t.Errorf("dropped at once, worked %+v", s.Work)
		}
		if slices.Max(s.Left) > 0 && s.Bound != 0 {
			t.Errorf("dropped after %d questions, pods are left, and there is a bound", asked)
		}
	}
}

func TestMoreWorkIsNotWorse(t *testing.T) {
	last := int64(math.MaxInt64)
	for _, w := range []int64{-1, 1, 5_000_000, 50_000_000} {
		p := generated(4000, 40, 8)
		p.Work = w
		s := optimise.Solve(p)
		if s.Cost > last {
			t.Errorf("with work %d the cost is %d, not %d", w, s.Cost, last)
		}
		last = s.Cost
	}
}

// TestABoundThatGoesOnFromASimplerProblemsKnowsWhatIsScarce compares the bound with a packing, where there are too many
// rows for the programme of a bound alone and half of the demand would go to bins that are nearly free if there were
// more of them.
func TestABoundThatGoesOnFromASimplerProblemsKnowsWhatIsScarce(t *testing.T) {
	const seed = 2
	r := rand.New(rand.NewPCG(seed, 5))
	p := generated(400, 30, r.Uint64())
	for i, it := range p.Items[:30:30] { // pods of four apps, each of which must be apart
		p.Items[i].Count = max(1, it.Count/5)
		for range 4 {
			p.Items = append(p.Items, p.Items[i])
		}
	}
	for b := range p.Bins {
		p.Bins[b].Takes = problemtest.All(len(p.Items))
	}
	for app := range 4 {
		of := bits.New(len(p.Items))
		for i := 30 + app; i < len(p.Items); i += 4 {
			of.Add(i)
		}
		p.Rules = append(p.Rules, problem.Rule{Trigger: of, Counted: of, Most: 1 + app})
	}
	for b := range 3 {
		scarce := p.Bins[len(p.Bins)/2+b]
		scarce.Price, scarce.Most = scarce.Price/20, 10
		p.Bins = append(p.Bins, scarce)
	}
	s := optimise.Solve(p)
	if bad := check(p, s); bad != "" {
		t.Fatal(bad)
	}
	alone := *p
	alone.BoundOnly, alone.Known, alone.Work = true, s.Cost, 3_000_000_000
	b := optimise.Solve(&alone)
	if b.Bound > s.Cost || b.Bound < s.Cost/2 {
		t.Errorf("a packing costs %d, and the bound is %d (%v)", s.Cost, b.Bound, b.BoundKind)
	}
}

// TestABoundThatGoesOnFromASimplerProblemsIsOfThatProblem compares it with a packing, of many apps with a pod or two
// each, which must be apart: to settle the simpler problem, whose rows are few, parts of it are priced, too.
func TestABoundThatGoesOnFromASimplerProblemsIsOfThatProblem(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 79))
	rows := 130 + r.IntN(30)
	p := &problem.Problem{}
	requests := make([][]int64, 1+r.IntN(8))
	for k := range requests {
		requests[k] = []int64{300 + r.Int64N(3000), 500 + r.Int64N(6500)}
	}
	for i := range rows {
		p.Items = append(p.Items, problem.Item{Request: requests[r.IntN(len(requests))], Count: 1 + r.IntN(2)})
		of := set(rows, i)
		p.Rules = append(p.Rules, problem.Rule{Trigger: of, Counted: of, Most: 1})
	}
	for k := range 3 {
		f := int64(1) << (2 * k)
		p.Bins = append(p.Bins, Bin(1000*f-60*f*int64(k)+r.Int64N(100), -1, problemtest.All(rows), 4000*f, 8000*f))
	}
	s := optimise.Solve(p)
	p.BoundOnly, p.Known = true, s.Cost
	if b := optimise.Solve(p); b.Bound > s.Cost || b.Bound < s.Bound {
		t.Errorf("a packing costs %d, its own bound is %d, and the bound alone %d (%v)", s.Cost, s.Bound, b.Bound, b.BoundKind)
	}
}
