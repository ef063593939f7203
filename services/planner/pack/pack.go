package pack

import (
	"math/bits"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Item is a number of pods of one class.
type Item struct {
	Class *view.Class
	// Pods are places in World.Pods, in order.
	Pods []int
	// Cell is where their node must be; nil for anywhere.
	Cell *Cell
	// row is the place among the items that Pack was given, by which its rules name them.
	row int
}

// Bought is a claim to create.
type Bought struct {
	// Options are what it may become, best first. All hold its pods.
	Options []*Option
	Items   []Item
	// Runners are shapes that were weighed and lost.
	Runners []Runner
	// base is the option that it was packed for, whose capacity was counted against the limits.
	base *Option
	// site is its node in the eyes of the rules about other pods; nil where none of its pods has such rules.
	site *topology.Site
}

// Best is the option that the claim will most likely become.
func (b *Bought) Best() *Option { return b.Options[0] }

// Pack buys claims for items, as cheap as a greedy search finds it, and takes them off the limits. What it returns as
// left can't be bought for.
//
// It asks, again and again, for which option the price per value packed is lowest, where a pod's value is the lowest
// price that a share of any node as large as the pod would have; and buys as many nodes with that filling as the
// remaining pods and the limits allow. What it bought last is merged where that is cheaper. Of equal answers the cheaper, and so smaller, node wins. Pools of higher weight go
// first; going against a wish comes last.
func (m *Market) Pack(items []Item, rules []NodeRule, lim *Limits) (bought []*Bought, left []Item) {
	bought, left = m.fill(items, rules, lim)
	m.rankAll(bought, lim)
	return bought, left
}

// fill is Pack without the ranking of what a claim may become.
func (m *Market) fill(items []Item, rules []NodeRule, lim *Limits) (bought []*Bought, left []Item) {
	if len(items) == 0 {
		return nil, nil
	}
	l := newLoad(items, rules)
	for _, wishes := range m.passes() {
		for _, tier := range m.tiersFor(items) {
			if l.done() {
				break
			}
			r := newRound(m, tier, l, wishes)
			bought = append(bought, m.merge(r.run(lim), l.book, lim)...)
		}
	}
	return bought, l.left()
}

// load is what is to be packed, and how far that is done.
type load struct {
	items []Item
	book  *ruleBook
	// next is how many pods of each item were packed, rest how many were not.
	next, rest []int
}

func newLoad(items []Item, rules []NodeRule) *load {
	l := &load{items: slices.Clone(items), book: newRuleBook(rules, len(items)), next: make([]int, len(items)), rest: make([]int, len(items))}
	for i := range l.items {
		l.items[i].row = i
		l.rest[i] = len(l.items[i].Pods)
	}
	return l
}

func (l *load) done() bool {
	return !slices.ContainsFunc(l.rest, func(n int) bool { return n > 0 })
}

func (l *load) left() []Item {
	var out []Item
	for i, it := range l.items {
		if l.rest[i] > 0 {
			it.Pods = slices.Clone(it.Pods[l.next[i]:])
			out = append(out, it)
		}
	}
	return out
}

// take is the next n pods of an item.
func (l *load) take(i, n int) Item {
	it := l.items[i]
	it.Pods = it.Pods[l.next[i] : l.next[i]+n]
	l.next[i] += n
	l.rest[i] -= n
	return it
}

// round packs what it can from one tier.
type round struct {
	*load
	m       *Market
	options []*Option
	values  []int64
	fills   []*filler
	wishes  bool
	// choice remembers, by variant and item, whether one pod has as many offerings as the pool's minValues ask for.
	choice map[choiceKey]bool
}

type choiceKey struct {
	v    *variant
	item int
}

func newRound(m *Market, options []*Option, l *load, wishes bool) *round {
	r := &round{load: l, m: m, wishes: wishes, choice: make(map[choiceKey]bool)}
	r.values = values(options, l, m.w.Policy.PerNodeOverhead, wishes)
	for _, o := range options {
		if f := newFiller(o, r); len(f.orders) > 0 {
			r.options = append(r.options, o)
			r.fills = append(r.fills, f)
		}
	}
	return r
}

// values are what a pod of each item is worth: the cheapest fraction of a node that is as large as it. 0 means that it
// fits nothing here.
func values(options []*Option, l *load, overhead int64, wishes bool) []int64 {
	const scale = 1e6
	out := make([]int64, len(l.items))
	for i, it := range l.items {
		if l.rest[i] == 0 {
			continue
		}
		for _, o := range options {
			if !o.takes(&it, wishes) {
				continue
			}
			v := max(1, int64(float64(o.Offering.Price+overhead)*scale*share(it.Class.Requested, o.Free)))
			if out[i] == 0 || v < out[i] {
				out[i] = v
			}
		}
	}
	return out
}

// share is the largest part of any resource of a node that a pod takes.
func share(request, free view.Vector) float64 {
	s := 0.0
	for i, q := range request {
		if q > 0 {
			s = max(s, float64(q)/float64(free[i]))
		}
	}
	return s
}

// takes says whether one pod of an item may run on an otherwise empty node of the option.
func (o *Option) takes(it *Item, wishes bool) bool {
	admitted, c := o.admits, it.Class
	if wishes {
		admitted = o.prefers
	}
	return admitted.has(c.Profile.Index) && view.Fits(o.Free, c.Requested, 1) == 1 && !fit.PortsClash(c.HostPorts, o.Ports) && o.in(it.Cell)
}

// enoughChoice says whether one pod of an item, alone on a claim, has as many offerings as the pool's minValues ask for.
func (r *round) enoughChoice(o *Option, item int) bool {
	if !minValues(o.Pool) {
		return true
	}
	key := choiceKey{o.variant, item}
	ok, known := r.choice[key]
	if !known {
		it := r.items[item]
		_, ok = r.m.rank(o.variant, []Item{{Class: it.Class, Pods: it.Pods[:1], Cell: it.Cell, row: item}}, nil)
		r.choice[key] = ok
	}
	return ok
}

func (r *round) run(lim *Limits) []*Bought {
	var out []*Bought
	for {
		best := r.best(lim)
		if best < 0 {
			return out
		}
		f := r.fills[best]
		o := r.options[best]
		n := lim.Room(o, r.copies(f.counts))
		if minValues(o.Pool) {
			n = 1
		}
		runners := r.runners(best, lim)
		for range n {
			b := &Bought{base: o, Runners: runners}
			for i, k := range f.counts {
				if k > 0 {
					b.Items = append(b.Items, r.take(i, k))
				}
			}
			out = append(out, b)
		}
		lim.Take(o, n)
		if minValues(o.Pool) {
			b := out[len(out)-1]
			b.Options = f.ranked
			lim.stretch(b)
		}
	}
}

// best finds the option with the lowest price per value packed; -1 when nothing more can be packed.
func (r *round) best(lim *Limits) int {
	best := -1
	for i, o := range r.options {
		if lim.Room(o, 1) == 0 {
			continue
		}
		f := r.fills[i]
		f.refill(r, lim)
		if f.value > 0 && (best < 0 || r.cheaper(i, best) < 0) {
			best = i
		}
	}
	return best
}

// cheaper compares two options by price per value, exactly.
func (r *round) cheaper(i, j int) int {
	overhead := r.m.w.Policy.PerNodeOverhead
	a, b := r.options[i].Offering.Price+overhead, r.options[j].Offering.Price+overhead
	ahi, alo := bits.Mul64(uint64(a), uint64(r.fills[j].value))
	bhi, blo := bits.Mul64(uint64(b), uint64(r.fills[i].value))
	switch {
	case ahi < bhi, ahi == bhi && alo < blo:
		return -1
	case ahi == bhi && alo == blo:
		return 0
	}
	return 1
}

// copies is how many nodes can be filled alike.
func (r *round) copies(counts []int) int {
	n := -1
	for i, k := range counts {
		if k > 0 && (n < 0 || r.rest[i]/k < n) {
			n = r.rest[i] / k
		}
	}
	return n
}
