// Package podrules compiles the rules that tie pods to other pods: topology spread, pod affinity, pod anti-affinity and its
// inverse, required and preferred.
//
// Rules are compiled once from a World, by class of pods. Each rule refers to counters, which package topology keeps; this
// package counts nothing. It also lists what matters when pods are put onto new nodes: the labels that a class's rules look
// at (Rules.Keys) and which pods may share a node (Rules.NodeRules). Start reading with New.
package podrules

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Rules are the constraints of all classes that have pods, compiled. They are not changed after New, and safe for
// concurrent use.
type Rules struct {
	World *view.World
	// TopologyKeys are the topology keys in use; the first is the hostname.
	TopologyKeys []string
	Counters     []Counter
	Filters      []Filter
	Universes    []Universe
	// Classes are by index, kindOf says of which of the kinds each is.
	Classes []ClassRules
	Kinds   []PodKind
	KindOf  []int32
	// Labels are those of nodes that any rule looks at, sorted; taints says that some look at taints.
	Labels []string
	Taints bool
	// Daemons are those of the DaemonSets' classes that any rule counts or that keep others away.
	Daemons []*view.Class
	// daemonKeys are, for each class whose rules concern DaemonSet pods, the labels that decide where these run.
	daemonKeys [][]string
}

// New compiles the rules of a world. The cost is linear in classes, pods, and the pairs of a rule and a kind of pods that
// it selects; only selectors that say no more than what pods are not look at all kinds of their namespaces.
func New(w *view.World) *Rules {
	r := &Rules{World: w, TopologyKeys: []string{labels.Hostname}, Classes: make([]ClassRules, len(w.Classes))}
	c := newCompiler(r)
	exists := make([]bool, len(w.Classes))
	for i := range w.Pods {
		exists[w.Pods[i].Class.Index] = true
	}
	for _, d := range w.Daemons {
		exists[d.Class.Index] = true
	}
	for i, cl := range w.Classes {
		if exists[i] {
			c.class(cl)
		}
	}
	r.Kinds, r.KindOf = c.sortByKind(w)
	c.connect()
	c.finish()
	r.findDaemons()
	r.Labels = r.nodeLabels()
	return r
}

// nodeLabels are the labels that nodes must be told apart by.
func (r *Rules) nodeLabels() []string {
	out := slices.Clone(r.TopologyKeys[1:])
	for _, f := range r.Filters {
		if f.Affinity != nil {
			out = append(out, f.Affinity.Keys...)
		}
	}
	for _, d := range r.Daemons {
		out = append(out, d.Profile.Keys...)
	}
	return SortUnique(out)
}

// Constrained says whether it matters to any required rule where pods of a class go: they have such a rule themselves,
// or one of a class that has pods counts them or keeps them away.
func (r *Rules) Constrained(c *view.Class) bool { return len(r.Classes[c.Index].Keys) > 0 }

// HasNoPodRules says that a class has no rules of its own, so that Rules are the same whether it has pods or none.
func HasNoPodRules(w *view.World, c *view.Class) bool {
	return len(c.TopologySpread)+len(c.PodAffinity)+len(c.PodAntiAffinity) == 0 &&
		(c.DefaultSelector == nil || len(w.Policy.DefaultSpread) == 0)
}

// CanRefuse says whether Allows can ever refuse pods of a class: they have a required rule, or one keeps them away. What is
// Tied but not Checked is only counted by others: it may go to any site that is decided, and does well to go before those
// that count it.
func (r *Rules) CanRefuse(c *view.Class) bool {
	return HasRequired(r, c) || len(r.Kinds[r.KindOf[c.Index]].RepelledBy) > 0
}

// HasRequired says whether a class has required rules of its own.
func HasRequired(r *Rules, c *view.Class) bool {
	x := &r.Classes[c.Index]
	return len(x.Spread)+len(x.Affinity)+len(x.Anti) > 0
}

// Soft says whether a class has preferred pod affinity, preferred anti-affinity or soft spread, its own or by default.
func (r *Rules) Soft(c *view.Class) bool {
	x := &r.Classes[c.Index]
	return len(x.Preferred)+len(x.SoftSpread) > 0
}

// Keys are the node labels other than kubernetes.io/hostname on which it matters to required rules where pods of a
// class go, sorted: those of its own rules, and of rules that count the pods or keep them away; and where the class's
// rules concern pods of a DaemonSet, the labels that decide which nodes have them.
func (r *Rules) Keys(c *view.Class) []string {
	out := r.names(r.Classes[c.Index].Keys)
	if r.daemonKeys == nil || len(r.daemonKeys[c.Index]) == 0 {
		return out
	}
	out = SortUnique(append(out, r.daemonKeys[c.Index]...))
	return slices.DeleteFunc(out, func(key string) bool { return key == labels.Hostname })
}

// SoftOnNodes says whether a class has preferred pod affinity or anti-affinity on kubernetes.io/hostname.
func (r *Rules) SoftOnNodes(c *view.Class) bool {
	return slices.ContainsFunc(r.Classes[c.Index].Preferred, func(p Preference) bool { return r.Counters[p.Counter].Key == Hostname })
}

// SoftKeys are the node labels other than kubernetes.io/hostname of a class's own soft rules, sorted.
func (r *Rules) SoftKeys(c *view.Class) []string {
	var keys []int32
	x := &r.Classes[c.Index]
	for _, s := range x.SoftSpread {
		keys = append(keys, r.Counters[s.Counter].Key)
	}
	for _, p := range x.Preferred {
		keys = append(keys, r.Counters[p.Counter].Key)
	}
	return r.names(keys)
}

func (r *Rules) names(keys []int32) []string {
	var out []string
	for _, k := range keys {
		if k != Hostname {
			out = append(out, r.TopologyKeys[k])
		}
	}
	return SortUnique(out)
}

// OneNode says whether a class has required pod affinity on kubernetes.io/hostname: it needs a node with partners.
func (r *Rules) OneNode(c *view.Class) bool {
	return slices.ContainsFunc(r.Classes[c.Index].Affinity, func(a AffinityRule) bool { return r.Counters[a.Counter].Key == Hostname })
}
