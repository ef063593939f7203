package pricing

import "slices"

// branchAndBound looks for the best filling of one bin.
type branchAndBound struct {
	p    *pricer
	kn   *knapsack
	v    []float64
	best float64
	// now is the filling at hand by index in rows, top the best; order are the places that may differ from the best.
	now, top []int32
	order    []dense
	worth    float64
	nodes    int
	tol      float64
	done     bool
}

// dense is a place with its value for the price of the capacity that it takes.
type dense struct {
	ratio, price float64
	x            int32
}

func (s *branchAndBound) begin(p *pricer, kn *knapsack, v []float64) {
	s.p, s.kn, s.v, s.best, s.worth = p, kn, v, 0, 0
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
	s.best = s.worth
	copy(s.top, s.now)
}

// branch searches all fillings that could be worth more, in the order of density, as many nodes as it may.
func (s *branchAndBound) branch(upper, tol float64, nodes int) (exact bool) {
	p, kn := s.p, s.kn
	gap := upper - s.best
	// Rows that take no capacity with a price escape the bound.
	free := false
	p.open.Open(kn.b)
	clear(s.now)
	s.worth, s.order, s.tol, s.nodes = 0, s.order[:0], tol, nodes
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
		s.order = append(s.order, dense{ratio: v / max(c, 1e-9*v), price: c, x: int32(x)})
	}
	slices.SortFunc(s.order, func(a, b dense) int {
		switch {
		case a.ratio > b.ratio:
			return -1
		case a.ratio < b.ratio:
			return 1
		}
		return int(a.x - b.x)
	})
	p.work += int64(len(s.v)*(p.c.NumResources+2) + 16*len(s.order))
	s.done = !free
	s.visit(0, left)
	p.work += int64((nodes - s.nodes) * (p.c.NumResources + 8))
	return s.done
}

// visit tries all counts of the row at a depth, given the price of the capacity that is left.
func (s *branchAndBound) visit(depth int, left float64) {
	if depth == len(s.order) {
		if s.worth > s.best+s.tol {
			s.record()
		}
		return
	}
	o := s.order[depth]
	if s.worth+float64(o.ratio*left) <= s.best+s.tol {
		return
	}
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
	next := 0.0
	if depth+1 < len(s.order) {
		next = s.order[depth+1].ratio
	}
	for {
		s.visit(depth+1, left-float64(float64(q)*o.price))
		if q == 0 {
			return
		}
		s.put(o.x, -1)
		q--
		rest := left - float64(float64(q)*o.price)
		if s.nodes < 0 || s.worth+float64(next*rest) <= s.best+s.tol {
			s.put(o.x, -q)
			return
		}
	}
}
