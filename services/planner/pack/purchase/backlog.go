package purchase

import (
	"encoding/binary"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
)

// backlog is what is to be packed, and how far that is done.
type backlog struct {
	items []market.Item
	rules *ruleIndex
	// next is how many pods of each item were packed, rest how many were not.
	next, rest []int
	// returned are items that were packed, and could not be kept.
	returned []market.Item
	// shapes are the items that can't be told apart in packing, as places in items.
	shapes [][]int
}

func newBacklog(items []market.Item, rules []podrules.NodeRule) *backlog {
	l := &backlog{items: slices.Clone(items), next: make([]int, len(items)), rest: make([]int, len(items))}
	for i := range l.items {
		l.rest[i] = len(l.items[i].Pods)
	}
	l.obey(rules)
	return l
}

// obey says what may share a node from now on.
func (l *backlog) obey(rules []podrules.NodeRule) {
	l.rules, l.shapes = newRuleIndex(rules, len(l.items)), nil
	l.group()
}

// group finds the shapes.
func (l *backlog) group() {
	var g groups
	for i := range l.items {
		it := &l.items[i]
		g.add(i, it, l.appendRules(appendKind(g.key[:0], it), i))
	}
	l.shapes = g.list
}

// appendRules writes down what rules see of an item.
func (l *backlog) appendRules(key []byte, item int) []byte {
	key = append(key, '|')
	for _, r := range l.rules.of[item] {
		rule := &l.rules.rules[r]
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

func (l *backlog) done() bool {
	return !slices.ContainsFunc(l.rest, func(n int) bool { return n > 0 })
}

// pods are all that there are, sorted.
func (l *backlog) pods() []int {
	n := 0
	for _, it := range l.items {
		n += len(it.Pods)
	}
	out := make([]int, 0, n)
	for _, it := range l.items {
		out = append(out, it.Pods...)
	}
	slices.Sort(out)
	return out
}

func (l *backlog) left() []market.Item {
	var out []market.Item
	for i, it := range l.items {
		if l.rest[i] > 0 {
			it.Pods = slices.Clone(it.Pods[l.next[i]:])
			out = append(out, it)
		}
	}
	return append(out, l.returned...)
}

// take is the next n pods of an item.
func (l *backlog) take(i, n int) market.Item {
	it := l.items[i]
	it.Pods = it.Pods[l.next[i] : l.next[i]+n]
	l.next[i] += n
	l.rest[i] -= n
	return it
}
