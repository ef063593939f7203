package exact

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/optimise/compact"
)

// limitedNodes is how many fillings the search for a packing of a small problem within limits may try.
const limitedNodes = 50_000

// limitedSearch finds the best packing of a small problem whose optimum is above limits: by the next bin, what it
// holds, and the pods that are left out. The optimum without limits of each remainder cuts the search short.
type limitedSearch struct {
	e     *Search
	slab  *compact.Slab
	nodes int
	left  int
	// best is the plan that leaves the fewest pods and costs least of these.
	best *compact.Plan
	out  int
}

// WithinLimits is the best packing from nothing that is within limits; nil if the problem is too large to search it all.
func (e *Search) WithinLimits(s *compact.Slab) *compact.Plan {
	e.pl = compact.NewPlan(e.c)
	l := &limitedSearch{e: e, slab: s, nodes: limitedNodes}
	l.visit(int32(len(e.least) - 1))
	e.Work += int64(limitedNodes-l.nodes) * 32
	if l.nodes < 0 {
		return nil
	}
	return l.best
}

// worse says that nothing below a remainder is better than the best.
func (l *limitedSearch) worse(state int32) bool {
	if l.best == nil {
		return false
	}
	if l.left != l.out {
		return l.left > l.out
	}
	least := l.e.least[state]
	return least > l.best.Cost-l.e.pl.Cost-1
}

func (l *limitedSearch) visit(state int32) {
	if l.nodes < 0 || l.worse(state) {
		return
	}
	if state == 0 {
		l.best, l.out = l.e.pl.Clone(), l.left
		return
	}
	l.e.spell(state)
	digits := slices.Clone(l.e.digits)
	first := 0
	for digits[first] == 0 {
		first++
	}
	for q := digits[first]; q > 0; q-- {
		l.next(state, q*l.e.stride[first], digits, first+1)
	}
	l.left++
	l.visit(state - l.e.stride[first])
	l.left--
}

// next tries all fillings of the next bin that begin with part, from row x on.
func (l *limitedSearch) next(state, part int32, digits []int32, x int) {
	if x < len(digits) {
		for q := digits[x]; q >= 0; q-- {
			l.next(state, part+q*l.e.stride[x], digits, x+1)
		}
		return
	}
	l.nodes--
	e := l.e
	if l.nodes%64 == 0 && e.c.Stopped() {
		l.nodes = -1
	}
	for b := range e.c.Bins {
		if e.pl.Remaining(int32(b), 1) == 0 {
			continue
		}
		rows, cnt := e.spell(part)
		cost, ok := e.price(&e.c.Bins[b], rows, cnt)
		if !ok {
			continue
		}
		e.buy(l.slab, int32(b), part, cost)
		l.visit(state - part)
		last := len(e.pl.Fillings) - 1
		e.pl.Remove(last, 1)
		e.pl.Fillings = e.pl.Fillings[:last]
		if l.nodes < 0 {
			return
		}
	}
}
