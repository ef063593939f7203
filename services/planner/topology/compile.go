package topology

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// hostname is the place of kubernetes.io/hostname among the topology keys.
const hostname int32 = 0

// counter is the compiled form of something that is counted per domain of a topology key.
type counter struct {
	key int32
	// universe says which nodes count; nowhere for (anti-)affinity, where all do.
	universe int32
	// required says that a required rule looks at it.
	required bool
	// selection is whom it counts; nowhere where it counts the owners of a term.
	selection int32
	owners    int32
}

const nowhere int32 = -1

// filter says which nodes a spread constraint looks at.
type filter struct {
	// affinity, taints say whose node selector and affinity, and whose tolerations, are honoured; nil for nobody's.
	affinity, taints *view.Profile
	// keys must all be there.
	keys []int32
}

// universe are the nodes of a filter, by the domains of a topology key.
type universe struct{ filter, key int32 }

// classRules are the rules of a class.
type classRules struct {
	spread, softSpread []spreadRule
	affinity           []affinityRule
	// attracted says that the class matches all its own terms of required affinity.
	attracted bool
	anti      []antiRule
	preferred []preference
	// owned are the counters of the owners of its required anti-affinity terms.
	owned []int32
	// keys are the topology keys of its own required rules and of those that count or repel it, sorted.
	keys []int32
}

type spreadRule struct {
	counter    int32
	spec       *model.TopologySpread
	maxSkew    int32
	minDomains int32
	// self is 1 where the pod itself is counted.
	self int32
}

// affinityRule is one topology key of a class's required affinity: its counter counts pods that match all terms.
type affinityRule struct {
	counter int32
	spec    *model.PodAffinityTerm
}

type antiRule struct {
	counter int32
	spec    *model.PodAffinityTerm
}

type preference struct {
	counter int32
	weight  int32
	anti    bool
}

// compiler collects rules, class by class.
type compiler struct {
	*Rules
	*selectors
	keyIndex      map[string]int32
	counterIndex  map[counter]int32
	filterIndex   map[string]int32
	universeIndex map[universe]int32
	// honoured is what a profile asks of nodes' labels, tolerated what it tolerates, as text.
	honoured, tolerated map[*view.Profile]string
	// ownerTerms are the terms of the counters of owners.
	ownerTerms map[int32]int32
}

func newCompiler(r *Rules) *compiler {
	return &compiler{
		Rules: r, selectors: newSelectors(r.w),
		keyIndex: map[string]int32{labels.Hostname: hostname}, counterIndex: make(map[counter]int32),
		filterIndex: make(map[string]int32), universeIndex: make(map[universe]int32),
		honoured: make(map[*view.Profile]string), tolerated: make(map[*view.Profile]string),
		ownerTerms: make(map[int32]int32),
	}
}

func (c *compiler) key(name string) int32 {
	name = labels.Normal(name)
	i, ok := c.keyIndex[name]
	if !ok {
		i = int32(len(c.keys))
		c.keyIndex[name] = i
		c.keys = append(c.keys, name)
	}
	return i
}

// counter interns a counter; required ones and others are one where they count the same.
func (c *compiler) counter(x counter, required bool) int32 {
	x.required = false
	i, ok := c.counterIndex[x]
	if !ok {
		i = int32(len(c.counters))
		c.counterIndex[x] = i
		c.counters = append(c.counters, x)
	}
	c.counters[i].required = c.counters[i].required || required
	return i
}

// class compiles the rules of a class.
func (c *compiler) class(cl *view.Class) {
	out := &c.classes[cl.Index]
	spread := c.spreadOf(cl)
	out.spread = c.spread(cl, spread, true)
	c.affinity(cl, out)
	c.anti(cl, out)
	if c.w.Policy.Preferences == model.PreferencesIgnored {
		return
	}
	out.softSpread = c.spread(cl, spread, false)
	c.preferred(out, cl.PodAffinity, false)
	c.preferred(out, cl.PodAntiAffinity, true)
}

// spreadOf are the constraints of a class, or the default ones where it has none and it is known whom they count.
func (c *compiler) spreadOf(cl *view.Class) []model.TopologySpread {
	if len(cl.TopologySpread) > 0 {
		return cl.TopologySpread
	}
	if cl.DefaultSelector == nil || len(cl.DefaultSelector.Requirements) == 0 {
		return nil
	}
	out := slices.Clone(c.w.Policy.DefaultSpread)
	for i := range out {
		out[i].Selector = cl.DefaultSelector
	}
	return out
}

// spread compiles the required constraints, or the others. All of a kind share the nodes that have all their keys.
func (c *compiler) spread(cl *view.Class, specs []model.TopologySpread, required bool) []spreadRule {
	var keys []int32
	for i := range specs {
		if specs[i].Required == required {
			keys = append(keys, c.key(specs[i].TopologyKey))
		}
	}
	keys = sortUnique(keys)
	var out []spreadRule
	for i := range specs {
		s := &specs[i]
		if s.Required != required {
			continue
		}
		key := c.key(s.TopologyKey)
		counted := s.Selector
		if counted != nil && len(counted.Requirements) == 0 {
			counted = nil // the scheduler counts nobody for a selector that is empty, yet says that it matches the pod
		}
		n := c.counter(counter{
			key: key, owners: nowhere,
			universe:  c.universe(universe{c.filter(cl, s, keys), key}),
			selection: c.selection(c.term(counted, []string{cl.Namespace}, nil)),
		}, required)
		rule := spreadRule{counter: n, spec: s, maxSkew: max(1, s.MaxSkew), minDomains: max(1, s.MinDomains)}
		if s.Selector.Matches(cl.Labels) {
			rule.self = 1
		}
		out = append(out, rule)
	}
	return out
}

func (c *compiler) universe(u universe) int32 {
	i, ok := c.universeIndex[u]
	if !ok {
		i = int32(len(c.universes))
		c.universeIndex[u] = i
		c.universes = append(c.universes, u)
	}
	return i
}

// filter interns which nodes a constraint of a class looks at.
func (c *compiler) filter(cl *view.Class, s *model.TopologySpread, keys []int32) int32 {
	f := filter{keys: keys}
	var b []byte
	for _, k := range keys {
		b = append(strconv.AppendInt(b, int64(k), 10), ' ')
	}
	text := string(b)
	if !s.IgnoreNodeAffinity {
		f.affinity = cl.Profile
		text += remember(c.honoured, cl.Profile, []any{cl.NodeSelector, cl.NodeAffinity})
	}
	if s.HonorTaints {
		f.taints = cl.Profile
		text += "taints" + remember(c.tolerated, cl.Profile, cl.Tolerations)
	}
	i, ok := c.filterIndex[text]
	if !ok {
		i = int32(len(c.filters))
		c.filterIndex[text] = i
		c.filters = append(c.filters, f)
		c.taints = c.taints || f.taints != nil
	}
	return i
}

// remember writes a value down, once for each profile.
func remember(seen map[*view.Profile]string, p *view.Profile, value any) string {
	s, ok := seen[p]
	if !ok {
		b, _ := json.Marshal(value) // plain values always can be written
		s = string(b)
		seen[p] = s
	}
	return s
}

func (c *compiler) podTerm(t *model.PodAffinityTerm) int32 {
	return c.term(t.Selector, t.Namespaces, t.NamespaceSelector)
}

// affinity compiles required affinity: what counts are pods that all terms select, in the domain of each term's key.
func (c *compiler) affinity(cl *view.Class, out *classRules) {
	var terms []int32
	out.attracted = true
	for i := range cl.PodAffinity {
		if t := &cl.PodAffinity[i]; t.Weight == 0 {
			terms = append(terms, c.podTerm(t))
			out.attracted = out.attracted && c.terms[terms[len(terms)-1]].selects(cl.Namespace, cl.Labels)
		}
	}
	if len(terms) == 0 {
		return
	}
	selection := c.selection(terms...)
	for i := range cl.PodAffinity {
		t := &cl.PodAffinity[i]
		if t.Weight != 0 {
			continue
		}
		n := c.counter(counter{key: c.key(t.TopologyKey), universe: nowhere, owners: nowhere, selection: selection}, true)
		if !slices.ContainsFunc(out.affinity, func(a affinityRule) bool { return a.counter == n }) {
			out.affinity = append(out.affinity, affinityRule{counter: n, spec: t})
		}
	}
}

// anti compiles required anti-affinity: pods that a term selects are counted, and so are the owners of the term.
func (c *compiler) anti(cl *view.Class, out *classRules) {
	for i := range cl.PodAntiAffinity {
		t := &cl.PodAntiAffinity[i]
		if t.Weight != 0 {
			continue
		}
		id, key := c.podTerm(t), c.key(t.TopologyKey)
		n := c.counter(counter{key: key, universe: nowhere, owners: nowhere, selection: c.selection(id)}, true)
		out.anti = append(out.anti, antiRule{counter: n, spec: t})
		owners := c.counter(counter{key: key, universe: nowhere, owners: id, selection: nowhere}, true)
		c.ownerTerms[owners] = id
		if !slices.Contains(out.owned, owners) {
			out.owned = append(out.owned, owners)
		}
	}
}

func (c *compiler) preferred(out *classRules, terms []model.PodAffinityTerm, anti bool) {
	for i := range terms {
		t := &terms[i]
		if t.Weight == 0 {
			continue
		}
		n := c.counter(counter{
			key: c.key(t.TopologyKey), universe: nowhere, owners: nowhere, selection: c.selection(c.podTerm(t)),
		}, false)
		out.preferred = append(out.preferred, preference{counter: n, weight: t.Weight, anti: anti})
	}
}

// connect tells each kind of pods which counters count it, and which keep it away.
func (c *compiler) connect() {
	p := newPostings(c.kinds)
	matched := make([][]int32, len(c.terms))
	for i := range c.terms {
		matched[i] = p.match(&c.terms[i])
	}
	bySelection := make([][]int32, len(c.selections))
	for i, terms := range c.selections {
		bySelection[i] = matched[terms[0]]
		for _, t := range terms[1:] {
			bySelection[i] = common(bySelection[i], matched[t])
		}
	}
	for i, x := range c.counters {
		n := int32(i)
		if x.selection == nowhere {
			for _, k := range matched[c.ownerTerms[n]] {
				c.kinds[k].repelled = append(c.kinds[k].repelled, n)
			}
			continue
		}
		for _, k := range bySelection[x.selection] {
			if x.universe != nowhere {
				c.kinds[k].spread = append(c.kinds[k].spread, n)
			} else {
				c.kinds[k].pods = append(c.kinds[k].pods, n)
			}
		}
	}
	for i := range c.kinds {
		k := &c.kinds[i]
		for _, list := range [][]int32{k.spread, k.pods, k.repelled} {
			k.keys = c.requiredKeys(k.keys, list)
		}
		k.keys = sortUnique(k.keys)
	}
}

func (r *Rules) requiredKeys(keys, counters []int32) []int32 {
	for _, n := range counters {
		if r.counters[n].required {
			keys = append(keys, r.counters[n].key)
		}
	}
	return keys
}

// finish works out the keys of each class.
func (c *compiler) finish() {
	for i := range c.classes {
		out := &c.classes[i]
		shared := c.kinds[c.kindOf[i]].keys
		if len(out.spread)+len(out.affinity)+len(out.anti) == 0 {
			out.keys = shared
			continue
		}
		keys := slices.Clone(shared)
		for _, x := range out.spread {
			keys = append(keys, c.counters[x.counter].key)
		}
		for _, x := range out.affinity {
			keys = append(keys, c.counters[x.counter].key)
		}
		for _, x := range out.anti {
			keys = append(keys, c.counters[x.counter].key)
		}
		out.keys = sortUnique(keys)
	}
}
