package optimise_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/optimise"
)

func all(n int) optimise.Set {
	s := optimise.NewSet(n)
	for i := range n {
		s.Add(i)
	}
	return s
}

func set(n int, members ...int) optimise.Set {
	s := optimise.NewSet(n)
	for _, i := range members {
		s.Add(i)
	}
	return s
}

func bin(price int64, most int, takes optimise.Set, free ...int64) optimise.Bin {
	return optimise.Bin{Price: price, Free: free, Takes: takes, Most: most}
}

func items(counts ...int) []optimise.Item {
	out := make([]optimise.Item, len(counts))
	for i, n := range counts {
		out[i] = optimise.Item{Count: n, Request: []int64{int64(i + 1), 1}}
	}
	return out
}

func TestSolve(t *testing.T) {
	for name, tc := range map[string]struct {
		p     optimise.Problem
		cost  int64
		left  int
		bound int64
	}{
		"nothing costs nothing": {p: optimise.Problem{}},
		"two small bins beat one large": {
			p:    optimise.Problem{Items: items(4), Bins: []optimise.Bin{bin(10, -1, all(1), 2, 9), bin(25, -1, all(1), 4, 9)}},
			cost: 20, bound: 20,
		},
		"one large bin beats two small": {
			p:    optimise.Problem{Items: items(4), Bins: []optimise.Bin{bin(10, -1, all(1), 2, 9), bin(15, -1, all(1), 4, 9)}},
			cost: 15, bound: 15,
		},
		"a bin that exists comes first": {
			p:    optimise.Problem{Items: items(3), Bins: []optimise.Bin{bin(10, -1, all(1), 2, 9), bin(0, 1, all(1), 1, 1)}},
			cost: 10, bound: 10,
		},
		"a pod that fits nothing is left, and there is no bound": {
			p:    optimise.Problem{Items: items(1, 1), Bins: []optimise.Bin{bin(10, -1, all(2), 1, 9)}},
			cost: 10, left: 1,
		},
		"a bin that does not take an item does not get it": {
			p:    optimise.Problem{Items: items(1, 1), Bins: []optimise.Bin{bin(10, -1, set(2, 0), 9, 9), bin(99, -1, all(2), 9, 9)}},
			cost: 99, bound: 99,
		},
		"pods that avoid their like get a bin each": {
			p: optimise.Problem{
				Items: items(3), Bins: []optimise.Bin{bin(10, -1, all(1), 9, 9)},
				Rules: []optimise.Rule{{Trigger: all(1), Counted: all(1), Most: 1}},
			},
			cost: 30, bound: 30,
		},
		"what is on a bin already counts": {
			p: optimise.Problem{
				Items: items(3), Rules: []optimise.Rule{{Trigger: all(1), Counted: all(1), Most: 2}},
				Bins: []optimise.Bin{bin(10, -1, all(1), 9, 9), {
					Free: []int64{9, 9}, Takes: all(1), Most: 1, Before: []optimise.Before{{Rule: 0, Triggers: true, Counted: 1}},
				}},
			},
			cost: 10, bound: 10,
		},
		"a pod may keep others away that do not mind each other": {
			p: optimise.Problem{
				Items: items(1, 2), Bins: []optimise.Bin{bin(10, -1, all(2), 9, 9)},
				Rules: []optimise.Rule{{Trigger: set(2, 0), Counted: set(2, 1), Most: 0}},
			},
			cost: 20, bound: 20,
		},
		"a limit sends pods to the dearer bin": {
			p: optimise.Problem{
				Items: items(4), Bins: []optimise.Bin{bin(10, -1, all(1), 2, 9), bin(15, -1, all(1), 2, 9)},
				Limits: []optimise.Limit{{Amount: []int64{1, 0}, Most: 1}},
			},
			cost: 25, bound: 25,
		},
		"a limit leaves pods": {
			p: optimise.Problem{
				Items: items(4), Bins: []optimise.Bin{bin(10, -1, all(1), 2, 9)},
				Limits: []optimise.Limit{{Amount: []int64{1}, Most: 1}},
			},
			cost: 10, left: 2,
		},
		"a penalty may be dearer than a bin": {
			p: optimise.Problem{
				Items: items(1), Bins: []optimise.Bin{bin(10, -1, all(1), 2, 9), bin(15, -1, all(1), 2, 9)},
				Penalties: []optimise.Penalty{{Item: 0, Bin: 0, Price: 7}},
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

// small is a random problem with a few pods and bins, and everything that there can be.
func small(r *rand.Rand) *optimise.Problem {
	n := 1 + r.IntN(4)
	p := &optimise.Problem{Items: make([]optimise.Item, n)}
	for i := range p.Items {
		p.Items[i].Request = []int64{int64(r.IntN(6)), int64(r.IntN(5)), 1}
	}
	for range 1 + r.IntN(6) {
		p.Items[r.IntN(n)].Count++
	}
	some := func(of int) optimise.Set {
		s := optimise.NewSet(n)
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
		p.Rules = append(p.Rules, optimise.Rule{Trigger: a, Counted: b, Most: r.IntN(3)})
	}
	for range 1 + r.IntN(5) {
		b := optimise.Bin{Price: int64(1 + r.IntN(40)), Takes: some(5), Most: -1}
		b.Free = []int64{int64(r.IntN(14)), int64(r.IntN(12)), int64(1 + r.IntN(6))}
		if r.IntN(4) == 0 {
			b.Most = r.IntN(3)
			b.Price *= int64(r.IntN(2))
		}
		if len(p.Rules) > 0 && r.IntN(4) == 0 {
			b.Before = []optimise.Before{{Rule: r.IntN(len(p.Rules)), Triggers: r.IntN(2) == 0, Counted: r.IntN(2)}}
		}
		p.Bins = append(p.Bins, b)
	}
	for range r.IntN(2) * r.IntN(2) {
		l := optimise.Limit{Most: int64(r.IntN(12))}
		for range p.Bins {
			l.Amount = append(l.Amount, int64(r.IntN(5)))
		}
		p.Limits = append(p.Limits, l)
	}
	for range r.IntN(2) * r.IntN(4) {
		p.Penalties = append(p.Penalties, optimise.Penalty{Item: r.IntN(n), Bin: r.IntN(len(p.Bins)), Price: int64(r.IntN(15))})
	}
	return p
}

// exhaustive finds the fewest pods left, and the least cost with that, by trying everything.
type exhaustive struct {
	p     *optimise.Problem
	pods  []int
	open  []optimise.Pattern
	left  int
	cost  int64
	least struct {
		left int
		cost int64
	}
}

func optimum(p *optimise.Problem) (left int, cost int64) {
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

// mixed is a random problem of middle size with everything that there can be.
func mixed(r *rand.Rand) *optimise.Problem {
	n := 5 + r.IntN(30)
	p := generated(200+r.IntN(2000), n, r.Uint64())
	for range r.IntN(4) {
		a, b := optimise.NewSet(n), optimise.NewSet(n)
		for range 1 + r.IntN(4) {
			a.Add(r.IntN(n))
			b.Add(r.IntN(n))
		}
		if r.IntN(2) == 0 {
			b = a
		}
		p.Rules = append(p.Rules, optimise.Rule{Trigger: a, Counted: b, Most: r.IntN(4)})
	}
	for b := range p.Bins {
		x := &p.Bins[b]
		switch r.IntN(20) {
		case 0:
			x.Most = r.IntN(4)
		case 1:
			x.Price, x.Most = 0, 1
			if len(p.Rules) > 0 {
				x.Before = []optimise.Before{{Rule: r.IntN(len(p.Rules)), Triggers: true, Counted: r.IntN(3)}}
			}
		case 2:
			x.Takes = slices.Clone(x.Takes)
			x.Takes[0] &^= r.Uint64()
		case 3:
			p.Penalties = append(p.Penalties, optimise.Penalty{Item: r.IntN(n), Bin: b, Price: r.Int64N(100_000)})
		}
	}
	if r.IntN(2) == 0 {
		l := optimise.Limit{Most: int64(20_000 + r.IntN(2_000_000))}
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
func shuffled(p *optimise.Problem, items, bins []int) *optimise.Problem {
	q := &optimise.Problem{Work: p.Work, GapTarget: p.GapTarget}
	place := make([]int, len(items))
	for n, i := range items {
		q.Items = append(q.Items, p.Items[i])
		place[i] = n
	}
	move := func(s optimise.Set) optimise.Set {
		out := optimise.NewSet(len(items))
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
		q.Rules = append(q.Rules, optimise.Rule{Trigger: move(x.Trigger), Counted: move(x.Counted), Most: x.Most})
	}
	for _, l := range p.Limits {
		m := optimise.Limit{Most: l.Most}
		for _, b := range bins {
			m.Amount = append(m.Amount, l.Amount[b])
		}
		q.Limits = append(q.Limits, m)
	}
	for _, x := range p.Penalties {
		q.Penalties = append(q.Penalties, optimise.Penalty{Item: place[x.Item], Bin: binPlace[x.Bin], Price: x.Price})
	}
	return q
}

// shape is a solution without the numbers of items and bins: what each pattern costs and holds, sorted.
func shape(p *optimise.Problem, s optimise.Solution) []string {
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
