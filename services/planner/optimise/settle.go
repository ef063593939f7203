package optimise

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

const (
	// settledPods and settledRows are up to how many pods and rows a plan is searched for the last per cent. With more of either the search
	// does not come far.
	settledPods, settledRows = 256, 32
	// settledNodes is how deep it goes at most.
	settledNodes = 16
	// firstSlack is the part of the bound that a plan may be above it when it is looked for first; then it is twice as much, and so on.
	firstSlack = 1.0 / 128
)

// settler looks through all plans that cost little more than a bound. Pods are worth y, which is at most what a node costs for those on it; the
// difference is a node's loss, and a plan's losses are what it costs beyond the bound. So a search for a plan that costs so much at
// most need not look at nodes that lose more than is left of that. Each node is full as far as pods are left: had it room for one, that
// could be taken off another.
type settler struct {
	c *compact.Problem
	y []float64
	// dense is, by row and resource, the most that a pod of this row or a later one is worth for each unit of the resource; infinite
	// where some need none of it.
	dense []float64
	// least is the price of the cheapest node for a pod of each row, with the rows that may be on a node with it, byPrice the rows, the most
	// expensive first.
	least   []float64
	with    []uint64
	byPrice []int32
	rest    []int32
	pods    int
	plan    []compact.Filling
	// found are the nodes of the best plan, which costs so much.
	found []compact.Filling
	cost  int64
	// seen is, by what is left, the greatest slack that did not suffice.
	seen  map[string]float64
	key   []byte
	opens []*compact.OpenBin
	work  int64
	limit int64
	stop  func() bool
}

// settle looks for a plan between the bound that some duals prove and the best plan, in ever more of what is between them. What is looked
// through raises the bound.
func (s *solver) settle(y []float64, limit int64) {
	if !s.settles() {
		return
	}
	for i := range y {
		y[i] *= 1 - 1e-7 // no node is worth more than it costs, whatever rounding errors did
	}
	t := &settler{
		c: s.c, y: y, rest: slices.Clone(s.c.Count), pods: s.c.Pods(), limit: limit, stop: s.stopped, cost: s.best.Cost,
	}
	from := 0.0
	for i, n := range t.rest {
		from += float64(float64(n) * y[i])
	}
	t.prepare()
	for slack := from * firstSlack; !s.enough(); slack *= 2 {
		last := from+slack >= float64(s.best.Cost)
		if last {
			slack = float64(s.best.Cost) - from
		}
		t.seen = make(map[string]float64)
		t.visit(slack, 0)
		if t.found != nil {
			pl := compact.NewPlan(s.c)
			for _, p := range t.found {
				pl.Take(p)
			}
			s.offer(pl)
		}
		if t.over() {
			break
		}
		if last || t.found != nil {
			s.bound, s.kind = s.best.Cost, KindExact
			break
		}
		if b := int64((from + slack) * (1 - 1e-9)); b > s.bound {
			s.bound, s.kind = b, KindLP
		}
	}
	s.work.Polish += t.work
}

// settles says whether the problem is one of few pods, with nothing but prices and rules about what shares a node.
func (s *solver) settles() bool {
	c := s.c
	return !s.enough() && s.best.Pods == 0 && c.Pods() <= settledPods && c.NumRows <= settledRows && len(c.Limits) == 0 && !c.HasUnpackable &&
		!slices.ContainsFunc(c.Bins, func(b compact.Bin) bool { return b.Limited || b.Penalties != nil || len(b.Before) > 0 })
}

func (t *settler) prepare() {
	t.c.ListRows()
	k := t.c.NumResources
	t.least, t.with = make([]float64, t.c.NumRows), make([]uint64, t.c.NumRows)
	for b := range t.c.Bins {
		all := uint64(0)
		for _, i := range t.c.Bins[b].Rows {
			all |= 1 << i
		}
		for _, i := range t.c.Bins[b].Rows {
			if t.with[i] == 0 {
				t.least[i] = float64(t.c.Bins[b].Price)
				t.byPrice = append(t.byPrice, i)
			}
			t.with[i] |= all
		}
	}
	slices.Reverse(t.byPrice) // bins are sorted by price
	t.dense = make([]float64, (t.c.NumRows+1)*k)
	for i := t.c.NumRows - 1; i >= 0; i-- {
		for r := range k {
			t.dense[i*k+r] = t.dense[(i+1)*k+r]
			if q := t.c.Request[i*k+r]; q > 0 {
				t.dense[i*k+r] = max(t.dense[i*k+r], t.y[i]/float64(q))
			} else if t.y[i] > 0 {
				t.dense[i*k+r] = math.Inf(1)
			}
		}
	}
}

func (t *settler) over() bool { return t.work > t.limit || t.stop() }

// visit tries all that the next node may be, for the first of the pods that are left.
func (t *settler) visit(slack float64, cost int64) {
	if t.pods == 0 {
		if cost < t.cost {
			t.found, t.cost = slices.Clone(t.plan), cost
		}
		return
	}
	if len(t.plan) == settledNodes {
		t.work = t.limit + 1 // it may go deeper than this search does
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
	t.work += int64(64 + 2*len(t.rest))
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
		if loss > slack+tolerance || cost+f.Cost >= t.cost || t.work > t.limit {
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
func (t *settler) apart() float64 {
	sum, shared := 0.0, uint64(0)
	for _, i := range t.byPrice {
		if t.rest[i] > 0 && shared>>i&1 == 0 {
			sum += t.least[i]
			shared |= t.with[i]
		}
	}
	return sum
}

// tolerance is how much more than the slack a node may lose, micro-dollars an hour: sums of floating-point numbers are not exact.
const tolerance = 1e-3

func (t *settler) take(f compact.Filling, n int32) {
	for x, i := range f.Rows {
		t.rest[i] -= n * f.Counts[x]
		t.pods -= int(n * f.Counts[x])
	}
}

// nodes are the full nodes with a pod of a row that lose no more than the slack, those first that lose least.
func (t *settler) nodes(row int, worth, slack float64) []compact.Filling {
	e := &nodes{settler: t, open: t.open(len(t.plan)), row: int32(row)}
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
		if t.work > t.limit {
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

func (t *settler) open(depth int) *compact.OpenBin {
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
	*settler
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
	e.work += int64(8 + 2*e.c.NumResources)
	if e.work > e.limit {
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
	e.work += int64(4 * len(e.bin.Rows))
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
	e.work += int64(64 + 8*n)
}
