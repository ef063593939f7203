// Package lp solves linear programmes that gain columns while they are solved, by the revised simplex method.
//
// It knows rows, columns and costs, and nothing of what they stand for. Start reading with Program.
package lp

import (
	"math"
	"slices"
)

// Program is the restricted linear programme: pay for fillings so that each row is covered at least as often as it has
// pods. It is a revised simplex method with a dense inverse of the basis and sparse columns. Rows are few hundreds at
// most and columns have a dozen entries, so an inverse that is updated in place is both the shortest and the fastest
// way; it is computed anew when errors pile up. A few pivots are put off and done together: then each row of the
// inverse is read and written once for all of them.
type Program struct {
	Rows int
	RHS  []float64
	// Columns: entries of column j are start[j] to start[j+1].
	start []int32
	row   []int32
	val   []float64
	Cost  []float64
	// scale is what reduced costs are compared by: one over the length of the column.
	scale []float64
	// improves is what the reduced cost is below of a column that improves the solution.
	improves []float64
	// Basis is, by place, a column, or -1-i for the surplus of row i; in says which columns are in it.
	Basis    []int32
	in       []bool
	X, Duals []float64
	// binv is the inverse as it was before the pivots that are put off. late are their places: a row of the inverse is
	// mix, by row and place, of what the rows at these places were, and any other row is what it was itself and that.
	binv, mix []float64
	late      []int32
	isLate    []bool
	// lines has the rows that were at these places, and room for one more; w is what entering does to the basic columns.
	lines, w []float64
	cands    []int32
	pivots   int
	Work     int64
	// WorkLimit is the work after which to end; Stop ends it too once it says so.
	WorkLimit int64
	Stop      func() bool
}

const (
	pivotEps = 1e-9
	// checkEvery is how many pivots an inverse is trusted for.
	checkEvery = 50
)

// Reset makes it a programme of m rows without columns, in the memory that it has.
func (s *Program) Reset(m int) {
	s.Rows = m
	s.RHS, s.X, s.Duals, s.w = sized(s.RHS, m), sized(s.X, m), sized(s.Duals, m), sized(s.w, m)
	s.Basis, s.binv, s.mix, s.lines = sized(s.Basis, m), sized(s.binv, m*m), sized(s.mix, m*mostLate), sized(s.lines, (mostLate+1)*m)
	s.isLate = sized(s.isLate, m)
	s.forget()
	s.start, s.row, s.val = append(s.start[:0], 0), s.row[:0], s.val[:0]
	s.Cost, s.scale, s.improves, s.in = s.Cost[:0], s.scale[:0], s.improves[:0], s.in[:0]
	s.pivots = 0
}

// Set makes it the programme that another one is, which may go on without it. Its work, and what ends it, stay.
func (s *Program) Set(o *Program) {
	s.Rows, s.pivots = o.Rows, o.pivots
	s.RHS, s.X, s.Duals, s.w = append(s.RHS[:0], o.RHS...), append(s.X[:0], o.X...), append(s.Duals[:0], o.Duals...), sized(s.w, o.Rows)
	s.start, s.row, s.val = append(s.start[:0], o.start...), append(s.row[:0], o.row...), append(s.val[:0], o.val...)
	s.Cost, s.scale, s.improves = append(s.Cost[:0], o.Cost...), append(s.scale[:0], o.scale...), append(s.improves[:0], o.improves...)
	s.Basis, s.in = append(s.Basis[:0], o.Basis...), append(s.in[:0], o.in...)
	s.binv, s.mix, s.lines = append(s.binv[:0], o.binv...), append(s.mix[:0], o.mix...), append(s.lines[:0], o.lines...)
	s.late, s.isLate = append(s.late[:0], o.late...), append(s.isLate[:0], o.isLate...)
}

// sized is a list of n, in the memory that it has, if that is enough: an inverse that was computed anew is only as
// large as it had to be.
func sized[T any](list []T, n int) []T { return slices.Grow(list[:0], n)[:n] }

// Entry puts an entry into the column that Add appends next.
func (s *Program) Entry(row int32, v float64) {
	s.row, s.val = append(s.row, row), append(s.val, v)
}

// Add appends the column of the last entries.
func (s *Program) Add(cost float64) {
	sum := 0.0
	for _, q := range s.val[s.start[len(s.start)-1]:] {
		sum += float64(q * q)
	}
	s.start = append(s.start, int32(len(s.row)))
	s.scale = append(s.scale, 1/math.Sqrt(1+sum))
	s.Cost, s.improves = append(s.Cost, cost), append(s.improves, -1e-7*max(1, cost))
	s.in = append(s.in, false)
}

// StartDiagonal starts from the basis of the first n columns, of which column i covers row i alone, and the surplus of all
// other rows, whose right-hand sides must not be positive.
func (s *Program) StartDiagonal(n int) {
	clear(s.binv)
	for i := range s.Rows {
		if i >= n {
			s.Basis[i], s.binv[i*s.Rows+i] = int32(-1-i), -1
			continue
		}
		s.Basis[i] = int32(i)
		s.in[i] = true
		s.binv[i*s.Rows+i] = 1 / s.val[s.start[i]]
	}
	s.refresh()
}

func (s *Program) baseCost(i int) float64 {
	if j := s.Basis[i]; j >= 0 {
		return s.Cost[j]
	}
	return 0
}

// refresh computes the solution and the duals from the inverse, for which no pivot may be put off.
func (s *Program) refresh() {
	m := s.Rows
	clear(s.Duals)
	for i := range m {
		row := s.binv[i*m : i*m+m]
		x := 0.0
		for j, v := range row {
			x += float64(v * s.RHS[j])
		}
		s.X[i] = x
		if c := s.baseCost(i); c != 0 {
			for j, v := range row {
				s.Duals[j] += float64(c * v)
			}
		}
	}
	s.Work += int64(2 * m * m)
}

// worth is what the duals give for a column.
func (s *Program) worth(j int32, y []float64) float64 {
	v := 0.0
	rows := s.row[s.start[j]:s.start[j+1]]
	vals := s.val[s.start[j]:][:len(rows)]
	for k, r := range rows {
		v += float64(vals[k] * y[r])
	}
	return v
}

// Value is what the solution costs.
func (s *Program) Value() float64 {
	v := 0.0
	for i := range s.Rows {
		v += float64(s.baseCost(i) * s.X[i])
	}
	return v
}

// Solve pivots until no column improves the solution, which must be feasible, or the pivots are used up.
func (s *Program) Solve(most int) {
	s.cands = s.cands[:0]
	for n := range most {
		if n%16 == 15 && (s.Work > s.WorkLimit || s.Stop()) {
			return
		}
		q, rc := s.entering()
		if q == NoColumn {
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

const NoColumn = math.MinInt32

// entering is the column of the most negative reduced cost among the candidates, which are looked for anew when none is
// left.
func (s *Program) entering() (q int32, rc float64) {
	q, rc = s.surplus()
	if best, d, scaled := s.scan(); scaled < rc {
		return best, d
	}
	if q != NoColumn {
		return q, rc
	}
	s.cands = s.cands[:0]
	for j := range s.Cost {
		if s.in[j] {
			continue
		}
		if s.Cost[j]-s.worth(int32(j), s.Duals) < s.improves[j] {
			s.cands = append(s.cands, int32(j))
		}
	}
	s.Work += int64(len(s.row) + len(s.Cost))
	q, rc, _ = s.scan()
	return q, rc
}

func (s *Program) surplus() (q int32, rc float64) {
	q, rc = NoColumn, -1e-6
	for i, v := range s.Duals {
		if v < rc {
			q, rc = int32(-1-i), v
		}
	}
	return q, rc
}

// scan is the best of the candidates; the others that still improve stay.
func (s *Program) scan() (q int32, rc, least float64) {
	q = NoColumn
	kept := s.cands[:0]
	for _, j := range s.cands {
		if s.in[j] {
			continue
		}
		d := s.Cost[j] - s.worth(j, s.Duals)
		if d >= s.improves[j] {
			continue
		}
		kept = append(kept, j)
		if d*s.scale[j] < least {
			q, rc, least = j, d, d*s.scale[j]
		}
	}
	s.Work += int64(8 * len(s.cands))
	s.cands = kept
	return q, rc, least
}

// ftran computes what entering does to the basic columns.
func (s *Program) ftran(q int32) {
	m := s.Rows
	if q < 0 {
		r := int(-1 - q)
		for i := range m {
			s.w[i] = -s.binv[i*m+r]
		}
		s.catchUp()
		return
	}
	rows := s.row[s.start[q]:s.start[q+1]]
	vals := s.val[s.start[q]:][:len(rows)]
	for i := range m {
		line := s.binv[i*m : i*m+m]
		v := 0.0
		for k, r := range rows {
			v += float64(line[r] * vals[k])
		}
		s.w[i] = v
	}
	s.Work += int64(m * (len(rows) + 1))
	s.catchUp()
}

// leaving is the place of the basic column that first becomes 0; -1 where none does.
func (s *Program) leaving() int {
	r, best := -1, math.Inf(1)
	for i, w := range s.w {
		if w <= pivotEps {
			continue
		}
		t := s.X[i]
		if t < 0 {
			t = 0
		}
		t /= w
		if t < best-1e-12 || t <= best+1e-12 && r >= 0 && w > s.w[r] {
			r, best = i, min(best, t)
		}
	}
	return r
}

// pivot exchanges the column at place r for column q, whose reduced cost is rc and whose effect is in w.
func (s *Program) pivot(r int, q int32, rc float64) {
	inv := 1 / s.w[r]
	t := s.X[r] * inv
	of := s.putOff(r)
	for k := range of {
		of[k] *= inv
	}
	for i, f := range s.w {
		if i == r || f < 1e-13 && f > -1e-13 {
			continue
		}
		s.X[i] -= float64(f * t)
		subtract((*[mostLate]float64)(s.mix[i*mostLate:]), of, f)
	}
	s.X[r] = t
	line := s.lines[mostLate*s.Rows:]
	clear(line)
	s.blend(line, r)
	for j, v := range line {
		s.Duals[j] += float64(rc * v)
	}
	if old := s.Basis[r]; old >= 0 {
		s.in[old] = false
	}
	s.Basis[r] = q
	if q >= 0 {
		s.in[q] = true
	}
	s.Work += int64(2 * s.Rows * len(s.late))
	s.pivots++
	if s.pivots%checkEvery == 0 && !s.accurate() {
		s.refactor()
	}
}

// accurate says that the solution and the duals still satisfy the equations that they come from.
func (s *Program) accurate() bool {
	copy(s.w, s.RHS)
	off := 0.0
	for k, j := range s.Basis {
		if j < 0 {
			s.w[-1-j] += s.X[k]
			off = max(off, math.Abs(s.Duals[-1-j]))
			continue
		}
		for x := s.start[j]; x < s.start[j+1]; x++ {
			s.w[s.row[x]] -= float64(s.val[x] * s.X[k])
		}
		off = max(off, math.Abs(s.worth(j, s.Duals)-s.Cost[j])/s.Cost[j])
	}
	for i, v := range s.w {
		off = max(off, math.Abs(v)/(1+math.Abs(s.RHS[i])))
	}
	return off < 1e-7
}

// refactor computes the inverse anew, by Gauss-Jordan elimination with row pivoting. If the basis has become singular the
// old inverse stays.
func (s *Program) refactor() {
	m := s.Rows
	a, inv := make([]float64, m*m), make([]float64, m*m)
	for k, j := range s.Basis {
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
	s.Work += int64(m * m * m / 2)
	s.binv = inv
	s.forget()
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
