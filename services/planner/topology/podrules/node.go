package podrules

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/view"
)

// NodeRule is a rule within one new node: where any pod of Trigger is, there are at most Most pods of Counted altogether,
// those of Trigger included where they are among them. Trigger and Counted are places in the list given to NodeRules,
// sorted.
type NodeRule struct {
	Trigger []int
	Counted []int
	Most    int
	// Skew says that the rule comes from spread: it holds for new nodes as long as some domain has no pods, and is not a
	// hard rule for every plan.
	Skew bool
}

// nodeGroup are the classes that share a rule: those with one counter, one Most, and alike in whether they count
// themselves.
type nodeGroup struct {
	counter int32
	most    int
	skew    bool
}

// NodeRules lists the rules on kubernetes.io/hostname that decide which pods of some classes may share a new node: spread
// (a new node is a domain with no pods, so a node holds at most maxSkew) and anti-affinity. Required affinity on
// the hostname is no such rule, see OneNode. A node that obeys them can be filled in any order.
func (r *Rules) NodeRules(classes []*view.Class) []NodeRule {
	return nodeRules(r, classes, func(x *ClassRules) ([]SpreadRule, []int32) {
		anti := make([]int32, len(x.Anti))
		for i, a := range x.Anti {
			anti[i] = a.Counter
		}
		return x.Spread, anti
	})
}

// PreferredNodeRules are the NodeRules of soft spread and of preferred anti-affinity, were they required.
func PreferredNodeRules(r *Rules, classes []*view.Class) []NodeRule {
	return nodeRules(r, classes, func(x *ClassRules) ([]SpreadRule, []int32) {
		var anti []int32
		for _, p := range x.Preferred {
			if p.Anti {
				anti = append(anti, p.Counter)
			}
		}
		return x.SoftSpread, anti
	})
}

// nodeRules are those that some rules of each class make; anti-affinity is given as its counters.
func nodeRules(r *Rules, classes []*view.Class, of func(*ClassRules) (spread []SpreadRule, anti []int32)) []NodeRule {
	var groups []nodeGroup
	triggers := make(map[nodeGroup][]int)
	trigger := func(g nodeGroup, position int) {
		list, ok := triggers[g]
		if !ok {
			groups = append(groups, g)
		}
		if n := len(list); n == 0 || list[n-1] != position {
			triggers[g] = append(list, position)
		}
	}
	for i, c := range classes {
		spread, anti := of(&r.Classes[c.Index])
		for _, s := range spread {
			if r.Counters[s.Counter].Key == Hostname {
				trigger(nodeGroup{s.Counter, int(s.MaxSkew), true}, i)
			}
		}
		for _, a := range anti {
			if r.Counters[a].Key != Hostname {
				continue
			}
			most := 0
			if r.counts(a, c) {
				most = 1
			}
			trigger(nodeGroup{a, most, false}, i)
		}
	}
	counted := r.counted(classes, groups)
	var out []NodeRule
	for _, g := range groups {
		if len(counted[g.counter]) > 0 {
			out = append(out, NodeRule{Trigger: triggers[g], Counted: counted[g.counter], Most: g.most, Skew: g.skew})
		}
	}
	return out
}

// counts says whether a counter of (anti-)affinity counts a class.
func (r *Rules) counts(counter int32, c *view.Class) bool {
	return slices.Contains(r.Kinds[r.KindOf[c.Index]].Pods, counter)
}

// counted lists, for the counters of some groups, the places of the classes that they count.
func (r *Rules) counted(classes []*view.Class, groups []nodeGroup) map[int32][]int {
	out := make(map[int32][]int, len(groups))
	for _, g := range groups {
		out[g.counter] = nil
	}
	for i, c := range classes {
		k := &r.Kinds[r.KindOf[c.Index]]
		for _, list := range [][]int32{k.Spread, k.Pods} {
			for _, n := range list {
				if places, wanted := out[n]; wanted {
					out[n] = append(places, i)
				}
			}
		}
	}
	return out
}
