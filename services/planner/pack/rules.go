package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/topology"
)

// ruleBook has the rules about what may share a new node, by the places in a list of items that they name.
type ruleBook struct {
	rules []topology.NodeRule
	// of are the rules that name an item, as trigger or as counted.
	of [][]int
}

func newRuleBook(rules []topology.NodeRule, items int) *ruleBook {
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

func contains(sorted []int, x int) bool {
	_, ok := slices.BinarySearch(sorted, x)
	return ok
}
