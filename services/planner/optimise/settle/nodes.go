package settle

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// visit tries all that the next node may be, for the first of the pods that are left.
func (t *Search) visit(slack float64, cost int64) {
	if t.pods == 0 {
		if cost < t.Cost {
			t.Found, t.Cost = slices.Clone(t.plan), cost
		}
		return
	}
	if len(t.plan) == mostNodes {
		t.Work = t.limit + 1 // it may go deeper than this search does
		return
	}
	t.key = t.key[:0]
	first, worth := -1, 0.0
	for i, n := range t.rest {
		t.key = binary.AppendUvarint(t.key, uint64(n))
		worth += float64(float64(n) * t.y[i])
		if n > 0 && (first < 0 || t.y[i] > t.y[first]) {
			first = i
		}
	}
	t.Work += int64(64 + 2*len(t.rest))
	if t.apart() > worth+slack+tolerance {
		return
	}
	if was, ok := t.seen[string(t.key)]; ok && was >= slack {
		return
	}
	t.seen[string(t.key)] = slack
	for _, f := range t.nodes(first, worth, slack) {
		loss := float64(f.Cost)
		for x, i := range f.Rows {
			loss -= float64(float64(f.Counts[x]) * t.y[i])
		}
		// A plan that was found leaves less for the others.
		if loss > slack+tolerance || cost+f.Cost >= t.Cost || t.Work > t.limit {
			continue
		}
		t.take(f, 1)
		t.plan = append(t.plan, f)
		t.visit(slack-loss, cost+f.Cost)
		t.plan = t.plan[:len(t.plan)-1]
		t.take(f, -1)
	}
}

// apart is what pods cost at least of which no two can share a node, found among those that are left, the most expensive first.
func (t *Search) apart() float64 {
	sum, shared := 0.0, uint64(0)
	for _, i := range t.byPrice {
		if t.rest[i] > 0 && shared>>i&1 == 0 {
			sum += t.least[i]
			shared |= t.with[i]
		}
	}
	return sum
}

// nodes are the full nodes with a pod of a row that lose no more than the slack, those first that lose least.
func (t *Search) nodes(row int, worth, slack float64) []compact.Filling {
	e := &nodes{Search: t, open: t.open(len(t.plan)), row: int32(row)}
	for b := range t.c.Bins {
		e.bin = &t.c.Bins[b]
		e.least = float64(e.bin.Price) - slack - tolerance
		if e.least > worth {
			break
		}
		if _, ok := slices.BinarySearch(e.bin.Rows, e.row); !ok {
			continue
		}
		e.b = int32(b)
		e.open.Open(e.bin)
		e.open.Put(e.row, 1)
		e.fill(0, t.y[row])
		if t.Work > t.limit {
			return nil
		}
	}
	slices.SortStableFunc(e.out, func(x, y rated) int { return cmp.Compare(x.loss, y.loss) })
	out := make([]compact.Filling, len(e.out))
	for i, x := range e.out {
		out[i] = x.Filling
	}
	return out
}

func (t *Search) open(depth int) *compact.OpenBin {
	for len(t.opens) <= depth {
		t.opens = append(t.opens, compact.NewOpenBin(t.c))
	}
	return t.opens[depth]
}

type rated struct {
	compact.Filling
	loss float64
}

// nodes lists the fillings of bins.
type nodes struct {
	*Search
	open *compact.OpenBin
	bin  *compact.Bin
	b    int32
	row  int32
	// least is what the pods of a node must be worth.
	least float64
	out   []rated
}

// fill tries all numbers of pods of the rows of the bin from a place on, beside the one pod that is there.
func (e *nodes) fill(at int, worth float64) {
	e.Work += int64(8 + 2*e.c.NumResources)
	if e.Work > e.limit {
		return
	}
	if at == len(e.bin.Rows) {
		if worth >= e.least && e.full() {
			e.keep(worth)
		}
		return
	}
	i := e.bin.Rows[at]
	if worth+e.most(i) < e.least {
		return
	}
	if e.rest[i] == 0 {
		e.fill(at+1, worth)
		return
	}
	rest := e.rest[i]
	if i == e.row {
		rest-- // there is one already
	}
	n := e.open.Capacity(i, rest)
	e.open.Put(i, n)
	for q := n; ; q-- {
		e.fill(at+1, worth+float64(float64(q)*e.y[i]))
		if q == 0 {
			return
		}
		e.open.Put(i, -1)
	}
}

// most bounds what pods of a row and of those after it that still fit are worth.
func (e *nodes) most(row int32) float64 {
	k := e.c.NumResources
	out := math.Inf(1)
	for r := range k {
		if d := e.dense[int(row)*k+r]; !math.IsInf(d, 1) {
			out = min(out, float64(d*float64(e.open.Left(r))))
		}
	}
	return out
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

func (e *nodes) keep(worth float64) {
	n := 0
	for _, i := range e.bin.Rows {
		if e.open.Counts[i] > 0 {
			n++
		}
	}
	f := compact.Filling{Bin: e.b, Copies: 1, Rows: make([]int32, 0, n), Counts: make([]int32, 0, n), Cost: e.bin.Price}
	for _, i := range e.bin.Rows {
		if q := e.open.Counts[i]; q > 0 {
			f.Rows, f.Counts = append(f.Rows, i), append(f.Counts, q)
		}
	}
	e.out = append(e.out, rated{f, float64(e.bin.Price) - worth})
	e.Work += int64(64 + 8*n)
}
