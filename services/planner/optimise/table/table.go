// Package table solves knapsacks of up to three resources in whole numbers, by a table of what the best filling is
// worth in each room.
//
// It knows nothing of bins and rules: what else a filling takes must come off what pods are worth before. Start reading
// with Table.
package table

import (
	"cmp"
	"math"
	"slices"
)

// Resources is how many resources a table knows.
const Resources = 3

// Table is one knapsack at a time, and the memory for the next. Worth is rounded up, so that no filling is worth more
// than it says.
type Table struct {
	// value is by entry, in units of unit; width is how many there are of each resource, and how much is left of the
	// last changes from entry to entry.
	value []int32
	width [Resources]int
	// alone says that it knows one resource, which is kept as the second: that takes least time.
	alone bool
	unit  float64
	// rows are all that fit, parts those that some filling needs.
	rows, parts []part
	// endless is memory for the endless parts.
	endless []*part
	densest float64
}

// part is some pods of a row, with what they take of each resource and what they are worth. A filling may have them as
// often as they fit where they are endless, else once.
type part struct {
	row     int32
	pods    int
	step    [Resources]int
	worth   float64
	units   int32
	endless bool
}

// Begin empties the table, and has it know rooms of 0 to width-1 steps of each resource.
func (t *Table) Begin(width [Resources]int) {
	if t.alone = width[1] == 1 && width[2] == 1; t.alone {
		width[0], width[1] = 1, width[0]
	}
	t.width, t.rows, t.parts, t.densest = width, t.rows[:0], t.parts[:0], 1
}

// Add adds a row: up to most pods that take so many steps of each resource, of one at least, and are worth so much each.
func (t *Table) Add(row int32, step [Resources]int, worth float64, most int) {
	if t.alone {
		step[0], step[1] = step[1], step[0]
	}
	share, fits := 0.0, math.MaxInt
	for r, s := range step {
		share += float64(s) / float64(t.width[r])
		if s > 0 {
			fits = min(fits, (t.width[r]-1)/s)
		}
	}
	if fits == 0 || most == 0 {
		return
	}
	t.densest = max(t.densest, worth/share)
	t.rows = append(t.rows, part{row: row, pods: min(most, fits), step: step, worth: worth, endless: fits <= most})
}

// Steps is how many steps it takes to fill the table with the rows that were added. If that is more than most, no row
// has an end any more: that takes fewer.
func (t *Table) Steps(most int64) int64 {
	t.unit = t.densest / (1 << 29) // no entry is worth more than the densest for each resource
	for k := range t.rows {
		t.rows[k].units = int32(math.Ceil(t.rows[k].worth / t.unit))
	}
	steps := t.list()
	if steps > most {
		for k := range t.rows {
			t.rows[k].endless = true
		}
		steps = t.list()
	}
	return steps
}

// list lists the parts, and says how many steps it takes to fill the table with them.
func (t *Table) list() int64 {
	t.parts = t.parts[:0]
	for k := range t.rows {
		if row := &t.rows[k]; !t.beaten(row) {
			t.split(row)
		}
	}
	return int64(t.size()) * int64(len(t.parts))
}

func (t *Table) size() int { return t.width[0] * t.width[1] * t.width[2] }

// beaten says that no filling needs a row: pods of an endless one that fit into what one of it takes are worth more, or
// those that take no more and are worth more do not all fit beside it.
func (t *Table) beaten(row *part) bool {
	all := row.step
next:
	for k := range t.rows {
		o := &t.rows[k]
		n := int64(math.MaxInt32)
		for r, s := range o.step {
			if s > row.step[r] {
				continue next
			}
			if s > 0 {
				n = min(n, int64(row.step[r]/s))
			}
		}
		if !o.endless {
			n = 1
		}
		if units := n * int64(o.units); units < int64(row.units) || units == int64(row.units) && o.row >= row.row {
			continue
		}
		if o.endless {
			return true
		}
		for r, s := range o.step {
			if all[r] += s * o.pods; all[r] >= t.width[r] {
				return true
			}
		}
	}
	return false
}

// split makes parts of a row: itself where it is endless, else 1, 2, 4 and so on of its pods, and what is left.
func (t *Table) split(row *part) {
	if row.endless {
		one := *row
		one.pods = 1
		t.parts = append(t.parts, one)
		return
	}
	for n, left := 1, row.pods; left > 0; n *= 2 {
		some := *row
		some.pods = min(n, left)
		some.units *= int32(some.pods)
		for r := range some.step {
			some.step[r] *= some.pods
		}
		t.parts = append(t.parts, some)
		left -= some.pods
	}
}

// Solve fills the table and says what no filling of the whole room is worth more than; false where it was stopped.
// Steps came before.
func (t *Table) Solve(stopped func() bool) (worth float64, ok bool) {
	t.value = slices.Grow(t.value[:0], t.size())[:t.size()]
	clear(t.value)
	rows := t.width[2] == 1
	if rows && !t.fillEndless(stopped) {
		return 0, false
	}
	for k := range t.parts {
		if stopped() {
			return 0, false
		}
		if p := &t.parts[k]; !p.endless || !rows {
			t.sweep(p)
		}
	}
	return float64(float64(t.value[len(t.value)-1]) * t.unit), true
}

// sweep lets the fillings of the table have a part: any number of times, or once, from the largest room to the smallest
// then.
func (t *Table) sweep(p *part) {
	w, s := t.width, p.step
	back := (s[0]*w[1]+s[1])*w[2] + s[2]
	for i := range w[0] - s[0] {
		if i += s[0]; !p.endless {
			i = w[0] - 1 - i + s[0]
		}
		if w[2] == 1 {
			t.improve(i*w[1]+s[1], (i+1)*w[1], back, p)
			continue
		}
		for j := range w[1] - s[1] {
			if j += s[1]; !p.endless {
				j = w[1] - 1 - j + s[1]
			}
			at := (i*w[1] + j) * w[2]
			t.improve(at+s[2], at+w[2], back, p)
		}
	}
}

// fillEndless lets the fillings of a table of two resources have all endless parts: room by room, so that those before
// have them all already, and four parts at once, because each entry is read and written once for all of them then.
// false where it was stopped.
func (t *Table) fillEndless(stopped func() bool) bool {
	t.endless = t.endless[:0]
	for k := range t.parts {
		if t.parts[k].endless {
			t.endless = append(t.endless, &t.parts[k])
		}
	}
	slices.SortStableFunc(t.endless, func(p, q *part) int { return cmp.Compare(p.step[1], q.step[1]) })
	for i := range t.width[0] {
		if i%stopEvery == 0 && stopped() {
			return false
		}
		var of [together]*part
		n := 0
		for _, p := range t.endless {
			if s := p.step[0]; s == 0 || s > i {
				continue
			}
			of[n] = p
			if n++; n == together {
				t.improveByAll(i, &of)
				n = 0
			}
		}
		for _, p := range of[:n] {
			t.improveRow(i, p)
		}
		for _, p := range t.endless {
			if p.step[0] == 0 { // it reads what is written here
				t.improveRow(i, p)
			}
		}
	}
	return true
}

// stopEvery is after how many rooms to ask whether to stop, together how many parts are done at once.
const stopEvery, together = 16, 4

// improveRow is improve for all entries with so much room of the first resource.
func (t *Table) improveRow(i int, p *part) {
	w := t.width[1]
	t.improve(i*w+p.step[1], (i+1)*w, p.step[0]*w+p.step[1], p)
}

// improveByAll is improveRow for some parts, the last of which takes most of the second resource.
func (t *Table) improveByAll(i int, of *[together]*part) {
	w, first := t.width[1], of[together-1].step[1]
	for _, p := range of[:together-1] {
		t.improve(i*w+p.step[1], i*w+first, p.step[0]*w+p.step[1], p)
	}
	to := t.value[i*w+first : (i+1)*w]
	from := func(p *part) []int32 { return t.value[(i-p.step[0])*w+first-p.step[1]:][:len(to)] }
	a, b, c, d := from(of[0]), from(of[1]), from(of[2]), from(of[3])
	p, q, r, s := of[0].units, of[1].units, of[2].units, of[3].units
	for j, was := range to {
		to[j] = max(max(was, a[j]+p, b[j]+q), max(c[j]+r, d[j]+s))
	}
}

// improve lets the fillings of some entries be those of entries so far back and a part.
func (t *Table) improve(begin, end, back int, p *part) {
	to, units := t.value[begin:end], p.units
	from := t.value[begin-back:][:len(to)]
	if p.endless || back >= len(to) {
		for j, f := range from {
			to[j] = max(to[j], f+units)
		}
		return
	}
	for j := range slices.Backward(from) {
		to[j] = max(to[j], from[j]+units)
	}
}

// Walk reads the best filling out of the table, as far as that can be read: take is asked to take some pods of a row.
// No row has more than it may.
func (t *Table) Walk(take func(row int32, pods int)) {
	left, taken := t.width, 0
	entry := func() int32 { return t.value[((left[0]-1)*t.width[1]+left[1]-1)*t.width[2]+left[2]-1] }
	for k := 0; k < len(t.parts); {
		p, was := &t.parts[k], left
		worth := entry()
		for r, s := range p.step {
			left[r] -= s
		}
		if taken > 0 && !p.endless || min(left[0], left[1], left[2]) < 1 || entry()+p.units != worth {
			left, taken = was, 0
			k++
			continue
		}
		take(p.row, p.pods)
		taken++
	}
}
