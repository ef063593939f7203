package optimise

// mostGrid bounds the steps of one bin's table.
const mostGrid = 1 << 20

// grid solves a bin's knapsack exactly in the two resources that are priced highest, by a table over how much of each is
// left; the other resources are paid for at their prices, and demand is taken as endless. So its value bounds that of
// every filling, more tightly than the linear relaxation where few pods fit.
type grid struct {
	value []float64
	last  []int32
	cnt   []int32
}

// table fills the grid for a bin. It returns the bound, and the filling that it found in p.grid.cnt, by place in rows,
// as far as it keeps to demand, the other resources and rules. ok is false where the table would be too large.
func (p *pricer) table(kn *knap, v []float64) (upper float64, ok bool) {
	r1, r2 := p.scarcest(kn)
	w1, w2 := kn.b.free[r1]/p.c.unit[r1]+1, kn.b.free[r2]/p.c.unit[r2]+1
	if r1 == r2 {
		w2 = 1
	}
	if w1 <= 0 || w2 <= 0 || w1 > mostGrid || w2 > mostGrid || w1*w2*int64(len(v)) > mostGrid {
		return 0, false
	}
	g := &p.grid
	cells := int(w1 * w2)
	if cap(g.value) < cells {
		g.value, g.last = make([]float64, cells), make([]int32, cells)
	}
	g.value, g.last = g.value[:cells], g.last[:cells]
	clear(g.value)
	for i := range g.last {
		g.last[i] = -1
	}
	for r, l := range kn.lam {
		if r != r1 && r != r2 {
			upper += l
		}
	}
	for x := range v {
		w := v[x]
		for r, l := range kn.lam {
			if r != r1 && r != r2 {
				w -= float64(l * kn.a[x*kn.k+r])
			}
		}
		if w <= 0 || kn.u[x] == 0 {
			continue
		}
		s1, s2 := p.steps(kn, x, r1), p.steps(kn, x, r2)
		if r1 == r2 {
			s2 = 0
		}
		if s1 == 0 && s2 == 0 {
			upper += float64(w * kn.u[x])
			continue
		}
		g.sweep(int(w1), int(w2), [2]int{s1, s2}, w, int32(x))
	}
	p.work += int64(cells * len(v) / 2)
	upper = (upper + g.value[cells-1]) * (1 + 1e-10)
	p.walk(kn, int(w2), r1, r2)
	return upper, true
}

// scarcest are the two resources with the highest prices; the same one twice where there is only one.
func (p *pricer) scarcest(kn *knap) (r1, r2 int) {
	lam := kn.lam[:p.c.k]
	for r, l := range lam {
		if l > lam[r1] {
			r1 = r
		}
	}
	r2 = r1
	for r, l := range lam {
		if r != r1 && (r2 == r1 || l > lam[r2]) {
			r2 = r
		}
	}
	return r1, r2
}

// steps is a pod's request in units of the table.
func (p *pricer) steps(kn *knap, x, r int) int {
	return int(p.c.req[int(kn.b.rows[x])*p.c.k+r] / p.c.unit[r])
}

// sweep lets the fillings of the table have any number of a row's pods.
func (g *grid) sweep(w1, w2 int, step [2]int, w float64, x int32) {
	for i := step[0]; i < w1; i++ {
		from := g.value[(i-step[0])*w2 : (i-step[0])*w2+w2-min(w2, step[1])]
		to := g.value[i*w2+min(w2, step[1]) : i*w2+w2]
		last := g.last[i*w2+min(w2, step[1]) : i*w2+w2]
		for j, f := range from {
			if f += w; f > to[j] {
				to[j], last[j] = f, x
			}
		}
	}
}

// walk reads the best filling out of the table and keeps what of it is possible.
func (p *pricer) walk(kn *knap, w2, r1, r2 int) {
	g, l := &p.grid, p.load
	if cap(g.cnt) < len(kn.b.rows) {
		g.cnt = make([]int32, p.c.n)
	}
	g.cnt = g.cnt[:len(kn.b.rows)]
	clear(g.cnt)
	l.open(kn.b)
	for at := len(g.value) - 1; g.last[at] >= 0; {
		x := g.last[at]
		if g.cnt[x] < int32(kn.u[x]) && l.room(kn.b.rows[x], 1) == 1 {
			l.put(kn.b.rows[x], 1)
			g.cnt[x]++
		}
		s2 := p.steps(kn, int(x), r2)
		if r1 == r2 {
			s2 = 0
		}
		at -= p.steps(kn, int(x), r1)*w2 + s2
	}
}

// units are the greatest common divisors of all requests, by resource.
func (c *core) units() []int64 {
	out := make([]int64, c.k)
	for i, q := range c.req {
		a, b := out[i%c.k], q
		for b != 0 {
			a, b = b, a%b
		}
		out[i%c.k] = max(a, -a)
	}
	for r := range out {
		out[r] = max(1, out[r])
	}
	return out
}

// worthOf is what a filling by place in rows is worth.
func worthOf(v []float64, cnt []int32) float64 {
	sum := 0.0
	for x, q := range cnt {
		sum += float64(v[x] * float64(q))
	}
	return max(0, sum)
}
