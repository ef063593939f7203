// Package topology knows the rules that tie pods to other pods: topology spread, pod affinity, pod anti-affinity and its
// inverse, as kube-scheduler filters by them; and the soft forms of the same, as weights.
//
// Rules are compiled once from a snapshot; a Tally counts pods on sites (hosts, claims of this plan, cells of claims yet
// to be cut) and answers whether one more pod may go to a site. What a node's labels and taints let in is judged by
// package fit, and how much room there is by package view: who asks both is fit.Matcher, once it minds a Tally. Start
// reading with New, then Tally.Allows.
//
// The scheduler's semantics, which are matched one to one. Spread: domains are those of the nodes that have all
// topology keys of the pod's constraints and pass the constraint's inclusion policies; pods of the class's namespace that
// the selector picks and that are not ending are counted there; the count of the pod's domain, with the pod itself where
// the selector picks it, may be at most maxSkew above the least of all domains (nought while there are fewer than
// minDomains). An empty selector counts nobody. Affinity: a node must have the keys of all terms, and with each the
// value of a node that runs a pod that all terms pick; where there is none anywhere, a pod that picks itself is free.
// Anti-affinity: no pod that a term picks may run in the domain of its key, and no pod there may have a term that picks
// the newcomer; a node without the key is in no domain. Pods that are ending still count for both.
//
// Pods of DaemonSets are on a new node before any other: they tolerate that it is not ready yet. They count on hosts that
// have not joined and on claims of this plan; a cell, which stands for any number of nodes, leaves them out.
package topology

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Rules are the constraints of all classes that have pods, compiled. They are not changed after New, and safe for
// concurrent use.
type Rules struct {
	w *view.World
	// keys are the topology keys in use; the first is the hostname.
	keys      []string
	counters  []counter
	filters   []filter
	universes []universe
	// classes are by index, kindOf says of which of the kinds each is.
	classes []classRules
	kinds   []kind
	kindOf  []int32
	// labels are those of nodes that any rule looks at, sorted; taints says that some look at taints.
	labels []string
	taints bool
	// daemons are those of the DaemonSets' classes that any rule counts or that keep others away.
	daemons []*view.Class
	// besides are, for each class that minds DaemonSets, the labels that decide where these run.
	besides [][]string
}

// New compiles the rules of a world. The cost is linear in classes, pods, and the pairs of a rule and a kind of pods that
// it selects; only selectors that say no more than what pods are not look at all kinds of their namespaces.
func New(w *view.World) *Rules {
	r := &Rules{w: w, keys: []string{labels.Hostname}, classes: make([]classRules, len(w.Classes))}
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
	r.kinds, r.kindOf = c.sortOut(w)
	c.connect()
	c.finish()
	r.findDaemons()
	r.labels = r.nodeLabels()
	return r
}

// nodeLabels are the labels that nodes must be told apart by.
func (r *Rules) nodeLabels() []string {
	out := slices.Clone(r.keys[1:])
	for _, f := range r.filters {
		if f.affinity != nil {
			out = append(out, f.affinity.Keys...)
		}
	}
	for _, d := range r.daemons {
		out = append(out, d.Profile.Keys...)
	}
	return sortUnique(out)
}

// Constrained says whether it matters to any required rule where pods of a class go: they have such a rule themselves, or one of
// a class that has pods counts them or keeps them away.
func (r *Rules) Constrained(c *view.Class) bool { return len(r.classes[c.Index].keys) > 0 }

// HasNoPodRules says that a class has no rules of its own, so that Rules are the same whether it has pods or none.
func HasNoPodRules(w *view.World, c *view.Class) bool {
	return len(c.TopologySpread)+len(c.PodAffinity)+len(c.PodAntiAffinity) == 0 &&
		(c.DefaultSelector == nil || len(w.Policy.DefaultSpread) == 0)
}

// CanRefuse says whether Allows can ever refuse pods of a class: they have a required rule, or one keeps them away. What is
// Tied but not Checked is only counted by others: it may go to any site that is decided, and does well to go before those
// that count it.
func (r *Rules) CanRefuse(c *view.Class) bool {
	x := &r.classes[c.Index]
	return len(x.spread)+len(x.affinity)+len(x.anti)+len(r.kinds[r.kindOf[c.Index]].repelled) > 0
}

// Soft says whether a class has preferred pod affinity, preferred anti-affinity or soft spread, its own or by default.
func (r *Rules) Soft(c *view.Class) bool {
	x := &r.classes[c.Index]
	return len(x.preferred)+len(x.softSpread) > 0
}

// Keys are the node labels other than kubernetes.io/hostname on which it matters to required rules where pods of a class
// go, sorted: those of its own rules, and of rules that count the pods or keep them away; and where the class minds pods of
// a DaemonSet, the labels that decide which nodes have them.
func (r *Rules) Keys(c *view.Class) []string {
	out := r.names(r.classes[c.Index].keys)
	if r.besides == nil || len(r.besides[c.Index]) == 0 {
		return out
	}
	out = sortUnique(append(out, r.besides[c.Index]...))
	return slices.DeleteFunc(out, func(key string) bool { return key == labels.Hostname })
}

// SoftKeys are the node labels other than kubernetes.io/hostname of a class's own soft rules, sorted.
func (r *Rules) SoftKeys(c *view.Class) []string {
	var keys []int32
	x := &r.classes[c.Index]
	for _, s := range x.softSpread {
		keys = append(keys, r.counters[s.counter].key)
	}
	for _, p := range x.preferred {
		keys = append(keys, r.counters[p.counter].key)
	}
	return r.names(keys)
}

func (r *Rules) names(keys []int32) []string {
	var out []string
	for _, k := range keys {
		if k != hostname {
			out = append(out, r.keys[k])
		}
	}
	return sortUnique(out)
}

// OneNode says whether a class has required pod affinity on kubernetes.io/hostname: it needs a node with partners.
func (r *Rules) OneNode(c *view.Class) bool {
	return slices.ContainsFunc(r.classes[c.Index].affinity, func(a affinityRule) bool { return r.counters[a.counter].key == hostname })
}
