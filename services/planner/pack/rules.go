package pack

import "slices"

// NodeRule holds on each single node: if a pod of one of the trigger items is on it, then at most Most pods of the counted
// items are. It is how anti-affinity and spread over hostnames look to a search that fills one new node at a time.
type NodeRule struct {
	// Trigger and Counted are places in a list of items, sorted.
	Trigger, Counted []int
	Most             int
}

// ruleBook has the rules of a list of items by item.
type ruleBook struct {
	rules []NodeRule
	// of are the rules that name an item, as trigger or as counted.
	of [][]int
}

func newRuleBook(rules []NodeRule, items int) *ruleBook {
	b := &ruleBook{rules: rules, of: make([][]int, items)}
	for i, r := range rules {
		for _, k := range r.Trigger {
			b.of[k] = append(b.of[k], i)
		}
		for _, k := range r.Counted {
			if n := len(b.of[k]); n == 0 || b.of[k][n-1] != i {
				b.of[k] = append(b.of[k], i)
			}
		}
	}
	return b
}

// room is how many more pods of an item, up to most, may join those on a node.
func (b *ruleBook) room(item int, counts []int, most int) int {
	for _, i := range b.of[item] {
		r := &b.rules[i]
		sum := 0
		for _, k := range r.Counted {
			sum += counts[k]
		}
		triggers := contains(r.Trigger, item)
		switch {
		case triggers && sum > r.Most:
			return 0
		case contains(r.Counted, item) && (triggers || slices.ContainsFunc(r.Trigger, func(k int) bool { return counts[k] > 0 })):
			most = min(most, max(0, r.Most-sum))
		}
	}
	return most
}

// allows says whether the pods on a node may be together.
func (b *ruleBook) allows(counts []int) bool {
	for i, n := range counts {
		if n > 0 && b.room(i, less(counts, i), n) < n {
			return false
		}
	}
	return true
}

// less is counts without those of one item.
func less(counts []int, item int) []int {
	out := slices.Clone(counts)
	out[item] = 0
	return out
}

func contains(sorted []int, x int) bool {
	_, ok := slices.BinarySearch(sorted, x)
	return ok
}
