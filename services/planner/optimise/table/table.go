// Package table solves knapsacks of up to three resources in whole numbers, by a table of what the best filling is worth in each room.
//
// It knows nothing of bins and rules: what else a filling takes must come off what pods are worth before. Start reading with Table.
package table

import (
	"math"
	"slices"
)

// Resources is how many resources a table knows.
const Resources = 3

// Table is one knapsack at a time, and the memory for the next. Worth is rounded up, so that no filling is worth more than it says.
type Table struct {
	// value is by entry, in units of unit; width is how many there are of each resource, and how much is left of the last changes from entry to entry.
	value []int32
	width [Resources]int
	unit  float64
	// rows are all that fit, parts those that some filling needs.
	rows, parts []part
	densest     float64
}

// part is some pods of a row, with what they take of each resource and what they are worth. A filling may have them as often as they fit where they are endless, else once.
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
	t.width, t.rows, t.parts, t.densest = width, t.rows[:0], t.parts[:0], 1
}

// Add adds a row: up to most pods that take so many steps of each resource, of one at least, and are worth so much each.
func (t *Table) Add(row int32, step [Resources]int, worth float64, most int) {
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

// Steps is how many steps it takes to fill the table with the rows that were added. If that is more than most, no row has an end any more: that takes fewer.
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

// beaten says that no filling needs a row: pods of an endless one that fit into what one of it takes are worth more, or those that take no more and are
// worth more do not all fit beside it.
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

// Solve fills the table and says what no filling of the whole room is worth more than; false where it was stopped. Steps came before.
func (t *Table) Solve(stopped func() bool) (worth float64, ok bool) {
	t.value = slices.Grow(t.value[:0], t.size())[:t.size()]
	clear(t.value)
	for k := range t.parts {
		if stopped() {
			return 0, false
		}
		t.sweep(&t.parts[k])
	}
	return float64(float64(t.value[len(t.value)-1]) * t.unit), true
}

// sweep lets the fillings of the table have a part: any number of times, or once, from the largest room to the smallest then.
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

// improve lets the fillings of some entries be those of entries so far back and a part.
func (t *Table) improve(begin, end, back int, p *part) {
	to := t.value[begin:end]
	from := t.value[begin-back:][:len(to)]
	if p.endless || back >= len(to) {
		for j, f := range from {
			to[j] = max(to[j], f+p.units)
		}
		return
	}
	for j := range slices.Backward(from) {
		to[j] = max(to[j], from[j]+p.units)
	}
}

// Walk reads the best filling out of the table, as far as that can be read: take is asked to take some pods of a row. No row has more than it may.
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
