package settle

import (
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// nodes lists the full nodes that bins can be and that lose no more than a slack.
type nodes struct {
	*Search
	open *compact.OpenBin
	bin  *compact.Bin
	b    int32
	// beyond is, by place among the bin's rows, what the pods of the row there and of those after it are worth at most
	// beyond the capacity that they take.
	beyond []float64
	// least is what the pods of a node must be worth.
	least float64
	out   []compact.Filling
}

// nodes are those that lose no more than the slack, by bin; ok is false where they are too many.
func (t *Search) nodes(slack float64) (all []compact.Filling, ok bool) {
	e := &nodes{Search: t, open: compact.NewOpenBin(t.c)}
	for b := range t.c.Bins {
		e.bin, e.b = &t.c.Bins[b], int32(b)
		e.least = float64(e.bin.Price) - slack - tolerance
		e.open.Open(e.bin)
		e.weigh()
		e.fill(0, 0)
		if e.over() {
			return nil, false
		}
	}
	return e.out, true
}

func (e *nodes) over() bool { return e.Search.over() || len(e.out) > listedNodes }

// weigh finds what pods are worth on the bin beyond what they take.
func (e *nodes) weigh() {
	e.beyond = append(e.beyond[:0], make([]float64, len(e.bin.Rows)+1)...)
	for at, i := range slices.Backward(e.bin.Rows) {
		v := e.y[i]
		for r, w := range e.capacity[e.b] {
			v -= float64(w * float64(e.c.Request[int(i)*e.c.NumResources+r]))
		}
		e.beyond[at] = e.beyond[at+1] + max(0, float64(v*float64(min(e.rest[i], e.bin.Alone[at]))))
	}
}

// fill tries all numbers of pods of the rows of the bin from a place on.
func (e *nodes) fill(at int, worth float64) {
	e.Work += int64(8 + 2*e.c.NumResources)
	if e.over() {
		return
	}
	if at == len(e.bin.Rows) {
		if worth >= e.least && e.full() {
			e.keep()
		}
		return
	}
	i := e.bin.Rows[at]
	if worth+e.can(at) < e.least {
		return
	}
	n := e.open.Capacity(i, e.rest[i])
	e.open.Put(i, n)
	for q := n; ; q-- {
		e.fill(at+1, worth+float64(float64(q)*e.y[i]))
		if q == 0 {
			return
		}
		e.open.Put(i, -1)
	}
}

// can bounds what pods of the row at a place and of those after it that still fit are worth: by what each resource that
// is left is worth alone, and by what all of them are worth together.
func (e *nodes) can(at int) float64 {
	k, row := e.c.NumResources, int(e.bin.Rows[at])
	least, sum := math.Inf(1), e.beyond[at]
	for r := range k {
		left := float64(e.open.Left(r))
		sum += float64(e.capacity[e.b][r] * left)
		if d := e.dense[row*k+r]; !math.IsInf(d, 1) {
			least = min(least, float64(d*left))
		}
	}
	return min(least, float64(sum*(1+1e-9)))
}

// full says that no pod that is left fits.
func (e *nodes) full() bool {
	e.Work += int64(4 * len(e.bin.Rows))
	for _, i := range e.bin.Rows {
		if e.rest[i] > e.open.Counts[i] && e.open.Capacity(i, 1) > 0 {
			return false
		}
	}
	return true
}

func (e *nodes) keep() {
	n := 0
	for _, i := range e.bin.Rows {
		if e.open.Counts[i] > 0 {
			n++
		}
	}
	if n == 0 {
		return
	}
	f := compact.Filling{Bin: e.b, Copies: 1, Rows: make([]int32, 0, n), Counts: make([]int32, 0, n), Cost: e.bin.Price}
	for _, i := range e.bin.Rows {
		if q := e.open.Counts[i]; q > 0 {
			f.Rows, f.Counts = append(f.Rows, i), append(f.Counts, q)
		}
	}
	e.out = append(e.out, f)
	e.Work += int64(64 + 8*n)
}
