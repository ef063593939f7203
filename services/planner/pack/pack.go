package pack

import (
	"encoding/binary"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Item is a number of pods of one class.
type Item struct {
	Class *view.Class
	// Pods are places in World.Pods, in order.
	Pods []int
	// Segment is where their node must be; nil for anywhere.
	Segment *Segment
	// row is the place among the items that Pack was given, by which its rules name them.
	row int
}

// NewClaim is a claim to create.
type NewClaim struct {
	// Options are what it may become, best first. All hold its pods.
	Options []*Option
	Items   []Item
	// Runners are shapes that were weighed and lost.
	RunnersUp []RunnerUp
	// base is the option that it was packed for, whose capacity was counted against the limits.
	base *Option
	// site is its node in the eyes of the rules about other pods; nil where none of its pods has such rules.
	site *topology.Site
	// shown are the options that the site is judged by: it becomes nothing else.
	shown []*Option
	// number is its place in the eyes of devices; 0 where none of its pods claims any.
	number int
}

// Best is the option that the claim will most likely become.
func (b *NewClaim) Best() *Option { return b.Options[0] }

// fill buys claims for items from the options of some tiers, as cheap as the optimiser finds it, under rules about what may
// share a node, and takes them off the limits; what they may become is ranked later. What it returns as left can't be
// bought for. Pools of higher weight go first; going against a soft taint comes last.
func (d *Scheduler) fill(tiers [][]*Option, items []Item, rules []topology.NodeRule, lim *Limits) (bought []*NewClaim, left []Item, proof Proof) {
	if len(items) == 0 {
		return nil, nil, Proof{}
	}
	l, solved := newLoad(items, rules), 0
	for _, wishes := range d.m.passes() {
		for _, tier := range tiers {
			if l.done() {
				break
			}
			some, proven := d.solve(tier, l, wishes, lim)
			bought, proof = append(bought, some...), proven
			solved++
		}
	}
	if solved > 1 || len(tiers) > 1 || !l.done() {
		proof = Proof{}
	}
	return bought, l.left(), proof
}

// load is what is to be packed, and how far that is done.
type load struct {
	items []Item
	book  *ruleBook
	// next is how many pods of each item were packed, rest how many were not.
	next, rest []int
	// back are items that were packed, and could not be kept.
	back []Item
	// shapes are the items that can't be told apart in packing, as places in items.
	shapes [][]int
}

func newLoad(items []Item, rules []topology.NodeRule) *load {
	l := &load{items: slices.Clone(items), book: newRuleBook(rules, len(items)), next: make([]int, len(items)), rest: make([]int, len(items))}
	for i := range l.items {
		l.items[i].row = i
		l.rest[i] = len(l.items[i].Pods)
	}
	l.group()
	return l
}

// group finds the shapes. Items with host ports are a shape each.
func (l *load) group() {
	index := make(map[string]int)
	var key []byte
	for i, it := range l.items {
		key = l.shapeKey(key[:0], i)
		alone := len(it.Class.HostPorts) > 0
		k, ok := index[string(key)]
		if !ok || alone {
			k = len(l.shapes)
			l.shapes = append(l.shapes, nil)
		}
		if !alone {
			index[string(key)] = k
		}
		l.shapes[k] = append(l.shapes[k], i)
	}
}

// shapeKey writes down all that packing sees of an item.
func (l *load) shapeKey(key []byte, item int) []byte {
	it := &l.items[item]
	key = binary.AppendUvarint(key, uint64(it.Class.Profile.Index))
	for _, q := range it.Class.Requested {
		key = binary.AppendVarint(key, q)
	}
	if it.Segment != nil {
		key = binary.AppendUvarint(key, uint64(it.Segment.id))
	}
	if devices.ClaimsDevices(it.Class.PodClass) {
		key = binary.AppendUvarint(append(key, 'd'), uint64(it.Class.Index))
	}
	key = append(key, '|')
	for _, r := range l.book.of[item] {
		rule := &l.book.rules[r]
		key = binary.AppendUvarint(key, uint64(r))
		if contains(rule.Trigger, item) {
			key = append(key, 't')
		}
		if contains(rule.Counted, item) {
			key = append(key, 'c')
		}
	}
	return key
}

func (l *load) done() bool {
	return !slices.ContainsFunc(l.rest, func(n int) bool { return n > 0 })
}

// pods is how many there are in all.
func (l *load) pods() int {
	n := 0
	for _, it := range l.items {
		n += len(it.Pods)
	}
	return n
}

func (l *load) left() []Item {
	var out []Item
	for i, it := range l.items {
		if l.rest[i] > 0 {
			it.Pods = slices.Clone(it.Pods[l.next[i]:])
			out = append(out, it)
		}
	}
	return append(out, l.back...)
}

// take is the next n pods of an item.
func (l *load) take(i, n int) Item {
	it := l.items[i]
	it.Pods = it.Pods[l.next[i] : l.next[i]+n]
	l.next[i] += n
	l.rest[i] -= n
	return it
}

// takes says whether one pod of an item may run on an otherwise empty node of the option.
func (o *Option) takes(it *Item, wishes bool) bool {
	admitted, c := o.admits, it.Class
	if wishes {
		admitted = o.prefers
	}
	return admitted.has(c.Profile.Index) && view.Fits(o.Free, c.Requested, 1) == 1 && !fit.PortsClash(c.HostPorts, o.Ports) && o.in(it.Segment) && o.serves(c)
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
