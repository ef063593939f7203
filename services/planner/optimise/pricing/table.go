package pricing

import (
	"cmp"
	"math"
	"slices"
)

// maxTable bounds the entries of one bin's table, which are four bytes each, and maxSteps what is done to fill them; once bins are looked at more closely
// than the first time, there may be lastTable and lastSteps times as many.
const maxTable, maxSteps, lastTable, lastSteps = 1 << 17, 1 << 23, 8, 4

// table solves a bin's knapsack, but for rounding values up, in the two resources that are priced highest, and in the third where that is small, by a table over how much of
// each is left; the other resources are paid for at their prices, and demand is taken as endless. So its value bounds that of
// every filling, more tightly than the linear relaxation where few pods fit.
type table struct {
	// value is by entry, in units of unit; width is how many there are of each resource, and how much is left of the last changes from entry to entry. all are
	// the rows that may be in a filling, rows those that no other one beats.
	value     []int32
	width     [tableResources]int
	all, rows []tableRow
	unit      float64
	counts    []int32
}

// stepsForWork is how many steps of a table count as one of any other loop: nothing is computed in them.
const stepsForWork = 4

// tableResources is how many resources a table knows at most.
const tableResources = 3

// tableRow is a row by index in rows, with what a pod takes of each resource, in steps, and what it is worth; units are that in units of the table, rounded up.
type tableRow struct {
	x     int32
	step  [tableResources]int
	worth float64
	units int32
}

// solveTable fills the table for a bin. It returns the bound, and the filling that it found in p.table.counts, by index in rows,
// as far as it keeps to demand, the other resources and rules. ok is false where the table would be too large, also for the work that is left, or the
// search was stopped; it may be larger if it is the last that is tried.
func (p *pricer) solveTable(kn *knapsack, v []float64, last bool, left int64) (upper float64, ok bool) {
	entries, steps := int64(maxTable), int64(maxSteps)
	if last {
		entries, steps = lastTable*entries, min(lastSteps*steps, stepsForWork*left)
	}
	g := &p.table
	of := p.scarcest(kn)
	g.width = [tableResources]int{1, 1, 1}
	size := int64(1)
	for k, r := range of {
		w := kn.b.Free[r]/p.c.Unit[r] + 1
		if k == 2 && (!last || kn.lam[r] <= 0 || w > maxTable || size*w > maxTable || size*w*int64(len(v)) > maxSteps) {
			of = of[:2]
			break
		}
		if w <= 0 || w > entries || size*w > entries || size*w*int64(len(v)) > steps {
			return 0, false
		}
		g.width[k] = int(w)
		size *= w
	}
	rest := p.tableRows(kn, v, of)
	g.value = slices.Grow(g.value[:0], int(size))[:size]
	clear(g.value)
	for k := range g.rows {
		if p.c.Stopped() {
			return 0, false
		}
		g.sweep(&g.rows[k])
	}
	p.work += int64(len(g.value)*len(g.rows)/stepsForWork + len(v)*len(v))
	p.walk(kn)
	return (rest + float64(float64(g.value[len(g.value)-1])*g.unit)) * (1 + 1e-10), true
}

// scarcest are the resources with the highest prices, the highest first.
func (p *pricer) scarcest(kn *knapsack) []int {
	of := make([]int, p.c.NumResources)
	for r := range of {
		of[r] = r
	}
	slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(kn.lam[b], kn.lam[a]) })
	return of[:min(tableResources, len(of))]
}

// tableRows lists the rows that may be in a filling, less what their pods take of other resources, and returns what these resources are worth,
// with the pods that take nothing else.
func (p *pricer) tableRows(kn *knapsack, v []float64, of []int) (rest float64) {
	g := &p.table
	g.all, g.rows = g.all[:0], g.rows[:0]
	densest := 1.0
	for r, l := range kn.lam {
		if !slices.Contains(of, r) {
			rest += l
		}
	}
	for x, w := range v {
		for r, l := range kn.lam {
			if !slices.Contains(of, r) {
				w -= float64(l * kn.a[x*kn.k+r])
			}
		}
		if w <= 0 || kn.u[x] == 0 {
			continue
		}
		row, share := tableRow{x: int32(x), worth: w}, 0.0
		for k, r := range of {
			row.step[k] = p.steps(kn, x, r)
			share += float64(row.step[k]) / float64(g.width[k])
		}
		if share == 0 {
			rest += float64(w * kn.u[x])
			continue
		}
		densest = max(densest, w/share)
		g.all = append(g.all, row)
	}
	g.unit = densest / (1 << 29) // no entry is worth more than the densest for each resource
	for k := range g.all {
		g.all[k].units = int32(math.Ceil(g.all[k].worth / g.unit))
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
next:
	for k := range g.all {
		o := &g.all[k]
		n := int64(math.MaxInt32)
		for r, s := range o.step {
			if s > row.step[r] {
				continue next
			}
			if s > 0 {
				n = min(n, int64(row.step[r]/s))
			}
		}
		if all := n * int64(o.units); all > int64(row.units) || all == int64(row.units) && o.x < row.x {
			return true
		}
	}
	return false
}

// steps is a pod's request in units of the table.
func (p *pricer) steps(kn *knapsack, x, r int) int {
	return int(p.c.Request[int(kn.b.Rows[x])*p.c.NumResources+r] / p.c.Unit[r])
}

// sweep lets the fillings of the table have any number of a row's pods.
func (g *table) sweep(row *tableRow) {
	w, s := g.width, row.step
	if s[1] >= w[1] || s[2] >= w[2] {
		return
	}
	back := (s[0]*w[1]+s[1])*w[2] + s[2]
	for i := s[0]; i < w[0]; i++ {
		if w[2] == 1 {
			g.improve(i*w[1]+s[1], (i+1)*w[1], back, row.units)
			continue
		}
		for j := s[1]; j < w[1]; j++ {
			at := (i*w[1] + j) * w[2]
			g.improve(at+s[2], at+w[2], back, row.units)
		}
	}
}

// improve lets the fillings of some entries be those of entries so far back and a pod of so many units.
func (g *table) improve(begin, end, back int, units int32) {
	to := g.value[begin:end]
	for j, f := range g.value[begin-back:][:len(to)] {
		to[j] = max(to[j], f+units)
	}
}

// walk reads the best filling out of the table and keeps what of it is possible.
func (p *pricer) walk(kn *knapsack) {
	g, l := &p.table, p.open
	g.counts = slices.Grow(g.counts[:0], len(kn.b.Rows))[:len(kn.b.Rows)]
	clear(g.counts)
	l.Open(kn.b)
	left := g.width
	entry := func() int32 { return g.value[((left[0]-1)*g.width[1]+left[1]-1)*g.width[2]+left[2]-1] }
	for k := 0; k < len(g.rows); {
		row, was := &g.rows[k], left
		worth := entry()
		for r, s := range row.step {
			left[r] -= s
		}
		if min(left[0], left[1], left[2]) < 1 || entry()+row.units != worth {
			left = was
			k++
			continue
		}
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
