package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// ruleIndex has the rules about what may share a new node, by the places in a list of items that they name.
type ruleIndex struct {
	rules []podrules.NodeRule
	// of are the rules that name an item, as trigger or as counted.
	of [][]int
}

func newRuleIndex(rules []podrules.NodeRule, items int) *ruleIndex {
	b := &ruleIndex{rules: rules, of: make([][]int, items)}
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

// NodeRules are the rules about what may share a node, on some of what is wanted.
func (by *Buyer) NodeRules(items []market.Item) []podrules.NodeRule {
	return append(by.rules.NodeRules(classesOf(items)), workloadCaps(items, by.m.World.Policy.MaxPodsOfWorkloadPerNode)...)
}

func classesOf(items []market.Item) []*view.Class {
	out := make([]*view.Class, len(items))
	for i, it := range items {
		out[i] = it.Class
	}
	return out
}

// workloadCaps keeps too many pods of one owner from sharing a new node, so that losing it does not hurt the owner much.
func workloadCaps(items []market.Item, most int) []podrules.NodeRule {
	if most <= 0 {
		return nil
	}
	by := make(map[rules.Owner][]int)
	var order []rules.Owner
	for i, it := range items {
		o := rules.OwnerOf(it.Class.PodClass)
		if o.Kind == "" {
			continue
		}
		if by[o] == nil {
			order = append(order, o)
		}
		by[o] = append(by[o], i)
	}
	var out []podrules.NodeRule
	for _, o := range order {
		out = append(out, podrules.NodeRule{Trigger: by[o], Counted: by[o], Most: most})
	}
	return out
}

// WorkloadCapsAllow says whether some items together keep the policy's cap on pods of one owner.
func WorkloadCapsAllow(items []market.Item, most int) bool {
	if most <= 0 {
		return true
	}
	return !slices.ContainsFunc(workloadCaps(items, most), func(r podrules.NodeRule) bool {
		n := 0
		for _, i := range r.Counted {
			n += len(items[i].Pods)
		}
		return n > most
	})
}
