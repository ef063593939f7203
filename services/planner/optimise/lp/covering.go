package lp

import (
	"math"
	"slices"
)

// Covering is a linear programme whose columns are all known, each at a cost above 0: pay for columns so that each row
// has what it asks for at least. It is solved by the dual simplex method, from where it was before a row was added.
type Covering struct {
	cost []float64
	// Columns: entries of column j in the rows that there are from the beginning are start[j] to start[j+1].
	start, row []int32
	val        []float64
	// added are the rows that were added, by column; rhs are all rows' right-hand sides.
	added [][]float64
	rhs   []float64
	first int
	CoveringState
	line, w, y, worth []float64
	Work              int64
}

// CoveringState is a basis, and what follows from it.
type CoveringState struct {
	// Basis is, by place, a column, or -1-i for the surplus of row i; X is how much there is of it.
	Basis []int32
	X     []float64
	in    []bool
	// live are the columns that a solution may have that is cheap enough.
	live []int32
	// binv is the inverse, row by row; duals are by row, reduced are what columns cost more than they are worth.
	binv           [][]float64
	duals, reduced []float64
}

// NewCovering is a programme without columns, of rows that ask for so much.
func NewCovering(rhs []float64) *Covering {
	m := len(rhs)
	s := &Covering{start: []int32{0}, rhs: slices.Clone(rhs), first: m}
	s.duals = make([]float64, m)
	for i, q := range rhs {
		s.Basis, s.X = append(s.Basis, int32(-1-i)), append(s.X, -q)
		s.binv = append(s.binv, make([]float64, m))
		s.binv[i][i] = -1
	}
	return s
}

// Add appends a column; rows are added later.
func (s *Covering) Add(cost float64, rows, counts []int32) {
	for k, i := range rows {
		s.row, s.val = append(s.row, i), append(s.val, float64(counts[k]))
	}
	s.start = append(s.start, int32(len(s.row)))
	s.cost, s.reduced = append(s.cost, cost), append(s.reduced, cost)
	s.in, s.line, s.worth, s.live = append(s.in, false), append(s.line, 0), append(s.worth, 0), append(s.live, int32(len(s.line)))
}

// AddRow adds a row, by column, which asks for so much.
func (s *Covering) AddRow(entries []float64, rhs float64) {
	m := len(s.rhs)
	line, x := make([]float64, m+1), -rhs
	for k, j := range s.Basis {
		if j >= 0 && entries[j] != 0 {
			for i, v := range s.binv[k] {
				line[i] += float64(entries[j] * v)
			}
			x += float64(entries[j] * s.X[k])
		}
	}
	line[m] = -1
	for k := range s.binv {
		s.binv[k] = append(s.binv[k], 0)
	}
	s.binv = append(s.binv, line)
	s.added, s.rhs = append(s.added, entries), append(s.rhs, rhs)
	s.Basis, s.X, s.duals = append(s.Basis, int32(-1-m)), append(s.X, x), append(s.duals, 0)
	s.Work += int64(m * m)
}

// Save keeps where the programme is now, for Return.
func (s *Covering) Save(to *CoveringState) {
	to.copy(&s.CoveringState)
	s.Work += int64(len(s.rhs)*len(s.rhs) + len(s.cost))
}

// Return goes back to where the programme was; rows that were added since are gone.
func (s *Covering) Return(to *CoveringState) {
	m := len(to.Basis)
	s.rhs, s.added = s.rhs[:m], s.added[:m-s.first]
	s.copy(to)
	s.Work += int64(m*m + len(s.cost))
}

// copy makes it equal to another, in its own memory.
func (t *CoveringState) copy(o *CoveringState) {
	t.Basis, t.X = append(t.Basis[:0], o.Basis...), append(t.X[:0], o.X...)
	t.in, t.live = append(t.in[:0], o.in...), append(t.live[:0], o.live...)
	t.duals, t.reduced = append(t.duals[:0], o.duals...), append(t.reduced[:0], o.reduced...)
	m := len(o.binv)
	for k, line := range o.binv {
		if k == cap(t.binv) {
			t.binv = append(t.binv[:k], nil)
		}
		t.binv = t.binv[:k+1]
		t.binv[k] = append(t.binv[k][:0], line...)
	}
	t.binv = t.binv[:m]
}

// Solve pivots until every row has what it asks for, or no solution is cheaper than most, and says what none is cheaper
// than.
func (s *Covering) Solve(most float64, stop func() bool) (bound float64, solved bool) {
	for range 50 * (len(s.rhs) + 4) {
		if stop() {
			break
		}
		leave, least := -1, -1e-7
		for k, x := range s.X {
			if x < least {
				leave, least = k, x
			}
		}
		if leave < 0 {
			bound = s.bound(s.duals)
			s.forgo(most - bound)
			return bound, true
		}
		enter := s.enter(leave)
		if enter == NoColumn {
			return s.bound(s.ray(leave, most)), false
		}
		s.exchange(leave, enter)
		value := 0.0
		for i, v := range s.duals {
			value += float64(v * s.rhs[i])
		}
		if value > most {
			if b := s.bound(s.duals); b > most {
				return b, false
			}
		}
	}
	return s.bound(s.duals), false
}

// enter is what takes the place of something of which there is less than none, at the least cost for that; NoColumn
// where nothing can.
func (s *Covering) enter(leave int) int32 {
	of := s.binv[leave]
	q, best := int32(NoColumn), math.Inf(1)
	for i, v := range of {
		// The surplus of a row has -1 there.
		if v > 1e-9 && s.duals[i]/v < best && !slices.Contains(s.Basis, int32(-1-i)) {
			q, best = int32(-1-i), max(0, s.duals[i])/v
		}
	}
	s.price(of, s.line)
	for _, j := range s.live {
		v := s.line[j]
		if v < -1e-9 && !s.in[j] && s.reduced[j] < -best*v {
			q, best = j, max(0, s.reduced[j])/-v
		}
	}
	return q
}

// price computes for each column what it has of the rows, at so much each.
func (s *Covering) price(at, out []float64) {
	for _, j := range s.live {
		sum := 0.0
		for k := s.start[j]; k < s.start[j+1]; k++ {
			sum += float64(s.val[k] * at[s.row[k]])
		}
		out[j] = sum
	}
	for r, entries := range s.added {
		if v := at[s.first+r]; v != 0 {
			for _, j := range s.live {
				out[j] += float64(v * entries[j])
			}
			s.Work += int64(len(s.live))
		}
	}
	s.Work += int64(len(s.live) * (2 + len(s.row)/len(s.cost)))
}

// exchange puts a variable into the basis; line has what the row of the inverse gives for each column.
func (s *Covering) exchange(leave int, q int32) {
	m := len(s.rhs)
	s.w = slices.Grow(s.w[:0], m)[:m]
	for k := range s.w {
		s.w[k] = s.entry(s.binv[k], q)
	}
	var step float64
	if q >= 0 {
		step = s.reduced[q] / s.w[leave]
		s.in[q] = true
	} else {
		step = s.duals[-1-q] / s.w[leave]
	}
	for _, j := range s.live {
		s.reduced[j] -= float64(step * s.line[j])
	}
	if old := s.Basis[leave]; old >= 0 {
		s.in[old], s.reduced[old] = false, -step
	}
	s.Basis[leave] = q
	line, inv := s.binv[leave], 1/s.w[leave]
	for i := range line {
		// The dual of a row is what its surplus costs, and that has -1 there.
		s.duals[i] += float64(step * line[i])
		line[i] *= inv
	}
	s.X[leave] *= inv
	for k, f := range s.w {
		if k == leave || f == 0 {
			continue
		}
		for i, v := range line {
			s.binv[k][i] -= float64(f * v)
		}
		s.X[k] -= float64(f * s.X[leave])
	}
	s.Work += int64(m*m + len(s.live))
}

// entry is what a line of the inverse gives for a variable.
func (s *Covering) entry(line []float64, q int32) float64 {
	if q < 0 {
		return -line[-1-q]
	}
	sum := 0.0
	for k := s.start[q]; k < s.start[q+1]; k++ {
		sum += float64(s.val[k] * line[s.row[k]])
	}
	for r, entries := range s.added {
		sum += float64(entries[q] * line[s.first+r])
	}
	return sum
}

// ray raises the duals until they prove more than most, given a place that nothing can fill.
func (s *Covering) ray(leave int, most float64) []float64 {
	out := slices.Clone(s.duals)
	by := (2*math.Abs(most) + 1) / -s.X[leave]
	for i, v := range s.binv[leave] {
		out[i] -= float64(by * v)
	}
	return out
}

// bound is what duals prove, whatever rounding errors did to them; worth is what they give for columns, then.
func (s *Covering) bound(duals []float64) float64 {
	y := append(s.y[:0], duals...)
	s.y = y
	sum, steepest := 0.0, 1.0
	for i, v := range y {
		y[i] = max(0, v)
		sum += float64(y[i] * s.rhs[i])
	}
	s.price(y, s.worth)
	for _, j := range s.live {
		steepest = max(steepest, s.worth[j]/s.cost[j])
	}
	for _, j := range s.live {
		s.worth[j] /= steepest
	}
	return sum / steepest
}

// forgo leaves out columns that cost more than they are worth by more than the slack: no solution has one that is cheap
// enough.
func (s *Covering) forgo(slack float64) {
	kept := s.live[:0]
	for _, j := range s.live {
		if s.in[j] || s.cost[j]-s.worth[j] <= slack {
			kept = append(kept, j)
		}
	}
	s.live = kept
}
