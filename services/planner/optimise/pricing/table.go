package pricing

import (
	"math"
	"slices"
)

// maxTable bounds the entries of one bin's table, which are eight bytes each, and maxSteps what is done to fill them.
const maxTable, maxSteps = 1 << 17, 1 << 23

// table solves a bin's knapsack exactly in the two resources that are priced highest, by a table over how much of each is
// left; the other resources are paid for at their prices, and demand is taken as endless. So its value bounds that of
// every filling, more tightly than the linear relaxation where few pods fit.
type table struct {
	// value is by entry, in units of unit; all are the rows that may be in a filling, rows those that no other one beats.
	value     []int64
	all, rows []tableRow
	unit      float64
	counts    []int32
}

// tableRow is a row by index in rows, with what a pod takes of either resource, in steps, and what it is worth; units are that in units of the table, rounded up.
type tableRow struct {
	x     int32
	step  [2]int
	worth float64
	units int64
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
	rest := p.tableRows(kn, v, [2]int{r1, r2}, [2]int64{w1, w2})
	g.value = slices.Grow(g.value[:0], int(w1*w2))[:w1*w2]
	clear(g.value)
	for k := range g.rows {
		g.sweep(int(w1), int(w2), &g.rows[k])
	}
	p.work += int64(len(g.value)*len(g.rows)/4 + len(v)*len(v))
	p.walk(kn, int(w2))
	return (rest + float64(g.value[len(g.value)-1])*g.unit) * (1 + 1e-10), true
}

// tableRows lists the rows that may be in a filling, less what their pods take of other resources, and returns what these resources are worth,
// with the pods that take nothing else.
func (p *pricer) tableRows(kn *knapsack, v []float64, of [2]int, width [2]int64) (rest float64) {
	g := &p.table
	g.all, g.rows = g.all[:0], g.rows[:0]
	densest := 1.0
	for r, l := range kn.lam {
		if r != of[0] && r != of[1] {
			rest += l
		}
	}
	for x, w := range v {
		for r, l := range kn.lam {
			if r != of[0] && r != of[1] {
				w -= float64(l * kn.a[x*kn.k+r])
			}
		}
		if w <= 0 || kn.u[x] == 0 {
			continue
		}
		row := tableRow{x: int32(x), step: [2]int{p.steps(kn, x, of[0]), p.steps(kn, x, of[1])}, worth: w}
		if of[0] == of[1] {
			row.step[1] = 0
		}
		if row.step == [2]int{} {
			rest += float64(w * kn.u[x])
			continue
		}
		share := float64(row.step[0])/float64(width[0]) + float64(row.step[1])/float64(width[1])
		densest = max(densest, w/share)
		g.all = append(g.all, row)
	}
	g.unit = densest / (1 << 50) // no entry is worth more than twice the densest
	for k := range g.all {
		g.all[k].units = int64(math.Ceil(g.all[k].worth / g.unit))
	}
	for k := range g.all {
		if !g.beaten(&g.all[k]) {
			g.rows = append(g.rows, g.all[k])
		}
	}
	return rest
}

// beaten says that pods of another row that fit into what one of a row takes are worth more.
func (g *table) beaten(row *tableRow) bool {
	for k := range g.all {
		o := &g.all[k]
		if o.step[0] > row.step[0] || o.step[1] > row.step[1] {
			continue
		}
		n := int64(math.MaxInt32)
		for r, s := range o.step {
			if s > 0 {
				n = min(n, int64(row.step[r]/s))
			}
		}
		if n*o.units > row.units || n*o.units == row.units && o.x < row.x {
			return true
		}
	}
	return false
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
func (g *table) sweep(w1, w2 int, row *tableRow) {
	s1, s2, w := row.step[0], row.step[1], row.units
	if s2 >= w2 {
		return
	}
	for i := s1; i < w1; i++ {
		to := g.value[i*w2+s2 : i*w2+w2]
		from := g.value[(i-s1)*w2:][:len(to)]
		for j, f := range from {
			to[j] = max(to[j], f+w)
		}
	}
}

// walk reads the best filling out of the table and keeps what of it is possible.
func (p *pricer) walk(kn *knapsack, w2 int) {
	g, l := &p.table, p.open
	g.counts = slices.Grow(g.counts[:0], len(kn.b.Rows))[:len(kn.b.Rows)]
	clear(g.counts)
	l.Open(kn.b)
	i, j := (len(g.value)-1)/w2, w2-1
	for k := 0; k < len(g.rows); {
		row := &g.rows[k]
		a, b := i-row.step[0], j-row.step[1]
		if a < 0 || b < 0 || g.value[a*w2+b]+row.units != g.value[i*w2+j] {
			k++
			continue
		}
		i, j = a, b
		if x := row.x; g.counts[x] < int32(kn.u[x]) && l.Capacity(kn.b.Rows[x], 1) == 1 {
			l.Put(kn.b.Rows[x], 1)
			g.counts[x]++
		}
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
