package knapsack

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/heaps"
)

// branchAndBound looks for the best filling of one bin: it solves the knapsack's relaxation, splits at a row of which
// the solution has a part of a pod, and solves it again in each half.
type branchAndBound struct {
	p    *Packer
	kn   *state
	v    []float64
	best float64
	// now is the filling at hand by index in rows, tops are the best ones, the best first.
	now  []int32
	tops []Filling
	// room is memory for the rows of which a pod fits beside the filling at hand.
	room  []dense
	worth float64
	// beat is what a filling must be worth more than to be looked for.
	beat float64
	// left is what may still be done: how many relaxations, and the packer's work at which to end.
	left Limit
	// open is what no filling is worth more than in the halves that were given up.
	open float64
	tol  float64
	// half is the knapsack of the half at hand, least how many pods of each row a filling has there.
	half  state
	least []int32
	// cuts are the rows that the half at hand was split at.
	cuts []cut
	// halves are those that are still to be split, the one of which a filling may be worth most first; spare has the
	// memory of others.
	halves []*split
	spare  []*split
}

// dense is a row, by index in rows, and what a pod is worth for the capacity that it takes.
type dense struct {
	x     int32
	worth float64
}

// mostTops is how many fillings are kept: more of them spare rounds, which cost more than columns do.
const mostTops = 4

// mostHalves is how many halves are kept at a time, of some hundred bytes each.
const mostHalves = 4096

// split is a half that is to be split at a row, of which it has so many pods beyond the least, and what no filling of
// it is worth more than.
type split struct {
	upper, sure float64
	row         int32
	pods        float64
	basis       []int32
	cuts        []cut
	binv, rhs   []float64
	up          []bool
}

// Before says that a filling may be worth more in s.
func (s *split) Before(t *split) bool { return s.upper > t.upper }

// cut is what a half knows of a row by index that the whole does not: how many pods of it a filling has there at least,
// and how many more at most.
type cut struct {
	row, least int32
	u          float64
}

func (s *branchAndBound) begin(p *Packer, kn *state, v []float64) {
	s.p, s.kn, s.v, s.best, s.worth, s.beat, s.tol = p, kn, v, 0, 0, 0, 1e-9*float64(kn.b.Price+1)
	n := len(v)
	if cap(s.now) < n {
		s.now, s.least = make([]int32, p.c.NumRows), make([]int32, p.c.NumRows)
	}
	s.now, s.least, s.tops = s.now[:n], s.least[:n], s.tops[:0]
}

// empty starts on the empty filling.
func (s *branchAndBound) empty() {
	clear(s.now)
	s.worth = 0
	s.p.open.Open(s.kn.b)
}

func (s *branchAndBound) put(x, q int32) {
	s.now[x] += q
	s.worth += float64(float64(q) * s.v[x])
	s.p.open.Put(s.kn.b.Rows[x], q)
}

// roundDown takes the whole pods of a relaxation.
func (s *branchAndBound) roundDown(kn *state) {
	l := s.p.open
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
	s.p.Work += int64(len(s.v))
}

// fillUp adds what still fits, the least loss first. What does not fit once never fits again.
func (s *branchAndBound) fillUp(lam []float64) {
	kn, p := s.kn, s.p
	if p.open.Full() {
		p.Work += int64(len(s.v) * (p.c.NumResources + 2))
		return
	}
	room := s.room[:0]
	for x, v := range s.v {
		if v > 0 && s.now[x] < int32(kn.u[x]) && p.open.Takes(kn.b.Rows[x]) {
			if d := v / (float64(1e-6*v) + capacity(kn, lam, x)); d > 0 {
				room = append(room, dense{int32(x), d})
			}
		}
	}
	s.room = room[:0]
	steps := 1
	for len(room) > 0 {
		at := 0
		for n := range room {
			if room[n].worth > room[at].worth {
				at = n
			}
		}
		x := room[at].x
		if q := p.open.Capacity(kn.b.Rows[x], int32(kn.u[x])-s.now[x]); q > 0 {
			s.put(x, q)
			steps++
		}
		kept := room[:0]
		for n, o := range room {
			if n != at && p.open.Takes(kn.b.Rows[o.x]) {
				kept = append(kept, o)
			}
		}
		room = kept
	}
	p.Work += int64(steps * len(s.v) * (p.c.NumResources + 2))
}

// capacity is the price of the capacity that a pod takes.
func capacity(kn *state, lam []float64, x int) float64 {
	c := 0.0
	for r, q := range kn.a[x*kn.k:][:len(lam)] {
		c += float64(lam[r] * q)
	}
	return c
}

// record keeps the filling at hand if it is one of the best.
func (s *branchAndBound) record() {
	if s.worth > s.best {
		s.best, s.beat = s.worth, max(s.beat, s.worth+s.tol)
	}
	at := len(s.tops)
	for at > 0 && s.worth > s.tops[at-1].Worth {
		at--
	}
	if at == mostTops || at > 0 && slices.Equal(s.now, s.tops[at-1].Counts) {
		return
	}
	if len(s.tops) < mostTops {
		s.tops = slices.Grow(s.tops, 1)[:len(s.tops)+1] // with the memory of the last that was there
	}
	last := s.tops[len(s.tops)-1]
	copy(s.tops[at+1:], s.tops[at:])
	s.tops[at] = Filling{Worth: s.worth, Counts: append(last.Counts[:0], s.now...)}
}

// branch searches all fillings that could be worth more, within a limit, and says what none is worth more than.
func (s *branchAndBound) branch(upper float64, most Limit) float64 {
	s.half.copy(s.kn, s.p.c.NumRows)
	clear(s.least)
	s.cuts = s.cuts[:0]
	s.left, s.open = most, 0
	s.spare, s.halves = append(s.spare, s.halves...), s.halves[:0]
	s.visit()
	for len(s.halves) > 0 && s.halves[0].upper > s.beat {
		if s.left.Relaxations <= 0 || s.p.Work >= s.left.Work {
			s.open = max(s.open, s.halves[0].upper)
			break
		}
		s.splitFirst()
	}
	return min(upper, max(s.beat, s.open))
}

// found is what the search has come to: no filling is worth more than most.
func (s *branchAndBound) found(most float64) Found {
	return Found{Most: most, Known: most <= s.beat, Fillings: s.tops}
}

// splitFirst looks for fillings in both parts of the half of which one may be worth most.
func (s *branchAndBound) splitFirst() {
	at := heaps.Pop(&s.halves)
	h, x := &s.half, at.row
	down := math.Floor(at.pods)
	s.load(at)
	h.u[x] = down
	s.cutAt(x)
	s.visit()
	s.load(at)
	for r := range h.rhs {
		h.rhs[r] -= float64((down + 1) * h.a[int(x)*h.k+r])
	}
	h.u[x] -= down + 1
	s.least[x] += int32(down + 1)
	s.cutAt(x)
	h.sure += float64((down + 1) * s.v[x])
	s.visit()
	s.spare = append(s.spare, at)
}

// copy makes a knapsack equal to another one, as the whole of it, in its own memory; there are so many rows at most.
func (kn *state) copy(o *state, rows int) {
	n, k := len(o.u), o.k
	if cap(kn.buf) < rows+k*k+3*k || cap(kn.basis) < k {
		kn.buf, kn.flags, kn.basis = make([]float64, rows+k*k+3*k), make([]bool, 2*rows), make([]int32, k)
	}
	kn.b, kn.k, kn.a, kn.sure = o.b, k, o.a, 0
	buf := kn.buf
	kn.u, buf = buf[:n], buf[n:]
	kn.binv, buf = buf[:k*k], buf[k*k:]
	kn.xb, kn.lam, kn.rhs = buf[:k], buf[k:2*k], buf[2*k:3*k]
	kn.up, kn.in, kn.basis = kn.flags[:n], kn.flags[n:2*n], kn.basis[:k]
	copy(kn.u, o.u)
	copy(kn.binv, o.binv)
	copy(kn.up, o.up)
	copy(kn.in, o.in)
	copy(kn.basis, o.basis)
	for r := range kn.rhs {
		kn.rhs[r] = 1
	}
}

// visit looks for a filling in the half at hand, and keeps the half if there may be better ones.
func (s *branchAndBound) visit() {
	h := &s.half
	s.left.Relaxations--
	ok := s.p.restore(h, s.v)
	upper := s.p.upper(h, s.v)
	if upper <= s.beat {
		return
	}
	if !ok {
		s.open = max(s.open, upper)
		return
	}
	s.try()
	if upper <= s.beat {
		return
	}
	x, q := s.fraction()
	if x < 0 {
		x, q = s.whole()
	}
	if x >= 0 { // else the least breaks a rule that the relaxation does not know, and so does more
		s.keep(x, q, upper)
	}
}

// fraction is the row with the largest part of a pod in the relaxation's solution, by what that is worth, and how many
// pods of it there are beyond the least; -1 where all are whole.
func (s *branchAndBound) fraction() (row int32, q float64) {
	h := &s.half
	row = -1
	most := 0.0
	for i, x := range h.basis {
		if x < 0 {
			continue
		}
		f := h.xb[i] - math.Floor(h.xb[i]+1e-9)
		if w := min(f, 1-f) * s.v[x]; f > 1e-7 && w > most {
			row, q, most = x, h.xb[i]+1e-9, w
		}
	}
	return row, q
}

// whole is a row with pods beyond the least in a solution that has no parts of pods, and a little less than there are;
// -1 where none has.
func (s *branchAndBound) whole() (row int32, q float64) {
	h := &s.half
	for i, x := range h.basis {
		if x >= 0 && h.xb[i] > 0.5 {
			return x, math.Round(h.xb[i]) - 0.5
		}
	}
	for x, up := range h.up {
		if up && !h.in[x] && h.u[x] > 0.5 {
			return int32(x), h.u[x] - 0.5
		}
	}
	return -1, 0
}

// try makes a filling of the relaxation's solution.
func (s *branchAndBound) try() {
	s.empty()
	for x, q := range s.least {
		if q > 0 {
			if q = s.p.open.Capacity(s.kn.b.Rows[x], q); q > 0 {
				s.put(int32(x), q)
			}
		}
	}
	s.roundDown(&s.half)
	s.fillUp(s.half.lam)
	s.record()
}

// keep keeps the half at hand, to be split at a row, or gives it up where there is no room.
func (s *branchAndBound) keep(x int32, pods, upper float64) {
	if len(s.halves) == mostHalves {
		s.open = max(s.open, upper)
		return
	}
	at := new(split)
	if n := len(s.spare); n > 0 {
		at, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	h := &s.half
	at.upper, at.sure, at.row, at.pods = upper, h.sure, x, pods
	at.basis, at.cuts = append(at.basis[:0], h.basis...), append(at.cuts[:0], s.cuts...)
	at.binv, at.rhs, at.up = append(at.binv[:0], h.binv...), append(at.rhs[:0], h.rhs...), append(at.up[:0], h.up...)
	heaps.Push(&s.halves, at)
}

// load goes back to a half that was kept.
func (s *branchAndBound) load(at *split) {
	h := &s.half
	for _, c := range s.cuts {
		h.u[c.row], s.least[c.row] = s.kn.u[c.row], 0
	}
	s.cuts = append(s.cuts[:0], at.cuts...)
	for _, c := range s.cuts {
		h.u[c.row], s.least[c.row] = c.u, c.least
	}
	h.enlist(false)
	copy(h.basis, at.basis)
	h.enlist(true)
	h.sure = at.sure
	copy(h.binv, at.binv)
	copy(h.rhs, at.rhs)
	copy(h.up, at.up)
}

// enlist says of the rows of the basis that they are in it, or not.
func (kn *state) enlist(in bool) {
	for _, x := range kn.basis {
		if x >= 0 {
			kn.in[x] = in
		}
	}
}

// cutAt notes what the half at hand knows of a row.
func (s *branchAndBound) cutAt(row int32) {
	c := cut{row, s.least[row], s.half.u[row]}
	for k := range s.cuts {
		if s.cuts[k].row == row {
			s.cuts[k] = c
			return
		}
	}
	s.cuts = append(s.cuts, c)
}
