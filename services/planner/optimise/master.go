package optimise

import "math"

// master is the restricted linear programme: pay for fillings so that each row is covered at least as often as it has
// pods. It is a revised simplex method with a dense inverse of the basis and sparse columns. Rows are few hundreds at
// most and columns have a dozen entries, so an inverse that is updated in place is both the shortest and the fastest
// way; it is computed anew when errors pile up.
type master struct {
	m   int
	rhs []float64
	// Columns: entries of column j are start[j] to start[j+1].
	start []int32
	row   []int32
	val   []float64
	cost  []float64
	// scale is what reduced costs are compared by: one over the length of the column.
	scale []float64
	// basis is, by place, a column, or -1-i for the surplus of row i; in says which columns are in it.
	basis []int32
	in    []bool
	binv  []float64
	xb, y []float64

	w      []float64
	nz     []int32
	cands  []int32
	pivots int
	work   int64
	// limit is the work, and stop the sign, at which to leave off.
	limit int64
	stop  func() bool
}

const (
	pivotEps = 1e-9
	// checkEvery is how many pivots an inverse is trusted for.
	checkEvery = 50
)

// reset makes it a programme of m rows without columns, in the memory that it has.
func (s *master) reset(m int) {
	s.m = m
	if cap(s.rhs) < m {
		s.rhs, s.xb, s.y, s.w = make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
		s.basis, s.binv, s.nz = make([]int32, m), make([]float64, m*m), make([]int32, 0, m)
	}
	s.rhs, s.xb, s.y, s.w = s.rhs[:m], s.xb[:m], s.y[:m], s.w[:m]
	s.basis, s.binv = s.basis[:m], s.binv[:m*m]
	s.start, s.row, s.val = append(s.start[:0], 0), s.row[:0], s.val[:0]
	s.cost, s.scale, s.in = s.cost[:0], s.scale[:0], s.in[:0]
	s.pivots = 0
}

// entry puts an entry into the column that add appends next.
func (s *master) entry(row int32, v float64) {
	s.row, s.val = append(s.row, row), append(s.val, v)
}

// add appends the column of the last entries.
func (s *master) add(cost float64) {
	sum := 0.0
	for _, q := range s.val[s.start[len(s.start)-1]:] {
		sum += float64(q * q)
	}
	s.start = append(s.start, int32(len(s.row)))
	s.scale = append(s.scale, 1/math.Sqrt(1+sum))
	s.cost = append(s.cost, cost)
	s.in = append(s.in, false)
}

// diagonal starts from the basis of the first n columns, of which column i covers row i alone, and the surplus of all
// other rows, whose right-hand sides must not be positive.
func (s *master) diagonal(n int) {
	clear(s.binv)
	for i := range s.m {
		if i >= n {
			s.basis[i], s.binv[i*s.m+i] = int32(-1-i), -1
			continue
		}
		s.basis[i] = int32(i)
		s.in[i] = true
		s.binv[i*s.m+i] = 1 / s.val[s.start[i]]
	}
	s.refresh()
}

func (s *master) baseCost(i int) float64 {
	if j := s.basis[i]; j >= 0 {
		return s.cost[j]
	}
	return 0
}

// refresh computes the solution and the duals from the inverse.
func (s *master) refresh() {
	m := s.m
	clear(s.y)
	for i := range m {
		row := s.binv[i*m : i*m+m]
		x := 0.0
		for j, v := range row {
			x += float64(v * s.rhs[j])
		}
		s.xb[i] = x
		if c := s.baseCost(i); c != 0 {
			for j, v := range row {
				s.y[j] += float64(c * v)
			}
		}
	}
	s.work += int64(2 * m * m)
}

// worth is what the duals give for a column.
func (s *master) worth(j int32, y []float64) float64 {
	v := 0.0
	for k := s.start[j]; k < s.start[j+1]; k++ {
		v += float64(s.val[k] * y[s.row[k]])
	}
	return v
}

// value is what the solution costs.
func (s *master) value() float64 {
	v := 0.0
	for i := range s.m {
		v += float64(s.baseCost(i) * s.xb[i])
	}
	return v
}

// primal pivots until no column improves the solution, which must be feasible, or the pivots are used up.
func (s *master) primal(most int) {
	s.cands = s.cands[:0]
	for n := range most {
		if n%16 == 15 && (s.work > s.limit || s.stop()) {
			return
		}
		q, rc := s.entering()
		if q == noColumn {
			return
		}
		s.ftran(q)
		r := s.leaving()
		if r < 0 {
			return
		}
		s.pivot(r, q, rc)
	}
}

const noColumn = math.MinInt32

// entering is the column of the most negative reduced cost among the candidates, which are looked for anew when none is
// left.
func (s *master) entering() (q int32, rc float64) {
	q, rc = s.surplus()
	if best, d, scaled := s.scan(); scaled < rc {
		return best, d
	}
	if q != noColumn {
		return q, rc
	}
	s.cands = s.cands[:0]
	for j := range s.cost {
		if s.in[j] {
			continue
		}
		if d := s.cost[j] - s.worth(int32(j), s.y); d < -1e-7*max(1, s.cost[j]) {
			s.cands = append(s.cands, int32(j))
		}
	}
	s.work += int64(len(s.row) + len(s.cost))
	q, rc, _ = s.scan()
	return q, rc
}

func (s *master) surplus() (q int32, rc float64) {
	q, rc = noColumn, -1e-6
	for i, v := range s.y {
		if v < rc {
			q, rc = int32(-1-i), v
		}
	}
	return q, rc
}

// scan is the best of the candidates; the others that still improve stay.
func (s *master) scan() (q int32, rc, least float64) {
	q = noColumn
	kept := s.cands[:0]
	for _, j := range s.cands {
		if s.in[j] {
			continue
		}
		d := s.cost[j] - s.worth(j, s.y)
		if d >= -1e-7*max(1, s.cost[j]) {
			continue
		}
		kept = append(kept, j)
		if d*s.scale[j] < least {
			q, rc, least = j, d, d*s.scale[j]
		}
	}
	s.work += int64(8 * len(s.cands))
	s.cands = kept
	return q, rc, least
}

// ftran computes what entering does to the basic columns.
func (s *master) ftran(q int32) {
	m := s.m
	if q < 0 {
		r := int(-1 - q)
		for i := range m {
			s.w[i] = -s.binv[i*m+r]
		}
		return
	}
	rows, vals := s.row[s.start[q]:s.start[q+1]], s.val[s.start[q]:s.start[q+1]]
	for i := range m {
		line := s.binv[i*m : i*m+m]
		v := 0.0
		for k, r := range rows {
			v += float64(line[r] * vals[k])
		}
		s.w[i] = v
	}
	s.work += int64(m * (len(rows) + 1))
}

// leaving is the place of the basic column that first becomes 0; -1 where none does.
func (s *master) leaving() int {
	r, best := -1, math.Inf(1)
	for i, w := range s.w {
		if w <= pivotEps {
			continue
		}
		t := max(0, s.xb[i]) / w
		if t < best-1e-12 || t <= best+1e-12 && r >= 0 && w > s.w[r] {
			r, best = i, min(best, t)
		}
	}
	return r
}

// pivot exchanges the column at place r for column q, whose reduced cost is rc and whose effect is in w.
func (s *master) pivot(r int, q int32, rc float64) {
	m := s.m
	line := s.binv[r*m : r*m+m]
	inv := 1 / s.w[r]
	s.nz = s.nz[:0]
	for j, v := range line {
		if v != 0 {
			line[j] = v * inv
			s.nz = append(s.nz, int32(j))
		}
	}
	t := s.xb[r] * inv
	for i := range m {
		f := s.w[i]
		if i == r || f < 1e-13 && f > -1e-13 {
			continue
		}
		s.xb[i] -= float64(f * t)
		s.subtract(s.binv[i*m:i*m+m], line, f)
	}
	s.xb[r] = t
	for _, j := range s.nz {
		s.y[j] += float64(rc * line[j])
	}
	if old := s.basis[r]; old >= 0 {
		s.in[old] = false
	}
	s.basis[r] = q
	if q >= 0 {
		s.in[q] = true
	}
	s.work += int64(m * (len(s.nz) + 2))
	s.pivots++
	if s.pivots%checkEvery == 0 && !s.accurate() {
		s.refactor()
	}
}

// subtract takes f times the pivot row from another row.
func (s *master) subtract(row, line []float64, f float64) {
	if 2*len(s.nz) < len(line) {
		for _, j := range s.nz {
			row[j] -= float64(f * line[j])
		}
		return
	}
	row = row[:len(line)]
	for j, v := range line {
		row[j] -= float64(f * v)
	}
}

// accurate says that the solution and the duals still satisfy the equations that they come from.
func (s *master) accurate() bool {
	copy(s.w, s.rhs)
	off := 0.0
	for k, j := range s.basis {
		if j < 0 {
			s.w[-1-j] += s.xb[k]
			off = max(off, math.Abs(s.y[-1-j]))
			continue
		}
		for x := s.start[j]; x < s.start[j+1]; x++ {
			s.w[s.row[x]] -= float64(s.val[x] * s.xb[k])
		}
		off = max(off, math.Abs(s.worth(j, s.y)-s.cost[j])/s.cost[j])
	}
	for i, v := range s.w {
		off = max(off, math.Abs(v)/(1+math.Abs(s.rhs[i])))
	}
	return off < 1e-7
}

// refactor computes the inverse anew, by Gauss-Jordan elimination with row pivoting. If the basis has become singular the
// old inverse stays.
func (s *master) refactor() {
	m := s.m
	a, inv := make([]float64, m*m), make([]float64, m*m)
	for k, j := range s.basis {
		if j < 0 {
			a[int(-1-j)*m+k] = -1
			continue
		}
		for x := s.start[j]; x < s.start[j+1]; x++ {
			a[int(s.row[x])*m+k] = s.val[x]
		}
	}
	for i := range m {
		inv[i*m+i] = 1
	}
	for k := range m {
		p := k
		for i := k + 1; i < m; i++ {
			if math.Abs(a[i*m+k]) > math.Abs(a[p*m+k]) {
				p = i
			}
		}
		if math.Abs(a[p*m+k]) < 1e-10 {
			return
		}
		if p != k {
			for j := range m {
				a[p*m+j], a[k*m+j] = a[k*m+j], a[p*m+j]
				inv[p*m+j], inv[k*m+j] = inv[k*m+j], inv[p*m+j]
			}
		}
		eliminate(a, inv, m, k)
	}
	s.work += int64(m * m * m / 2)
	s.binv = inv
	s.refresh()
}

// eliminate clears column k but for the pivot, which becomes 1.
func eliminate(a, inv []float64, m, k int) {
	ak, ik := a[k*m:k*m+m], inv[k*m:k*m+m]
	f := 1 / ak[k]
	for j := range m {
		ak[j] *= f
		ik[j] *= f
	}
	for i := range m {
		g := a[i*m+k]
		if i == k || g == 0 {
			continue
		}
		ai, ii := a[i*m:i*m+m], inv[i*m:i*m+m]
		for j := k; j < m; j++ {
			ai[j] -= float64(g * ak[j])
		}
		for j, v := range ik {
			if v != 0 {
				ii[j] -= float64(g * v)
			}
		}
	}
}
