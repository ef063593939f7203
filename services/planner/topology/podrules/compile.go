package podrules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Hostname is the place of kubernetes.io/hostname among the topology keys.
const Hostname int32 = 0

// Counter is the compiled form of something that is counted per domain of a topology key.
type Counter struct {
	Key int32
	// Universe says which nodes count; nowhere for (anti-)affinity, where all do.
	Universe int32
	// Required says that a required rule looks at it.
	Required bool
	// selection is whom it counts; nowhere where it counts the owners of a term.
	selection int32
	owners    int32
}

const None int32 = -1

// Filter says which nodes a spread constraint looks at.
type Filter struct {
	// Affinity, taints say whose node selector and affinity, and whose tolerations, are honoured; nil for none.
	Affinity, Taints *view.Profile
	// Keys must all be there.
	Keys []int32
}

// Universe are the nodes of a filter, by the domains of a topology key.
type Universe struct{ Filter, Key int32 }

// ClassRules are the rules of a class.
type ClassRules struct {
	Spread, SoftSpread []SpreadRule
	Affinity           []AffinityRule
	// SelfAffine says that the class matches all its own terms of required affinity.
	SelfAffine bool
	Anti       []AntiRule
	Preferred  []Preference
	// Owned are the counters of the owners of its required anti-affinity terms.
	Owned []int32
	// Keys are the topology keys of its own required rules and of those that count or repel it, sorted.
	Keys []int32
}

// SpreadRule is a topology spread constraint of a class, and the counter that it looks at.
type SpreadRule struct {
	Counter    int32
	Spec       *model.TopologySpread
	MaxSkew    int32
	MinDomains int32
	// Self is 1 where the pod itself is counted.
	Self int32
}

// AffinityRule is one topology key of a class's required affinity: its counter counts pods that match all terms.
type AffinityRule struct {
	Counter int32
	// Selects says which pods count: those that all required terms of the class select.
	Selects string
}

// AntiRule is a required anti-affinity term of a class, and the counter that it looks at.
type AntiRule struct {
	Counter int32
	Spec    *model.PodAffinityTerm
}

// Preference is a preferred affinity term of a class, its counter and its weight.
type Preference struct {
	Counter int32
	Weight  int32
	Anti    bool
}

// compiler collects rules, class by class.
type compiler struct {
	*Rules
	*selectors
	keyIndex      map[string]int32
	counterIndex  map[Counter]int32
	filterIndex   map[string]int32
	universeIndex map[Universe]int32
	// honoured is what a profile asks of nodes' labels, tolerated what it tolerates, as text.
	honoured, tolerated map[*view.Profile]string
	// ownerTerms are the terms of the counters of owners.
	ownerTerms map[int32]int32
}

func newCompiler(r *Rules) *compiler {
	return &compiler{
		Rules: r, selectors: newSelectors(r.World),
		keyIndex: map[string]int32{labels.Hostname: Hostname}, counterIndex: make(map[Counter]int32),
		filterIndex: make(map[string]int32), universeIndex: make(map[Universe]int32),
		honoured: make(map[*view.Profile]string), tolerated: make(map[*view.Profile]string),
		ownerTerms: make(map[int32]int32),
	}
}

func (c *compiler) key(name string) int32 {
	name = labels.Normal(name)
	i, ok := c.keyIndex[name]
	if !ok {
		i = int32(len(c.TopologyKeys))
		c.keyIndex[name] = i
		c.TopologyKeys = append(c.TopologyKeys, name)
	}
	return i
}

// counter interns a counter; required ones and others are one where they count the same.
func (c *compiler) counter(x Counter, required bool) int32 {
	x.Required = false
	i, ok := c.counterIndex[x]
	if !ok {
		i = int32(len(c.Counters))
		c.counterIndex[x] = i
		c.Counters = append(c.Counters, x)
	}
	c.Counters[i].Required = c.Counters[i].Required || required
	return i
}

// class compiles the rules of a class.
func (c *compiler) class(cl *view.Class) {
	out := &c.Classes[cl.Index]
	spread := c.spreadOf(cl)
	out.Spread = c.spread(cl, spread, true)
	c.affinity(cl, out)
	c.anti(cl, out)
	if c.World.Policy.Preferences == model.PreferencesIgnored {
		return
	}
	out.SoftSpread = c.spread(cl, spread, false)
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
	out := slices.Clone(c.World.Policy.DefaultSpread)
	for i := range out {
		out[i].Selector = cl.DefaultSelector
	}
	return out
}

// spread compiles the required constraints, or the others. All of a kind share the nodes that have all their keys.
func (c *compiler) spread(cl *view.Class, specs []model.TopologySpread, required bool) []SpreadRule {
	var keys []int32
	for i := range specs {
		if specs[i].Required == required {
			keys = append(keys, c.key(specs[i].TopologyKey))
		}
	}
	keys = SortUnique(keys)
	var out []SpreadRule
	for i := range specs {
		s := &specs[i]
		if s.Required != required {
			continue
		}
		key := c.key(s.TopologyKey)
		counted := s.Selector
		if counted != nil && len(counted.Requirements) == 0 {
			counted = nil // the scheduler counts no pod for a selector that is empty, yet says that it matches the pod
		}
		n := c.counter(Counter{
			Key: key, owners: None,
			Universe:  c.universe(Universe{c.filter(cl, s, keys), key}),
			selection: c.selection(c.term(counted, []string{cl.Namespace}, nil)),
		}, required)
		rule := SpreadRule{Counter: n, Spec: s, MaxSkew: max(1, s.MaxSkew), MinDomains: max(1, s.MinDomains)}
		if s.Selector.Matches(cl.Labels) {
			rule.Self = 1
		}
		out = append(out, rule)
	}
	return out
}

func (c *compiler) universe(u Universe) int32 {
	i, ok := c.universeIndex[u]
	if !ok {
		i = int32(len(c.Universes))
		c.universeIndex[u] = i
		c.Universes = append(c.Universes, u)
	}
	return i
}

// filter interns which nodes a constraint of a class looks at.
func (c *compiler) filter(cl *view.Class, s *model.TopologySpread, keys []int32) int32 {
	f := Filter{Keys: keys}
	var b []byte
	for _, k := range keys {
		b = append(strconv.AppendInt(b, int64(k), 10), ' ')
	}
	text := string(b)
	if !s.IgnoreNodeAffinity {
		f.Affinity = cl.Profile
		text += remember(c.honoured, cl.Profile, []any{cl.NodeSelector, cl.NodeAffinity})
	}
	if s.HonorTaints {
		f.Taints = cl.Profile
		text += "taints" + remember(c.tolerated, cl.Profile, cl.Tolerations)
	}
	i, ok := c.filterIndex[text]
	if !ok {
		i = int32(len(c.Filters))
		c.filterIndex[text] = i
		c.Filters = append(c.Filters, f)
		c.Taints = c.Taints || f.Taints != nil
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
func (c *compiler) affinity(cl *view.Class, out *ClassRules) {
	var terms []int32
	var texts []string
	out.SelfAffine = true
	for i := range cl.PodAffinity {
		if t := &cl.PodAffinity[i]; t.Weight == 0 {
			terms, texts = append(terms, c.podTerm(t)), append(texts, SelectorText(t.Selector))
			out.SelfAffine = out.SelfAffine && c.terms[terms[len(terms)-1]].selects(cl.Namespace, cl.Labels)
		}
	}
	if len(terms) == 0 {
		return
	}
	selection := c.selection(terms...)
	selects := strings.Join(slices.Compact(texts), " and ")
	if len(texts) > 1 && texts[0] != selects {
		selects += ", which all terms must select,"
	}
	for i := range cl.PodAffinity {
		t := &cl.PodAffinity[i]
		if t.Weight != 0 {
			continue
		}
		n := c.counter(Counter{Key: c.key(t.TopologyKey), Universe: None, owners: None, selection: selection}, true)
		if !slices.ContainsFunc(out.Affinity, func(a AffinityRule) bool { return a.Counter == n }) {
			out.Affinity = append(out.Affinity, AffinityRule{Counter: n, Selects: selects})
		}
	}
}

// anti compiles required anti-affinity: pods that a term selects are counted, and so are the owners of the term.
func (c *compiler) anti(cl *view.Class, out *ClassRules) {
	for i := range cl.PodAntiAffinity {
		t := &cl.PodAntiAffinity[i]
		if t.Weight != 0 {
			continue
		}
		id, key := c.podTerm(t), c.key(t.TopologyKey)
		n := c.counter(Counter{Key: key, Universe: None, owners: None, selection: c.selection(id)}, true)
		out.Anti = append(out.Anti, AntiRule{Counter: n, Spec: t})
		owners := c.counter(Counter{Key: key, Universe: None, owners: id, selection: None}, true)
		c.ownerTerms[owners] = id
		if !slices.Contains(out.Owned, owners) {
			out.Owned = append(out.Owned, owners)
		}
	}
}

func (c *compiler) preferred(out *ClassRules, terms []model.PodAffinityTerm, anti bool) {
	for i := range terms {
		t := &terms[i]
		if t.Weight == 0 {
			continue
		}
		n := c.counter(Counter{
			Key: c.key(t.TopologyKey), Universe: None, owners: None, selection: c.selection(c.podTerm(t)),
		}, false)
		out.Preferred = append(out.Preferred, Preference{Counter: n, Weight: t.Weight, Anti: anti})
	}
}

// connect tells each kind of pods which counters count it, and which keep it away.
func (c *compiler) connect() {
	p := newPostings(c.Kinds)
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
	for i, x := range c.Counters {
		n := int32(i)
		if x.selection == None {
			for _, k := range matched[c.ownerTerms[n]] {
				c.Kinds[k].RepelledBy = append(c.Kinds[k].RepelledBy, n)
			}
			continue
		}
		for _, k := range bySelection[x.selection] {
			if x.Universe != None {
				c.Kinds[k].Spread = append(c.Kinds[k].Spread, n)
			} else {
				c.Kinds[k].Pods = append(c.Kinds[k].Pods, n)
			}
		}
	}
	for i := range c.Kinds {
		k := &c.Kinds[i]
		for _, list := range [][]int32{k.Spread, k.Pods, k.RepelledBy} {
			k.Keys = c.requiredKeys(k.Keys, list)
		}
		k.Keys = SortUnique(k.Keys)
	}
}

func (r *Rules) requiredKeys(keys, counters []int32) []int32 {
	for _, n := range counters {
		if r.Counters[n].Required {
			keys = append(keys, r.Counters[n].Key)
		}
	}
	return keys
}

// finish works out the keys of each class.
func (c *compiler) finish() {
	for i := range c.Classes {
		out := &c.Classes[i]
		shared := c.Kinds[c.KindOf[i]].Keys
		if len(out.Spread)+len(out.Affinity)+len(out.Anti) == 0 {
			out.Keys = shared
			continue
		}
		keys := slices.Clone(shared)
		for _, x := range out.Spread {
			keys = append(keys, c.Counters[x.Counter].Key)
		}
		for _, x := range out.Affinity {
			keys = append(keys, c.Counters[x.Counter].Key)
		}
		for _, x := range out.Anti {
			keys = append(keys, c.Counters[x.Counter].Key)
		}
		out.Keys = SortUnique(keys)
	}
}

// Starts says whether pods of DaemonSets that matter to any rule may run on a new node.
func (r *Rules) Starts(at *fit.Place) bool {
	return slices.ContainsFunc(r.Daemons, func(d *view.Class) bool { return fit.MayRun(d.Profile, at) })
}

// findDaemons notes the DaemonSets that matter to any rule, so that it is known on which new nodes their pods will run,
// and for each class whose rules concern some of them, the labels that tell these nodes from others.
func (r *Rules) findDaemons() {
	counted, owning := make(map[int32][]string), make(map[int32][]string)
	for _, d := range r.World.Daemons {
		k, own := &r.Kinds[r.KindOf[d.Class.Index]], r.Classes[d.Class.Index].Owned
		if len(k.Spread)+len(k.Pods)+len(own) == 0 {
			continue
		}
		r.Daemons = append(r.Daemons, d.Class)
		r.Taints = true
		where := r.whereRuns(d.Class)
		for _, list := range [][]int32{k.Spread, k.Pods} {
			for _, n := range list {
				counted[n] = append(counted[n], where...)
			}
		}
		for _, n := range own {
			owning[n] = append(owning[n], where...)
		}
	}
	if len(r.Daemons) == 0 {
		return
	}
	r.daemonKeys = make([][]string, len(r.Classes))
	for i := range r.Classes {
		x := &r.Classes[i]
		var keys []string
		for _, s := range x.Spread {
			keys = append(keys, counted[s.Counter]...)
		}
		for _, a := range x.Affinity {
			keys = append(keys, counted[a.Counter]...)
		}
		for _, a := range x.Anti {
			keys = append(keys, counted[a.Counter]...)
		}
		for _, n := range r.Kinds[r.KindOf[i]].RepelledBy {
			keys = append(keys, owning[n]...)
		}
		r.daemonKeys[i] = SortUnique(keys)
	}
}

// whereRuns are the labels that decide on which new nodes a DaemonSet runs; the pool is one where its taints keep it off.
func (r *Rules) whereRuns(d *view.Class) []string {
	out := slices.Clone(d.Profile.Keys)
	for _, p := range r.World.Pools {
		if !fit.Tolerates(d.Profile, &fit.Place{Taints: p.Taints}) {
			return append(out, labels.NodePool)
		}
	}
	return out
}
