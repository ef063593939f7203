package place

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// filters is which pods run where while more are bound one after the other. It answers for one more pod what
// kube-scheduler's filters PodTopologySpread and InterPodAffinity would, by their definition.
type filters struct {
	c *Check
	// gone are the places that are no domains: they leave, and a pod that fits only while they are there may come too late.
	gone map[*Place]bool
	// here are the pods so far, by class.
	here map[model.ClassID]map[*Place]pods
	// counting are the counts that a class's pods are in; each of them has counted all pods that are here.
	counting map[model.ClassID][]counter
	// rules are those of a class, as far as they were asked for.
	rules map[model.ClassID]*podRules
	// repelling are the pods here that keep others away, by the class that they keep away; nil before the first rules.
	repelling map[model.ClassID][]antiAffinity
	// What classes have in common is kept once, by the text of all that it depends on.
	spreads map[string]spreading
	matched map[string]*counts
	over    map[string]*domains
}

// pods are the pods of a class at a place.
type pods struct {
	running int
	ending  int // being deleted; not among running
	likely  int // may be there or not, as what the place becomes decides; not among running
	// daemon are their rules, where they are a DaemonSet's that are likely there.
	daemon *nodeRules
}

// counter is a count, and whether pods that are being deleted are in it.
type counter struct {
	counts *counts
	ending bool
}

// podRules are what a class's pods ask of the pods around them.
type podRules struct {
	spreads  []spreading
	affinity *affinity // nil when there is none
	anti     []antiAffinity
}

// spreading is a hard spread constraint.
type spreading struct {
	key  string
	view *spread
}

// affinity is a required pod affinity: its terms and, for each, the pods that meet all terms.
type affinity struct {
	terms  []model.PodAffinityTerm
	counts []*counts
	// self says that the class meets its own terms.
	self bool
}

// antiAffinity is one term of a required pod anti-affinity, and the pods on its other side.
type antiAffinity struct {
	term   model.PodAffinityTerm
	counts *counts
	// by is the class whose term it is.
	by model.ClassID
}

// boundNow has the pods of the snapshot where they are said to be, nil being nowhere, and those of DaemonSets.
func (c *Check) boundNow(gone map[*Place]bool, at func(*model.Pod) *Place) *filters {
	f := &filters{
		c: c, gone: gone,
		here: make(map[model.ClassID]map[*Place]pods), counting: make(map[model.ClassID][]counter),
		rules: make(map[model.ClassID]*podRules), spreads: make(map[string]spreading), matched: make(map[string]*counts),
		over: make(map[string]*domains),
	}
	for i := range c.f.Cluster.Snapshot.Pods {
		pod := &c.f.Cluster.Snapshot.Pods[i]
		if p := at(pod); p != nil {
			f.put(pod, p)
		}
	}
	f.putDaemons()
	return f
}

func (f *filters) at(class model.ClassID) map[*Place]pods {
	at := f.here[class]
	if at == nil {
		at = make(map[*Place]pods)
		f.here[class] = at
	}
	return at
}

// put lets a pod be at a place.
func (f *filters) put(pod *model.Pod, p *Place) {
	at := f.at(pod.Class)
	n := at[p]
	if pod.Terminating {
		n.ending++
	} else {
		n.running++
	}
	at[p] = n
	for _, t := range f.counting[pod.Class] {
		if t.ending || !pod.Terminating {
			t.counts.add(p, 1)
		}
	}
}

// putDaemons lets the pods of DaemonSets be on all nodes to come: they are bound before such a node is ready for
// others. A claim that goes before its node has joined gets none.
func (f *filters) putDaemons() {
	for _, d := range f.c.f.Cluster.Snapshot.DaemonSets {
		class := f.c.f.Cluster.Classes[d.Class]
		if class == nil {
			continue
		}
		known := make(map[*kind]certainty)
		at := f.at(class.ID)
		for _, p := range f.c.all {
			if p.node != nil || f.gone[p] {
				continue
			}
			in, ok := known[p.kind]
			if !ok {
				in = p.kind.admits(f.c.places.nodeRules(class))
				known[p.kind] = in
			}
			n := at[p]
			switch in {
			case surely:
				n.running++
			case maybe:
				n.likely++
				n.daemon = f.c.places.nodeRules(class)
			case never:
				continue
			}
			at[p] = n
		}
	}
}

// count makes a count include the pods of a class, those that are here and those that come.
func (f *filters) count(t counter, class *model.PodClass) {
	for p, n := range f.here[class.ID] {
		if t.ending {
			n.running += n.ending
		}
		t.counts.add(p, n.running)
		if n.likely > 0 {
			t.counts.addPossible(p.where(n.daemon, t.counts), n.likely)
		}
	}
	f.counting[class.ID] = append(f.counting[class.ID], t)
}

func (f *filters) of(class *model.PodClass) *podRules {
	if r := f.rules[class.ID]; r != nil {
		return r
	}
	if f.repelling == nil {
		f.addRepelling()
	}
	r := &podRules{anti: f.repelling[class.ID]}
	constraints := facts.HardSpreads(class, f.c.f.Input.Policy.DefaultSpread)
	for _, t := range constraints {
		r.spreads = append(r.spreads, f.newSpreading(class, t, constraints))
	}
	if terms := facts.Required(class.PodAffinity); len(terms) > 0 {
		r.affinity = &affinity{terms: terms, self: f.c.selectors.Picks(class, terms...)}
		for _, t := range terms {
			r.affinity.counts = append(r.affinity.counts, f.match(t.TopologyKey, terms...))
		}
	}
	for _, t := range facts.Required(class.PodAntiAffinity) {
		r.anti = append(r.anti, antiAffinity{term: t, counts: f.match(t.TopologyKey, t), by: class.ID})
	}
	f.rules[class.ID] = r
	return r
}

// addRepelling finds for each class the pods that keep it away: those with a required anti-affinity that means it. Terms
// of many classes that say the same are one.
func (f *filters) addRepelling() {
	f.repelling = make(map[model.ClassID][]antiAffinity)
	known := make(map[string]*counts)
	for _, class := range f.c.selectors.All {
		for _, t := range facts.Required(class.PodAntiAffinity) {
			key := text(t)
			if known[key] == nil {
				known[key] = newCounts(labels.Normal(t.TopologyKey))
				for _, other := range f.c.selectors.Candidates(t.Selector) {
					if f.c.selectors.Picks(other, t) {
						f.repelling[other.ID] = append(f.repelling[other.ID], antiAffinity{term: t, counts: known[key], by: class.ID})
					}
				}
			}
			f.count(counter{known[key], true}, class)
		}
	}
}

// match counts by a label the pods that meet all of some terms.
func (f *filters) match(key string, terms ...model.PodAffinityTerm) *counts {
	key = labels.Normal(key)
	name := text(key, terms)
	if t := f.matched[name]; t != nil {
		return t
	}
	t := newCounts(key)
	for _, class := range f.c.selectors.Candidates(terms[0].Selector) {
		if f.c.selectors.Picks(class, terms...) {
			f.count(counter{t, true}, class)
		}
	}
	f.matched[name] = t
	return t
}

// newSpreading makes the counts for one constraint of a class.
func (f *filters) newSpreading(class *model.PodClass, t model.TopologySpread, all []model.TopologySpread) spreading {
	over, overName := f.domainsOf(class, t, all)
	self := t.Selector.Matches(class.Labels)
	name := text(class.Namespace, t, self, overName)
	if known, ok := f.spreads[name]; ok {
		return known
	}
	out := spreading{key: t.TopologyKey, view: newSpread(t, self, over)}
	f.spreads[name] = out
	if t.Selector == nil || len(t.Selector.Requirements) == 0 {
		return out // the scheduler counts nothing for a selector that picks everything
	}
	for _, other := range f.c.selectors.Candidates(t.Selector) {
		if other.Namespace == class.Namespace && t.Selector.Matches(other.Labels) {
			f.count(counter{counts: out.view.pods}, other)
		}
	}
	return out
}

// domainsOf finds the domains for one constraint of a class, and their name.
// Which nodes count depends on the class's other hard constraints too: a node needs all their labels.
func (f *filters) domainsOf(class *model.PodClass, t model.TopologySpread, all []model.TopologySpread) (*domains, string) {
	parts := []any{t.TopologyKey, t.IgnoreNodeAffinity, t.HonorTaints}
	for _, other := range all {
		parts = append(parts, other.TopologyKey)
	}
	if !t.IgnoreNodeAffinity {
		parts = append(parts, class.NodeSelector, class.NodeAffinity)
	}
	if t.HonorTaints {
		parts = append(parts, class.Tolerations)
	}
	name := text(parts...)
	if known := f.over[name]; known != nil {
		return known, name
	}
	counts := included(f.c.places.nodeRules(class), t, all)
	staying := slices.DeleteFunc(slices.Clone(f.c.all), func(p *Place) bool { return f.gone[p] })
	out := newDomains(staying, domainsBy(labels.Normal(t.TopologyKey), counts))
	out.counted = counts
	f.over[name] = out
	return out, name
}

// included says how certain it is that a node counts for a constraint which turns out to be a variant of a kind: never
// unless it has the labels of all hard constraints and the inclusion policies let it in.
func included(rules *nodeRules, t model.TopologySpread, all []model.TopologySpread) func(*kind, *Variant) certainty {
	return func(k *kind, v *Variant) certainty {
		if t.HonorTaints {
			if _, tolerated := rules.tolerates(k.taints); !tolerated {
				return never
			}
		}
		return counted(rules, t, all, v)
	}
}

// domainsBy says where places lie by a label, as far as they count.
func domainsBy(key string, counts func(*kind, *Variant) certainty) func(*Place) domain {
	known := make(map[*kind]domain)
	return func(p *Place) domain {
		d, ok := known[p.kind]
		if !ok {
			d = p.kind.domain(key, func(v *Variant) certainty { return counts(p.kind, v) })
			known[p.kind] = d
		}
		return p.named(key, d)
	}
}

// counted is how certain it is that a variant counts for a constraint.
func counted(rules *nodeRules, t model.TopologySpread, all []model.TopologySpread, v *Variant) certainty {
	for _, other := range all {
		if _, _, present := v.Values(labels.Normal(other.TopologyKey)); !present {
			return never
		}
	}
	if t.IgnoreNodeAffinity {
		return surely
	}
	return rules.admits(v)
}

// text is equal for equal values.
func text(parts ...any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		return fmt.Sprint(parts...) // plain values always have a text
	}
	return string(b)
}

// refuses says what keeps one more pod of a class from a place because of the pods that are around; "" when nothing does.
func (f *filters) refuses(class *model.PodClass, at *Place) string {
	r := f.of(class)
	for _, s := range r.spreads {
		if why := s.refuses(at); why != "" {
			return why
		}
	}
	if r.affinity != nil {
		if why := r.affinity.refuses(at); why != "" {
			return why
		}
	}
	for _, a := range r.anti {
		if why := a.refuses(class, at); why != "" {
			return why
		}
	}
	return ""
}

func (s spreading) refuses(at *Place) string {
	v := s.view
	if at.domain(v.pods.key).absent {
		return fmt.Sprintf("it must be spread over %s, a label that the node may not have", s.key)
	}
	n, value := v.pods.around(at)
	lowest := v.lowestFor(at, value, n)
	if n+v.self-lowest <= v.skew {
		return ""
	}
	return fmt.Sprintf("it must be spread over %s with a skew of at most %d: %s has %d pods without it, the least of %d domains (%d wanted) has %d",
		s.key, v.skew, value, n, len(v.domains.values), v.minDomains, lowest)
}

func (a *affinity) refuses(at *Place) string {
	near, joins, all := true, a.self, 0
	for i, t := range a.terms {
		if at.domain(a.counts[i].key).absent {
			return fmt.Sprintf("it must be near other pods by %s, a label that the node may not have", t.TopologyKey)
		}
		here := a.counts[i].near(at)
		near, joins = near && here, joins && a.whole(i) && (here || a.counts[i].nowhereElse(at))
		all += a.counts[i].all
	}
	switch {
	case near, all == 0 && a.self: // the first of a group that is to be together may go anywhere
		return ""
	case joins: // it is the first, or the others are here
		return ""
	case all == 0:
		return fmt.Sprintf("it must be near other pods by %s, and there are none", a.terms[0].TopologyKey)
	default:
		return fmt.Sprintf("it must be near other pods by %s: the %d that there are, are not surely there", a.terms[0].TopologyKey, a.counts[0].all)
	}
}

// whole says whether no pod that is in a domain by another label may be in none by that of a term: it would not be the
// first then, with none around by this one.
func (a *affinity) whole(term int) bool {
	return a.counts[term].outside == 0 || !slices.ContainsFunc(a.counts, func(c *counts) bool { return c != a.counts[term] })
}

func (a antiAffinity) refuses(class *model.PodClass, at *Place) string {
	n, value := a.counts.around(at)
	switch {
	case n == 0:
		return ""
	case a.by == class.ID:
		return fmt.Sprintf("it must be away from other pods by %s: %s may have %d of them", a.term.TopologyKey, value, n)
	default:
		return fmt.Sprintf("pods of class %s must be away from it by %s: %s may have %d of them", a.by, a.term.TopologyKey, value, n)
	}
}
