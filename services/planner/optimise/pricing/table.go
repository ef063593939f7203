package pricing

// maxTable bounds the entries of one bin's table, which are twelve bytes each, and maxSteps what is done to fill them.
const maxTable, maxSteps = 1 << 17, 1 << 23

// table solves a bin's knapsack exactly in the two resources that are priced highest, by a table over how much of each is
// left; the other resources are paid for at their prices, and demand is taken as endless. So its value bounds that of
// every filling, more tightly than the linear relaxation where few pods fit.
type table struct {
	value  []float64
	last   []int32
	counts []int32
}

// solveTable fills the table for a bin. It returns the bound, and the filling that it found in p.table.counts, by index in rows,
// as far as it keeps to demand, the other resources and rules. ok is false where the table would be too large.
func (p *pricer) solveTable(kn *knapsack, v []float64) (upper float64, ok bool) {
	r1, r2 := p.scarcest(kn)
	w1, w2 := kn.b.Free[r1]/p.c.Unit[r1]+1, kn.b.Free[r2]/p.c.Unit[r2]+1
	if r1 == r2 {
		w2 = 1
	}
	if w1 <= 0 || w2 <= 0 || w1 > maxTable || w2 > maxTable || w1*w2 > maxTable || w1*w2*int64(len(v)) > maxSteps {
		return 0, false
	}
	g := &p.table
	entries := int(w1 * w2)
	if cap(g.value) < entries {
		g.value, g.last = make([]float64, entries), make([]int32, entries)
	}
	g.value, g.last = g.value[:entries], g.last[:entries]
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
	p.work += int64(entries * len(v) / 2)
	upper = (upper + g.value[entries-1]) * (1 + 1e-10)
	p.walk(kn, int(w2), r1, r2)
	return upper, true
}

// scarcest are the two resources with the highest prices; the same one twice where there is only one.
func (p *pricer) scarcest(kn *knapsack) (r1, r2 int) {
	lam := kn.lam[:p.c.NumResources]
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
func (p *pricer) steps(kn *knapsack, x, r int) int {
	return int(p.c.Request[int(kn.b.Rows[x])*p.c.NumResources+r] / p.c.Unit[r])
}

// sweep lets the fillings of the table have any number of a row's pods.
func (g *table) sweep(w1, w2 int, step [2]int, w float64, x int32) {
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
func (p *pricer) walk(kn *knapsack, w2, r1, r2 int) {
	g, l := &p.table, p.open
	if cap(g.counts) < len(kn.b.Rows) {
		g.counts = make([]int32, p.c.NumRows)
	}
	g.counts = g.counts[:len(kn.b.Rows)]
	clear(g.counts)
	l.Open(kn.b)
	for at := len(g.value) - 1; g.last[at] >= 0; {
		x := g.last[at]
		if g.counts[x] < int32(kn.u[x]) && l.Capacity(kn.b.Rows[x], 1) == 1 {
			l.Put(kn.b.Rows[x], 1)
			g.counts[x]++
		}
		s2 := p.steps(kn, int(x), r2)
		if r1 == r2 {
			s2 = 0
		}
		at -= p.steps(kn, int(x), r1)*w2 + s2
	}
}

// worthOf is what a filling by index in rows is worth.
func worthOf(v []float64, cnt []int32) float64 {
	sum := 0.0
	for x, q := range cnt {
		sum += float64(v[x] * float64(q))
	}
	return max(0, sum)
}
