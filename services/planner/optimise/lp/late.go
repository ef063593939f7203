package lp

// mostLate is how many places pivots are put off for.
const mostLate = 8

// catchUp takes what entering does over to the inverse of now.
func (s *Program) catchUp() {
	n := len(s.late)
	if n == 0 {
		return
	}
	var was [mostLate]float64
	for k, r := range s.late {
		was[k] = s.w[r]
		s.w[r] = 0
	}
	for i, w := range s.w {
		for k, f := range s.mix[i*mostLate:][:n] {
			w += float64(f * was[k])
		}
		s.w[i] = w
	}
	s.Work += int64(len(s.w) * n)
}

// putOff makes a place one of those that pivots are put off for, and says what its row of the inverse is of theirs.
func (s *Program) putOff(r int) *[mostLate]float64 {
	m := s.Rows
	if !s.isLate[r] {
		if len(s.late) == mostLate {
			s.settle()
		}
		n := len(s.late)
		s.mix[r*mostLate+n] = 1
		s.late, s.isLate[r] = append(s.late, int32(r)), true
		copy(s.lines[n*m:n*m+m], s.binv[r*m:r*m+m])
	}
	return (*[mostLate]float64)(s.mix[r*mostLate:])
}

// subtract takes f times what a place has of each row off what another one has. It has none of the rows that no pivot
// is put off for, but to leave them out would take longer.
func subtract(from, of *[mostLate]float64, f float64) {
	from[0] -= float64(f * of[0])
	from[1] -= float64(f * of[1])
	from[2] -= float64(f * of[2])
	from[3] -= float64(f * of[3])
	from[4] -= float64(f * of[4])
	from[5] -= float64(f * of[5])
	from[6] -= float64(f * of[6])
	from[7] -= float64(f * of[7])
}

// settle does the pivots that were put off.
func (s *Program) settle() {
	m := s.Rows
	for i := range m {
		row := s.binv[i*m : i*m+m]
		if s.isLate[i] {
			clear(row)
		}
		s.blend(row, i)
	}
	s.Work += int64(m * m * len(s.late) / 2)
	s.forget()
}

// forget takes what the inverse was as what it is.
func (s *Program) forget() {
	s.late = s.late[:0]
	clear(s.isLate)
	clear(s.mix)
	clear(s.lines)
}

// blend adds what place i has of the rows at the places that pivots are put off for.
func (s *Program) blend(to []float64, i int) {
	const half = mostLate / 2
	f, none := [mostLate]float64(s.mix[i*mostLate:]), [half]float64{}
	first, second := [half]float64(f[:half]), [half]float64(f[half:])
	switch {
	case second == none:
		s.blendHalf(to, 0, first)
	case first == none:
		s.blendHalf(to, half, second)
	default:
		s.blendAll(to, f)
	}
}

// blendAll is blend for all places at once; what is not in an array may be kept at hand.
func (s *Program) blendAll(to []float64, f [mostLate]float64) {
	m := len(to)
	a, b, c, d := s.lines[:m], s.lines[m:][:m], s.lines[2*m:][:m], s.lines[3*m:][:m]
	e, g, h, l := s.lines[4*m:][:m], s.lines[5*m:][:m], s.lines[6*m:][:m], s.lines[7*m:][:m]
	f0, f1, f2, f3, f4, f5, f6, f7 := f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
	for j, v := range to {
		v += float64(f0*a[j]) + float64(f1*b[j])
		v += float64(f2*c[j]) + float64(f3*d[j])
		v += float64(f4*e[j]) + float64(f5*g[j])
		to[j] = v + (float64(f6*h[j]) + float64(f7*l[j]))
	}
}

// blendHalf is blend for half of the places, from one on.
func (s *Program) blendHalf(to []float64, k int, f [mostLate / 2]float64) {
	if f == [mostLate / 2]float64{} {
		return
	}
	m := len(to)
	a, b, c, d := s.lines[k*m:][:m], s.lines[(k+1)*m:][:m], s.lines[(k+2)*m:][:m], s.lines[(k+3)*m:][:m]
	f0, f1, f2, f3 := f[0], f[1], f[2], f[3]
	for j, v := range to {
		v += float64(f0*a[j]) + float64(f1*b[j])
		to[j] = v + (float64(f2*c[j]) + float64(f3*d[j]))
	}
}
