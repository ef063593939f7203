package verify

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// moment is who runs where while pods are bound one after the other. It answers for one more pod what kube-scheduler's
// filters PodTopologySpread and InterPodAffinity would, by their definition; see turns.go for the moments that there are.
type moment struct {
	*checker
	// passing are the sites that may be gone by then, or not be there yet.
	passing map[*site]bool
	// here are the pods by class.
	here map[model.ClassID]map[*site]crowd
	// counting are the tallies that a class's pods are in.
	counting map[model.ClassID][]counter
	// ruled are the rules by class, as far as they were asked for.
	ruled map[model.ClassID]*rules
	// repelling are the pods here that keep others away, by the class that they keep away.
	repelling map[model.ClassID][]apart
	// Rules that classes have in common are kept once.
	spread  map[string]spreading
	matched map[string]*tally
	grounds map[string][]*ground
}

// crowd are the pods of a class at a site.
type crowd struct {
	pods   int
	ending int // being deleted; not among pods
	likely int // may be there or not, as what the site becomes decides; not among pods
}

// counter is a tally, and whether it counts pods that are being deleted.
type counter struct {
	*tally
	ending bool
}

// rules are what a class's pods ask of the pods around them.
type rules struct {
	spreads []spreading
	with    *with
	apart   []apart
}

// spreading is a hard spread constraint.
type spreading struct {
	key string
	// views are the domains and counts with the sites that pass, and without them; one of them must do.
	views []*spread
}

// with is a required pod affinity: its terms and, for each, the pods that meet all terms.
type with struct {
	terms   []model.PodAffinityTerm
	tallies []*tally
	// self says that the class meets its own terms.
	self bool
}

// apart is one term of a required pod anti-affinity, and the pods on its other side.
type apart struct {
	term  model.PodAffinityTerm
	tally *tally
	// by is the class whose term it is.
	by model.ClassID
}

func (c *checker) newMoment(passing map[*site]bool) *moment {
	return &moment{
		checker: c, passing: passing,
		here: make(map[model.ClassID]map[*site]crowd), counting: make(map[model.ClassID][]counter),
		ruled: make(map[model.ClassID]*rules), spread: make(map[string]spreading), matched: make(map[string]*tally),
		grounds: make(map[string][]*ground),
	}
}

// put lets a pod be at a site.
func (m *moment) put(p *model.Pod, s *site) {
	at := m.here[p.Class]
	if at == nil {
		at = make(map[*site]crowd)
		m.here[p.Class] = at
	}
	n := at[s]
	if p.Terminating {
		n.ending++
	} else {
		n.pods++
	}
	at[s] = n
	for _, t := range m.counting[p.Class] {
		if t.ending || !p.Terminating {
			t.add(s, 1)
		}
	}
}

// putDaemons lets the pods of DaemonSets be on all nodes to come: they are bound before such a node is ready for others.
// It must be called before any rules are asked for.
func (m *moment) putDaemons() {
	for _, d := range m.snap.DaemonSets {
		class := m.classes[d.Class]
		if class == nil {
			continue
		}
		known := make(map[*form]fate)
		at := m.here[class.ID]
		if at == nil {
			at = make(map[*site]crowd)
			m.here[class.ID] = at
		}
		for _, s := range m.sites {
			if !s.toCome {
				continue
			}
			in, ok := known[s.form]
			if !ok {
				in = s.form.admits(class)
				known[s.form] = in
			}
			switch n := at[s]; in {
			case surely:
				n.pods++
				at[s] = n
			case maybe:
				n.likely++
				at[s] = n
			case never:
			}
		}
	}
}

// count makes a tally count the pods of a class, those that are here and those that come.
func (m *moment) count(t counter, class *model.PodClass) {
	for s, n := range m.here[class.ID] {
		if t.ending {
			n.pods += n.ending
		}
		t.add(s, n.pods)
		t.suspect(s, n.likely)
	}
	m.counting[class.ID] = append(m.counting[class.ID], t)
}

func (m *moment) rules(class *model.PodClass) *rules {
	if r := m.ruled[class.ID]; r != nil {
		return r
	}
	if m.repelling == nil {
		m.addRepelling()
	}
	r := &rules{apart: m.repelling[class.ID]}
	constraints := m.spreads(class)
	for _, t := range constraints {
		r.spreads = append(r.spreads, m.newSpreading(class, t, constraints))
	}
	if terms := required(class.PodAffinity); len(terms) > 0 {
		r.with = &with{terms: terms, self: m.picksAll(terms, class)}
		for _, t := range terms {
			r.with.tallies = append(r.with.tallies, m.match(normalKey(t.TopologyKey), terms))
		}
	}
	for _, t := range required(class.PodAntiAffinity) {
		tally := m.match(normalKey(t.TopologyKey), []model.PodAffinityTerm{t})
		r.apart = append(r.apart, apart{term: t, tally: tally, by: class.ID})
	}
	m.ruled[class.ID] = r
	return r
}

// addRepelling finds for each class the pods that keep it away: those with a required anti-affinity that means it. Terms
// of many classes that say the same are one.
func (m *moment) addRepelling() {
	m.repelling = make(map[model.ClassID][]apart)
	known := make(map[string]*tally)
	for i := range m.snap.PodClasses {
		class := &m.snap.PodClasses[i]
		if !m.peopled[class.ID] {
			continue
		}
		for _, t := range required(class.PodAntiAffinity) {
			key := text(t)
			if known[key] == nil {
				known[key] = newTally(normalKey(t.TopologyKey))
				for _, other := range m.selected(t.Selector) {
					if m.picks(t, other) {
						m.repelling[other.ID] = append(m.repelling[other.ID], apart{term: t, tally: known[key], by: class.ID})
					}
				}
			}
			m.count(counter{known[key], true}, class)
		}
	}
}

// match counts by a label the pods that meet all of some terms.
func (m *moment) match(key string, terms []model.PodAffinityTerm) *tally {
	name := text(key, terms)
	if t := m.matched[name]; t != nil {
		return t
	}
	t := newTally(key)
	for _, class := range m.selected(terms[0].Selector) {
		if m.picksAll(terms, class) {
			m.count(counter{t, true}, class)
		}
	}
	m.matched[name] = t
	return t
}

// newSpreading makes the counts for one constraint of a class.
func (m *moment) newSpreading(class *model.PodClass, t model.TopologySpread, all []model.TopologySpread) spreading {
	on, ground := m.groundOf(class, t, all)
	self := t.Selector.Matches(class.Labels)
	name := text(class.Namespace, t, self, ground)
	if known, ok := m.spread[name]; ok {
		return known
	}
	out := spreading{key: t.TopologyKey}
	for _, g := range on {
		view := newSpread(t, self, g)
		out.views = append(out.views, view)
		if t.Selector == nil || len(t.Selector.Requirements) == 0 {
			continue // the scheduler counts nothing for a selector that picks everything
		}
		for _, other := range m.selected(t.Selector) {
			if other.Namespace == class.Namespace && t.Selector.Matches(other.Labels) {
				m.count(counter{tally: view.tally}, other)
			}
		}
	}
	m.spread[name] = out
	return out
}

// groundOf finds the domains for one constraint of a class, with the sites that pass and without them, and their name.
// Which nodes count depends on the class's other hard constraints too: a node needs all their labels.
func (m *moment) groundOf(class *model.PodClass, t model.TopologySpread, all []model.TopologySpread) ([]*ground, string) {
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
	if known := m.grounds[name]; known != nil {
		return known, name
	}
	where := m.included(class, t, all)
	out := []*ground{newGround(m.sites, where)}
	if len(m.passing) > 0 {
		staying := slices.DeleteFunc(slices.Clone(m.sites), func(s *site) bool { return m.passing[s] })
		out = append(out, newGround(staying, where))
	}
	m.grounds[name] = out
	return out, name
}

// included says where sites lie for a constraint: nowhere unless they have the labels of all hard constraints and its
// inclusion policies let them in.
func (m *moment) included(class *model.PodClass, t model.TopologySpread, all []model.TopologySpread) func(*site) reach {
	key := normalKey(t.TopologyKey)
	known := make(map[*form]reach)
	return func(s *site) reach {
		r, ok := known[s.form]
		if !ok {
			r = s.form.reach(key, func(x *shape) fate { return counts(class, t, all, s.form, x) })
			known[s.form] = r
		}
		return s.own(key, r)
	}
}

func counts(class *model.PodClass, t model.TopologySpread, all []model.TopologySpread, f *form, s *shape) fate {
	out := surely
	for _, other := range all {
		out = min(out, s.has(other.TopologyKey))
	}
	if _, bad := untolerated(class, f.taints); bad && t.HonorTaints {
		return never
	}
	switch {
	case t.IgnoreNodeAffinity || asks(class, s.surely):
		return out
	case asks(class, s.maybe):
		return min(out, maybe)
	default:
		return never
	}
}

// text is equal for equal values.
func text(parts ...any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		return fmt.Sprint(parts...) // plain values always have a text
	}
	return string(b)
}

// refuses says what keeps one more pod of a class from a site because of the pods that are around; "" when nothing does.
func (m *moment) refuses(class *model.PodClass, at *site) string {
	r := m.rules(class)
	for _, s := range r.spreads {
		if why := s.refuses(at); why != "" {
			return why
		}
	}
	if r.with != nil {
		if why := r.with.refuses(at); why != "" {
			return why
		}
	}
	for _, a := range r.apart {
		if why := a.refuses(class, at); why != "" {
			return why
		}
	}
	return ""
}

func (s spreading) refuses(at *site) string {
	if r := at.reach(s.key); r.absent {
		return fmt.Sprintf("it must be spread over %s, a label that the node may not have", s.key)
	}
	why := ""
	for _, v := range s.views {
		n, domain := v.around(at)
		if n+v.self-v.lowestFor(domain, n) <= v.skew {
			return ""
		}
		if why == "" {
			why = fmt.Sprintf("it must be spread over %s with a skew of at most %d: %s has %d pods without it, the least of %d domains (%d wanted) has %d",
				s.key, v.skew, domain, n, len(v.domains), v.minDomains, v.lowestFor(domain, n))
		}
	}
	return why
}

func (w *with) refuses(at *site) string {
	near, all := true, 0
	for i, t := range w.terms {
		if r := at.reach(t.TopologyKey); r.absent {
			return fmt.Sprintf("it must be near other pods by %s, a label that the node may not have", t.TopologyKey)
		}
		near = near && w.tallies[i].near(at)
		all += w.tallies[i].all
	}
	switch {
	case near, all == 0 && w.self: // the first of a group that wants to be together may go anywhere
		return ""
	case all == 0:
		return fmt.Sprintf("it must be near other pods by %s, and there are none", w.terms[0].TopologyKey)
	default:
		return fmt.Sprintf("it must be near other pods by %s: the %d that there are, are not surely there", w.terms[0].TopologyKey, w.tallies[0].all)
	}
}

func (a apart) refuses(class *model.PodClass, at *site) string {
	n, domain := a.tally.around(at)
	switch {
	case n == 0:
		return ""
	case a.by == class.ID:
		return fmt.Sprintf("it must be away from other pods by %s: %s may have %d of them", a.term.TopologyKey, domain, n)
	default:
		return fmt.Sprintf("pods of class %s do not suffer it by %s: %s may have %d of them", a.by, a.term.TopologyKey, domain, n)
	}
}
