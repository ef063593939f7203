package compact

import "slices"

// Plan is a packing in the making.
type Plan struct {
	Problem  *Problem
	Fillings []Filling
	Cost     int64
	// Rest are the pods of each row that are not packed yet, Pods how many that is.
	Rest []int32
	Pods int
	// Used are copies by bin, LimitLeft is what is left of each limit.
	Used      []int32
	LimitLeft []int64
}

// Filling is what one bin holds, used Copies times. What it holds is never changed once it is in a plan.
type Filling struct {
	Bin, Copies  int32
	Rows, Counts []int32
	// Cost is for one copy, with penalties.
	Cost int64
}

// Worth is what the pods of one copy are worth, by row.
func (f *Filling) Worth(byRow []float64) (sum float64) {
	for x, i := range f.Rows {
		sum += float64(byRow[i] * float64(f.Counts[x]))
	}
	return sum
}

// NewPlan makes a plan that has placed nothing.
func NewPlan(c *Problem) *Plan {
	pl := &Plan{Problem: c, Rest: slices.Clone(c.Count), Used: make([]int32, len(c.Bins)), LimitLeft: slices.Clone(c.Limits)}
	for i, held := range c.packable {
		if !held {
			pl.Rest[i] = 0
		}
	}
	pl.Pods = c.Pods()
	return pl
}

// Clone is a copy that changes apart.
func (pl *Plan) Clone() *Plan {
	out := *pl
	out.Fillings, out.Rest = slices.Clone(pl.Fillings), slices.Clone(pl.Rest)
	out.Used, out.LimitLeft = slices.Clone(pl.Used), slices.Clone(pl.LimitLeft)
	return &out
}

// Set makes pl a copy of o, in pl's own memory.
func (pl *Plan) Set(o *Plan) {
	pl.Problem, pl.Cost, pl.Pods = o.Problem, o.Cost, o.Pods
	pl.Fillings = append(pl.Fillings[:0], o.Fillings...)
	pl.Rest = append(pl.Rest[:0], o.Rest...)
	pl.Used = append(pl.Used[:0], o.Used...)
	pl.LimitLeft = append(pl.LimitLeft[:0], o.LimitLeft...)
}

// Better says that pl leaves fewer pods than o, or costs less and leaves no more.
func (pl *Plan) Better(o *Plan) bool {
	if pl.Pods != o.Pods {
		return pl.Pods < o.Pods
	}
	return pl.Cost < o.Cost
}

// Remaining is how many more copies of a bin, up to most, may be used.
func (pl *Plan) Remaining(bin, most int32) int32 {
	b := &pl.Problem.Bins[bin]
	n := min(int64(most), int64(b.Copies)-int64(pl.Used[bin]))
	if !b.Limited {
		n = int64(most)
	}
	for l, x := range b.Amount {
		if x > 0 {
			n = min(n, max(0, pl.LimitLeft[l])/x)
		}
	}
	return int32(max(0, n))
}

// Take adds copies of a filling. The caller does not change it any more.
func (pl *Plan) Take(p Filling) {
	b := &pl.Problem.Bins[p.Bin]
	pl.Used[p.Bin] += p.Copies
	for l, x := range b.Amount {
		pl.LimitLeft[l] -= x * int64(p.Copies)
	}
	for x, i := range p.Rows {
		pl.Rest[i] -= p.Counts[x] * p.Copies
		pl.Pods -= int(p.Counts[x] * p.Copies)
	}
	pl.Cost += p.Cost * int64(p.Copies)
	pl.Fillings = append(pl.Fillings, p)
}

// Remove takes n copies of the filling at a place back out. The place stays, even with no copies.
func (pl *Plan) Remove(at int, n int32) {
	p := &pl.Fillings[at]
	b := &pl.Problem.Bins[p.Bin]
	p.Copies -= n
	pl.Used[p.Bin] -= n
	for l, x := range b.Amount {
		pl.LimitLeft[l] += x * int64(n)
	}
	for x, i := range p.Rows {
		pl.Rest[i] += p.Counts[x] * n
		pl.Pods += int(p.Counts[x] * n)
	}
	pl.Cost -= p.Cost * int64(n)
}

// WithinLimits says that no limit is exceeded.
func (pl *Plan) WithinLimits() bool {
	return !slices.ContainsFunc(pl.LimitLeft, func(l int64) bool { return l < 0 })
}

// Tidy puts equal fillings together and drops those with no copies.
func (pl *Plan) Tidy() {
	slices.SortStableFunc(pl.Fillings, comparePats)
	out := pl.Fillings[:0]
	for _, p := range pl.Fillings {
		switch {
		case p.Copies == 0:
		case len(out) > 0 && comparePats(out[len(out)-1], p) == 0:
			out[len(out)-1].Copies += p.Copies
		default:
			out = append(out, p)
		}
	}
	pl.Fillings = out
}

// comparePats orders fillings by bin, the most expensive first, and content.
func comparePats(a, b Filling) int {
	if a.Bin != b.Bin {
		return int(b.Bin - a.Bin)
	}
	if x := slices.Compare(a.Rows, b.Rows); x != 0 {
		return x
	}
	return slices.Compare(b.Counts, a.Counts)
}

// Slab hands out memory for fillings in large pieces.
type Slab struct{ buf []int32 }

// Take returns n zeros of its own.
func (s *Slab) Take(n int) []int32 {
	if len(s.buf) < n {
		s.buf = make([]int32, max(8192, n))
	}
	out := s.buf[:n:n]
	s.buf = s.buf[n:]
	return out
}

// maxStates bounds how many different remainders there can be in a problem that is solved exactly.
const maxStates = 4096

// Splits is how many ways there are to split what a plan has left in two; more than most is all the same.
func (pl *Plan) Splits(most int64) int64 {
	states, pairs := int64(1), int64(1)
	for _, q := range pl.Rest {
		n := int64(q)
		if states *= n + 1; states > maxStates {
			return most + 1
		}
		if pairs *= (n + 1) * (n + 2) / 2; pairs > most {
			return most + 1
		}
	}
	return pairs
}
