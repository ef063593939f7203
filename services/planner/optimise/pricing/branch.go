package pricing

import (
	"cmp"
	"slices"
)

// branchAndBound looks for the best filling of one bin.
type branchAndBound struct {
	p    *pricer
	kn   *knapsack
	v    []float64
	best float64
	// now is the filling at hand by index in rows, top the best; order are the places that may differ from the best.
	now, top []int32
	order    []dense
	// byRatio are places in order, the densest first.
	byRatio []int32
	worth   float64
	// beat is what a filling must be worth more than to be looked for.
	beat  float64
	nodes int
	tol   float64
	done  bool
	steps int
	// largeFirst makes large pods come first.
	largeFirst bool
}

// dense is a place with its value for the price of the capacity that it takes, and what all of its pods take and are worth.
type dense struct {
	ratio, price float64
	all, worth   float64
	x            int32
}

func (s *branchAndBound) begin(p *pricer, kn *knapsack, v []float64) {
	s.p, s.kn, s.v, s.best, s.worth, s.beat, s.tol = p, kn, v, 0, 0, 0, 1e-9*float64(kn.b.Price+1)
	n := len(v)
	if cap(s.now) < n {
		s.now, s.top = make([]int32, p.c.NumRows), make([]int32, p.c.NumRows)
	}
	s.now, s.top = s.now[:n], s.top[:n]
	clear(s.now)
	p.open.Open(kn.b)
}

func (s *branchAndBound) put(x, q int32) {
	s.now[x] += q
	s.worth += float64(float64(q) * s.v[x])
	s.p.open.Put(s.kn.b.Rows[x], q)
}

// roundDown takes the whole pods of the relaxation.
func (s *branchAndBound) roundDown() {
	kn, l := s.kn, s.p.open
	for x := range s.v {
		if kn.up[x] && !kn.in[x] && s.v[x] > 0 {
			if q := l.Capacity(kn.b.Rows[x], int32(kn.u[x])); q > 0 {
				s.put(int32(x), q)
			}
		}
	}
	for i, x := range kn.basis {
		if x >= 0 && s.v[x] > 0 {
			if q := l.Capacity(kn.b.Rows[x], int32(kn.xb[i]+1e-9)); q > 0 {
				s.put(x, q)
			}
		}
	}
	s.p.work += int64(len(s.v))
}

// fillUp adds what still fits, the least loss first.
func (s *branchAndBound) fillUp() {
	kn, p := s.kn, s.p
	for {
		at, best, count := -1, 0.0, int32(0)
		for x, v := range s.v {
			if v <= 0 || s.now[x] >= int32(kn.u[x]) {
				continue
			}
			q := p.open.Capacity(kn.b.Rows[x], int32(kn.u[x])-s.now[x])
			if q == 0 {
				continue
			}
			if d := v / (1e-6*v + s.capacity(x)); d > best {
				at, best, count = x, d, q
			}
		}
		p.work += int64(len(s.v) * (p.c.NumResources + 2))
		if at < 0 {
			return
		}
		s.put(int32(at), count)
	}
}

// capacity is the price of the capacity that a pod takes.
func (s *branchAndBound) capacity(x int) float64 {
	k := s.kn.k
	c := 0.0
	for r, l := range s.kn.lam {
		c += float64(l * s.kn.a[x*k+r])
	}
	return c
}

// record keeps the filling at hand as the best.
func (s *branchAndBound) record() {
	s.best, s.beat = s.worth, max(s.beat, s.worth+s.tol)
	copy(s.top, s.now)
}

// branch searches all fillings that could be worth more, in the order of density, as many nodes as it may.
func (s *branchAndBound) branch(upper float64, nodes int) (exact bool) {
	p, kn := s.p, s.kn
	gap := upper - s.beat + s.tol
	// Rows that take no capacity with a price escape the bound.
	free := false
	p.open.Open(kn.b)
	clear(s.now)
	s.worth, s.order, s.nodes, s.steps = 0, s.order[:0], nodes, 0
	left := 0.0
	for _, l := range kn.lam {
		left += l
	}
	// A row that is worth less than its capacity by more than the gap is in no better filling, and one that is worth more
	// by more than the gap is in every one.
	for x, v := range s.v {
		u := int32(kn.u[x])
		if v <= 0 || u == 0 {
			continue
		}
		c := s.capacity(x)
		if c-v > gap {
			continue
		}
		if v-c > gap {
			if p.open.Capacity(kn.b.Rows[x], u) < u {
				return true
			}
			s.put(int32(x), u)
			left -= float64(c * float64(u))
			continue
		}
		free = free || c < 1e-9*v
		s.order = append(s.order, dense{
			ratio: v / max(c, 1e-9*v), price: c, all: float64(c * float64(u)), worth: float64(v * float64(u)), x: int32(x),
		})
	}
	s.arrange(left)
	p.work += int64(len(s.v)*(p.c.NumResources+2) + 16*len(s.order))
	s.done = !free
	s.visit(0, left)
	p.work += int64((nodes-s.nodes)*(p.c.NumResources+8) + s.steps)
	return s.done
}

// visit tries all counts of the row at a depth, given the price of the capacity that is left.
func (s *branchAndBound) visit(depth int, left float64) {
	if depth == len(s.order) {
		if s.worth > s.beat {
			s.record()
		}
		return
	}
	if s.worth+s.most(depth, left) <= s.beat {
		return
	}
	o := s.order[depth]
	s.nodes--
	if s.nodes < 0 {
		s.done = false
		return
	}
	row := s.kn.b.Rows[o.x]
	q := s.p.open.Capacity(row, int32(s.kn.u[o.x])-s.now[o.x])
	if q > 0 {
		s.put(o.x, q)
	}
	for {
		s.visit(depth+1, left-float64(float64(q)*o.price))
		if q == 0 {
			return
		}
		s.put(o.x, -1)
		q--
		rest := left - float64(float64(q)*o.price)
		if s.nodes < 0 || s.worth+s.most(depth+1, rest) <= s.beat {
			s.put(o.x, -q)
			return
		}
	}
}

// largePart is how much of what is left of a bin a pod takes that is large: of these few fit, so that all counts are soon tried, and
// what is left then is shared by the others.
const largePart = 0.125

// arrange puts the rows in the order in which they are tried: the large ones first, the largest before others; then the densest.
func (s *branchAndBound) arrange(left float64) {
	large := func(o *dense) float64 {
		if s.largeFirst && o.price > largePart*left {
			return o.price
		}
		return 0
	}
	slices.SortFunc(s.order, func(a, b dense) int {
		return cmp.Or(cmp.Compare(large(&b), large(&a)), cmp.Compare(b.ratio, a.ratio), cmp.Compare(a.x, b.x))
	})
	s.byRatio = s.byRatio[:0]
	for k := range s.order {
		s.byRatio = append(s.byRatio, int32(k))
	}
	slices.SortStableFunc(s.byRatio, func(a, b int32) int { return cmp.Compare(s.order[b].ratio, s.order[a].ratio) })
}

// most is what the rows from a depth on are worth at most in what is left of the capacity, by its price: as many of the densest as there
// are, and so on.
func (s *branchAndBound) most(depth int, left float64) float64 {
	sum := 0.0
	for _, k := range s.byRatio {
		if int(k) < depth {
			continue
		}
		o := &s.order[k]
		s.steps += 2
		if o.all > left {
			return sum + float64(o.ratio*max(0, left))
		}
		sum += o.worth
		left -= o.all
	}
	return sum
}
