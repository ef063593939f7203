// Package exact solves small packing problems to the optimum, by dynamic programming over what is left of each row.
//
// It never gives an answer that is not the best, and says where a problem is too large for one. Start reading with Solve.
package exact

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// MostSplits bounds the problems that are solved exactly: how many ways there are to split remainders in two.
const MostSplits = 1 << 20

// Search solves a small problem to the optimum: the least cost of each remainder, by what the next bin holds. A remainder
// is a number of pods of each row, written as one number with the rows as its digits.
type Search struct {
	c    *compact.Problem
	open *compact.OpenBin
	pl   *compact.Plan
	// rows have pods, count how many; stride is what one pod of a row adds to a remainder's number.
	rows          []int32
	count, stride []int32
	// single is what one bin that holds just this costs, math.MaxInt64 where none does; by is which bin.
	single []int64
	by     []int32
	// one is what a filling costs on the bin of the stage that is being made.
	one []int64
	// least is what all that costs; pick, by stage, is what the last bin holds.
	least  []int64
	stages []stage
	digits []int32
	cnt    []int32
	// Work is what has been spent.
	Work int64
	// cut says that it was stopped before its end.
	cut bool
}

// goesOn asks every now and then whether to stop.
func (e *Search) goesOn(state int32) bool {
	if state%64 == 0 && !e.cut {
		e.cut = e.c.Stopped()
	}
	return !e.cut
}

// stage is the choice for one more copy of a bin of which there is only so much; the first stage is for all others.
type stage struct {
	bin  int32
	cost []int64
	pick []int32
}

// Solve finds the least cost that is possible, limits aside, to finish a plan; ok is false where the problem is too
// large, with more than so many splits.
func Solve(pl *compact.Plan, most int64) (e *Search, ok bool) {
	c := pl.Problem
	pairs := pl.Splits(most)
	if pairs > most {
		return nil, false
	}
	e = &Search{c: c, open: compact.NewOpenBin(c), pl: pl, cnt: make([]int32, 0, c.NumRows)}
	states := int32(1)
	for i, n := range pl.Rest {
		if n > 0 {
			e.rows, e.count, e.stride = append(e.rows, int32(i)), append(e.count, n), append(e.stride, states)
			states *= n + 1
		}
	}
	stages := e.copies()
	if pairs*int64(stages+1) > most {
		return e, false
	}
	e.digits = make([]int32, len(e.rows))
	e.singles(states)
	e.unlimited(states)
	for b := range c.Bins {
		if c.Bins[b].Limited {
			e.limited(int32(b))
		}
	}
	return e, !e.cut
}

// copies is how many stages there are beyond the first.
func (e *Search) copies() int {
	n := 0
	for b := range e.c.Bins {
		if e.c.Bins[b].Limited {
			n += int(e.pl.Remaining(int32(b), int32(e.pl.Pods)))
		}
	}
	return n
}

// spell writes a remainder as digits and, without the zeros, as a filling.
func (e *Search) spell(state int32) (rows, cnt []int32) {
	e.cnt = e.cnt[:0]
	for x := range e.rows {
		d := state / e.stride[x] % (e.count[x] + 1)
		e.digits[x] = d
		e.cnt = append(e.cnt, d)
	}
	return e.rows, e.cnt
}

// singles finds the cheapest bin for each filling.
func (e *Search) singles(states int32) {
	e.single, e.by = make([]int64, states), make([]int32, states)
	for s := int32(1); s < states && e.goesOn(s); s++ {
		rows, cnt := e.spell(s)
		e.single[s] = math.MaxInt64
		for b := range e.c.Bins {
			bin := &e.c.Bins[b]
			if bin.Price >= e.single[s] {
				break
			}
			e.Work += int64(e.c.NumResources + 1)
			if bin.Limited {
				continue
			}
			if cost, ok := e.price(bin, rows, cnt); ok && cost < e.single[s] {
				e.single[s], e.by[s] = cost, int32(b)
			}
		}
		e.Work += int64(len(e.rows))
	}
}

// price is what a bin costs that holds a filling.
func (e *Search) price(b *compact.Bin, rows, cnt []int32) (cost int64, ok bool) {
	pen, ok := e.open.Holds(b, rows, cnt)
	return b.Price + pen, ok
}

// unlimited splits each remainder into what the next bin holds and the rest. The next bin always holds a pod of the
// remainder's first row, so that no order of the same bins is tried twice.
func (e *Search) unlimited(states int32) {
	e.least = make([]int64, states)
	pick := make([]int32, states)
	for s := int32(1); s < states && e.goesOn(s); s++ {
		e.spell(s)
		e.least[s] = math.MaxInt64
		first := 0
		for e.digits[first] == 0 {
			first++
		}
		e.split(s, 0, first, 1, pick)
	}
	e.stages = append(e.stages, stage{bin: -1, cost: e.least, pick: pick})
}

// split tries all fillings of a remainder that begin with part and go on from row x, with so many pods of that at least.
// Small fillings come first, so that of equal costs that of the smaller nodes stays.
func (e *Search) split(s, part int32, x int, least int32, pick []int32) {
	stride := e.stride[x]
	if x+1 < len(e.digits) {
		for q := least; q <= e.digits[x]; q++ {
			e.split(s, part+q*stride, x+1, 0, pick)
		}
		return
	}
	best := e.least[s]
	for q := least; q <= e.digits[x]; q++ {
		p := part + q*stride
		if a, b := e.single[p], e.least[s-p]; a < best && b < best-a {
			best, pick[s] = a+b, p
		}
	}
	e.least[s] = best
	e.Work += int64(e.digits[x] + 1)
}

// limited adds stages for the copies of a bin of which there is only so much.
func (e *Search) limited(b int32) {
	bin := &e.c.Bins[b]
	states := int32(len(e.least))
	e.one = make([]int64, states)
	for s := int32(1); s < states && e.goesOn(s); s++ {
		rows, cnt := e.spell(s)
		e.one[s] = math.MaxInt64
		if cost, ok := e.price(bin, rows, cnt); ok {
			e.one[s] = cost
		}
	}
	for range e.pl.Remaining(b, int32(e.pl.Pods)) {
		st := stage{bin: b, cost: slices.Clone(e.least), pick: make([]int32, states)}
		for s := int32(1); s < states && e.goesOn(s); s++ {
			e.spell(s)
			e.extend(s, 0, 0, &st)
		}
		e.least = st.cost
		e.stages = append(e.stages, st)
	}
}

// extend tries all fillings of one more copy of a bin.
func (e *Search) extend(s, part int32, x int, st *stage) {
	if x == len(e.digits) {
		e.Work++
		if part == 0 || e.one[part] == math.MaxInt64 || e.least[s-part] == math.MaxInt64 {
			return
		}
		if v := e.one[part] + e.least[s-part]; v < st.cost[s] {
			st.cost[s], st.pick[s] = v, part
		}
		return
	}
	for q := e.digits[x]; q >= 0; q-- {
		e.extend(s, part+q*e.stride[x], x+1, st)
	}
}

// Whole says that everything can be packed.
func (e *Search) Whole() bool { return e.least[len(e.least)-1] < math.MaxInt64 }

// Finish puts the optimum into the plan, which then may be above limits.
func (e *Search) Finish(s *compact.Slab) {
	state := int32(len(e.least) - 1)
	for k := len(e.stages) - 1; k >= 0; k-- {
		st := &e.stages[k]
		for st.pick[state] > 0 {
			part := st.pick[state]
			state -= part
			if st.bin < 0 {
				e.buy(s, e.by[part], part, e.single[part])
				continue
			}
			rows, cnt := e.spell(part)
			cost, _ := e.price(&e.c.Bins[st.bin], rows, cnt)
			e.buy(s, st.bin, part, cost)
			break
		}
	}
}

func (e *Search) buy(s *compact.Slab, b, part int32, cost int64) {
	e.spell(part)
	n := 0
	for _, d := range e.digits {
		if d > 0 {
			n++
		}
	}
	p := compact.Filling{Bin: b, Copies: 1, Rows: s.Take(n), Counts: s.Take(n), Cost: cost}
	n = 0
	for x, d := range e.digits {
		if d > 0 {
			p.Rows[n], p.Counts[n] = e.rows[x], d
			n++
		}
	}
	e.pl.Take(p)
}
