package settle

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
	"github.com/kerf-dev/kerf/services/planner/optimise/lp"
)

const (
	// listedNodes is how many nodes may be listed for covers. With more the programme over them takes too long.
	listedNodes = 1 << 12
	// mostSplits is how often a half may be split.
	mostSplits = 48
)

// ByCovers looks for plans among those made of full nodes that lose little each, in ever more of what is between the
// bound and the best plan: by branch and bound over the linear programme that covers all pods with them. Where it ends
// early, it has raised the bound as far as all that it has left open lets it.
func (t *Search) ByCovers(limit int64) {
	t.limit, t.Found = t.Work+limit, nil
	for slack := t.from * firstSlack; !t.Closed() && !t.over(); slack *= 2 {
		if t.from+slack <= float64(t.Bound) {
			continue
		}
		last := t.from+slack >= float64(t.Cost)
		below := t.Cost
		if !last {
			below = int64(t.from + slack)
		}
		x := t.covers(float64(below) - t.from)
		if x == nil {
			return
		}
		x.look(below)
		if t.over() && !math.IsInf(x.open, 1) {
			t.Bound = max(t.Bound, min(t.Cost, below, int64(x.open*(1-1e-9))))
			return
		}
		if last || t.Found != nil {
			t.Bound = t.Cost
			return
		}
		t.Bound = max(t.Bound, below)
	}
}

// covers is a search among the covers with some fillings.
type covers struct {
	*Search
	program *lp.Covering
	// fillings are the programme's columns.
	fillings []compact.Filling
	// unit divides all prices; low is what a better plan costs at most.
	unit int64
	low  int64
	// open is what no plan costs less than in the halves that were given up.
	open float64
	// saved is where the programme was before halves were split, by depth.
	saved []lp.CoveringState
}

// covers lists the full nodes that lose no more than the slack; nil where those are too many.
func (t *Search) covers(slack float64) *covers {
	if t.c.Bins[0].Price == 0 {
		return nil // the programme's columns cost something
	}
	x := &covers{Search: t, open: math.Inf(1)}
	all, ok := t.nodes(slack)
	if !ok {
		return nil
	}
	place, rhs := make([]int32, len(t.rest)), []float64(nil)
	for i, n := range t.rest {
		if n > 0 {
			place[i] = int32(len(rhs))
			rhs = append(rhs, float64(n))
		}
	}
	x.program = lp.NewCovering(rhs)
	seen := make(map[string]bool) // bins are sorted by price, so what holds the same later costs no less
	var rows []int32
	var key []byte
	for _, f := range all {
		key, rows = key[:0], rows[:0]
		for k, i := range f.Rows {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(i)), uint64(f.Counts[k]))
			rows = append(rows, place[i])
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			x.program.Add(float64(f.Cost), rows, f.Counts)
			x.fillings = append(x.fillings, f)
			x.unit = compact.CommonDivisor(x.unit, f.Cost)
		}
	}
	return x
}

// look looks for a plan that costs less than so much.
func (x *covers) look(below int64) {
	if len(x.fillings) == 0 {
		return
	}
	x.low = (below - 1) / x.unit * x.unit
	x.split(0)
}

// split looks through the half at hand.
func (x *covers) split(depth int) {
	before := x.program.Work
	bound, solved := x.program.Solve(float64(x.low)+0.01, func() bool { return x.Work+x.program.Work-before > x.limit })
	x.Work += x.program.Work - before
	if bound > float64(x.low)+0.01 {
		return
	}
	if !solved || depth == mostSplits || x.over() {
		x.open, x.Work = min(x.open, bound), x.limit+1
		return
	}
	entries, sum := x.fraction()
	if entries == nil {
		x.take()
		return
	}
	for len(x.saved) <= depth {
		x.saved = append(x.saved, lp.CoveringState{})
	}
	x.program.Save(&x.saved[depth])
	up := math.Ceil(sum)
	x.program.AddRow(entries, up)
	x.split(depth + 1)
	if x.over() {
		x.open = min(x.open, bound)
		return
	}
	x.program.Return(&x.saved[depth])
	for j := range entries {
		entries[j] = -entries[j]
	}
	x.program.AddRow(entries, 1-up)
	x.split(depth + 1)
}

// part is how far a number is from a whole one.
func part(v float64) float64 { return math.Abs(v - math.Round(v)) }

const (
	// leastPart is from where on a number is no whole one; goodPart is a part that is worth a split without a look at
	// what else there is.
	leastPart = 1e-5
	goodPart  = 0.1
)

// fraction is what to split by: the nodes of a bin, or those that hold so many pods of a row or more, or one filling,
// of which the solution has a part, with how many that is. nil where all is whole.
func (x *covers) fraction() (entries []float64, sum float64) {
	b := &parts{covers: x, part: leastPart}
	b.try(func(int32) bool { return true })
	for _, look := range []func(j int32){b.ofBin, b.ofRows, b.alone} {
		for k, j := range x.program.Basis {
			if b.part < goodPart && j >= 0 && x.program.X[k] > leastPart {
				look(j)
			}
		}
	}
	x.Work += int64(4 * len(x.program.Basis) * len(x.program.Basis))
	if b.in == nil {
		return nil, 0
	}
	entries = make([]float64, len(x.fillings))
	for j := range x.fillings {
		if b.in(int32(j)) {
			entries[j] = 1
		}
	}
	x.Work += int64(len(entries))
	return entries, b.sum
}

// parts looks for fillings of which the solution has the largest part beside whole ones.
type parts struct {
	*covers
	in        func(j int32) bool
	part, sum float64
}

func (b *parts) try(in func(j int32) bool) {
	sum := 0.0
	for k, j := range b.program.Basis {
		if j >= 0 && in(j) {
			sum += b.program.X[k]
		}
	}
	if p := part(sum); p > b.part {
		b.in, b.part, b.sum = in, p, sum
	}
}

func (b *parts) ofBin(j int32) {
	bin := b.fillings[j].Bin
	b.try(func(i int32) bool { return b.fillings[i].Bin == bin })
}

func (b *parts) ofRows(j int32) {
	for k, row := range b.fillings[j].Rows {
		q := b.fillings[j].Counts[k]
		b.try(func(i int32) bool { return held(&b.fillings[i], row) >= q })
	}
}

func (b *parts) alone(j int32) { b.try(func(i int32) bool { return i == j }) }

// held is how many pods of a row a filling has.
func held(f *compact.Filling, row int32) int32 {
	if k, ok := slices.BinarySearch(f.Rows, row); ok {
		return f.Counts[k]
	}
	return 0
}

// take makes the solution, which is whole, a plan: what covers pods twice is left out.
func (x *covers) take() {
	rest := slices.Clone(x.rest)
	var found []compact.Filling
	for k, j := range x.program.Basis {
		if j < 0 {
			continue
		}
		for range int(math.Round(x.program.X[k])) {
			f := compact.Filling{Bin: x.fillings[j].Bin, Copies: 1, Cost: x.fillings[j].Cost}
			for y, i := range x.fillings[j].Rows {
				if n := min(rest[i], x.fillings[j].Counts[y]); n > 0 {
					rest[i] -= n
					f.Rows, f.Counts = append(f.Rows, i), append(f.Counts, n)
				}
			}
			if len(f.Rows) > 0 {
				found = append(found, f)
			}
		}
	}
	if cost := costOf(found); cost < x.Cost && !slices.ContainsFunc(rest, func(n int32) bool { return n > 0 }) {
		x.Found, x.Cost = found, cost
		x.low = min(x.low, (cost-1)/x.unit*x.unit)
		return
	}
	x.open, x.Work = x.from, x.limit+1 // numbers that are not exact enough
}
