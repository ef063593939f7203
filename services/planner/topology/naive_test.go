package topology_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/require"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// naive is the scheduler's filter written down as plainly as can be: it counts everything anew for each question.
type naive struct {
	classes    []*view.Class
	namespaces map[string]model.Labels
	nodes      []naiveNode
	daemons    []view.Daemon
}

type naiveNode struct {
	labels map[string]string
	taints []model.Taint
	// built is false for a node that is only on offer.
	built bool
	pods  []naivePod
}

type naivePod struct {
	class  *view.Class
	ending bool
	// daemon is a DaemonSet's pod on a node to come.
	daemon bool
}

// attend starts the DaemonSets' pods on a node.
func (n *naive) attend(at int) {
	node := &n.nodes[at]
	for _, d := range n.daemons {
		fits := len(node.taints) == 0 || len(d.Class.Tolerations) > 0
		for _, l := range d.Class.NodeSelector {
			fits = fits && node.labels[l.Key] == l.Value
		}
		if fits {
			node.pods = append(node.pods, naivePod{class: d.Class, daemon: true})
		}
	}
}

func (n *naive) picks(t model.PodAffinityTerm, c *view.Class) bool {
	in := slices.Contains(t.Namespaces, c.Namespace)
	if t.NamespaceSelector != nil {
		in = in || t.NamespaceSelector.Matches(n.namespaces[c.Namespace])
	}
	return in && t.Selector.Matches(c.Labels)
}

func (n *naive) picksAll(ts []model.PodAffinityTerm, c *view.Class) bool {
	return !slices.ContainsFunc(ts, func(t model.PodAffinityTerm) bool { return !n.picks(t, c) })
}

func requiredTerms(ts []model.PodAffinityTerm) []model.PodAffinityTerm {
	return slices.DeleteFunc(slices.Clone(ts), func(t model.PodAffinityTerm) bool { return t.Weight != 0 })
}

func (n *naive) allows(c *view.Class, at int, built bool) bool {
	return n.spreads(c, at, built) && n.attracts(c, at) && n.keepsAway(c, at)
}

func (n *naive) spreads(c *view.Class, at int, built bool) bool {
	var hard []model.TopologySpread
	for _, s := range c.TopologySpread {
		if s.Required {
			hard = append(hard, s)
		}
	}
	hasAll := func(node naiveNode) bool {
		return !slices.ContainsFunc(hard, func(s model.TopologySpread) bool { _, ok := node.labels[s.TopologyKey]; return !ok })
	}
	if !hasAll(n.nodes[at]) {
		return false
	}
	for _, s := range hard {
		counts, sure := map[string]int{}, map[string]bool{}
		for _, node := range n.nodes {
			if !hasAll(node) || (built && !node.built) || !n.included(s, c, node) {
				continue
			}
			v := node.labels[s.TopologyKey]
			counts[v] += 0
			if node.built {
				sure[v] = true
			}
			for _, p := range node.pods {
				if !p.ending && p.class.Namespace == c.Namespace && s.Selector != nil && len(s.Selector.Requirements) > 0 && s.Selector.Matches(p.class.Labels) {
					counts[v]++
				}
			}
		}
		fewest := 1 << 30
		for _, x := range counts {
			fewest = min(fewest, x)
		}
		if len(sure) < int(max(1, s.MinDomains)) {
			fewest = 0
		}
		self := 0
		if s.Selector.Matches(c.Labels) {
			self = 1
		}
		if counts[n.nodes[at].labels[s.TopologyKey]]+self-fewest > int(s.MaxSkew) {
			return false
		}
	}
	return true
}

func (n *naive) included(s model.TopologySpread, c *view.Class, node naiveNode) bool {
	for _, l := range c.NodeSelector {
		if !s.IgnoreNodeAffinity && node.labels[l.Key] != l.Value {
			return false
		}
	}
	return !s.HonorTaints || len(node.taints) == 0 || len(c.Tolerations) > 0
}

func (n *naive) attracts(c *view.Class, at int) bool {
	terms := requiredTerms(c.PodAffinity)
	if len(terms) == 0 {
		return true
	}
	anywhere, there := false, true
	for _, t := range terms {
		v, ok := n.nodes[at].labels[t.TopologyKey]
		if !ok {
			return false
		}
		found := false
		for _, node := range n.nodes {
			w, ok := node.labels[t.TopologyKey]
			for _, p := range node.pods {
				if ok && n.picksAll(terms, p.class) {
					anywhere = true
					found = found || v == w
				}
			}
		}
		there = there && found
	}
	return there || (!anywhere && n.picksAll(terms, c))
}

func (n *naive) keepsAway(c *view.Class, at int) bool {
	shares := func(node naiveNode, key string) bool {
		v, ok := node.labels[key]
		w, has := n.nodes[at].labels[key]
		return ok && has && v == w
	}
	for _, node := range n.nodes {
		for _, p := range node.pods {
			for _, t := range requiredTerms(c.PodAntiAffinity) {
				if n.picks(t, p.class) && shares(node, t.TopologyKey) {
					return false
				}
			}
			for _, t := range requiredTerms(p.class.PodAntiAffinity) {
				if n.picks(t, c) && shares(node, t.TopologyKey) {
					return false
				}
			}
		}
	}
	return true
}

// draw makes random clusters of few names, so that much coincides.
type draw struct{ *rapid.T }

func (d draw) n(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(d.T, what)
}
func (d draw) chance(what string) bool { return d.n(what, 0, 3) == 0 }
func (d draw) of(what string, values ...string) string {
	return rapid.SampledFrom(values).Draw(d.T, what)
}

func (d draw) selector() *model.Selector {
	switch d.n("selector", 0, 9) {
	case 0:
		return nil
	case 1:
		return &model.Selector{}
	case 2:
		return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.NotIn, Values: []string{"a"}}}}
	case 3:
		return &model.Selector{Requirements: []model.Requirement{{Key: "tier", Operator: model.Exists}}}
	case 4:
		return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"a", "b"}}}}
	case 5:
		return &model.Selector{Requirements: []model.Requirement{
			{Key: "app", Operator: model.In, Values: []string{d.of("app", "a", "b")}}, {Key: "tier", Operator: model.In, Values: []string{"x"}},
		}}
	}
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{d.of("app", "a", "b", "c")}}}}
}

func (d draw) key() string {
	return d.of("key", require.KeyZone, require.KeyZone, require.KeyHostname, require.KeyHostname, "rack", require.KeyCapacityType)
}

func (d draw) terms() (out []model.PodAffinityTerm) {
	for range d.n("terms", 0, 2) {
		t := model.PodAffinityTerm{TopologyKey: d.key(), Selector: d.selector(), Namespaces: []string{d.of("namespace", "p", "q")}}
		if d.chance("namespace selector") {
			t.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"q"}}}}
			if d.chance("every namespace") {
				t.NamespaceSelector = &model.Selector{}
			}
		}
		if d.chance("preferred") {
			t.Weight = 10
		}
		out = append(out, t)
	}
	return out
}

func (d draw) class(i int) model.PodClass {
	c := model.PodClass{ID: model.ClassID(fmt.Sprintf("c%d", i)), Namespace: d.of("namespace", "p", "q"), OwnerName: "o"}
	c.Labels = model.Labels{{Key: "app", Value: d.of("app", "a", "b", "c")}}
	if d.chance("tier") {
		c.Labels = append(c.Labels, model.Label{Key: "tier", Value: d.of("tier", "x", "y")})
	}
	if d.chance("own label") {
		c.Labels = append(c.Labels, model.Label{Key: "unseen", Value: string(c.ID)})
	}
	if d.chance("node selector") {
		c.NodeSelector = model.Labels{{Key: require.KeyCapacityType, Value: "spot"}}
	}
	if d.chance("tolerates") {
		c.Tolerations = []model.Toleration{{Exists: true}}
	}
	if d.n("spread", 0, 1) == 0 {
		for range d.n("constraints", 1, 2) {
			c.TopologySpread = append(c.TopologySpread, model.TopologySpread{
				TopologyKey: d.key(), MaxSkew: int32(d.n("max skew", 1, 2)), Required: !d.chance("soft"), Selector: d.selector(),
				MinDomains: int32(d.n("min domains", 0, 3)), IgnoreNodeAffinity: d.chance("ignore affinity"), HonorTaints: d.chance("honor taints"),
			})
		}
	}
	if d.chance("affinity") {
		c.PodAffinity = d.terms()
	}
	if d.chance("anti") {
		c.PodAntiAffinity = d.terms()
	}
	return c
}

// labels are those of a node; some are not there.
func (d draw) labels() model.Labels {
	ls := model.Labels{{Key: require.KeyCapacityType, Value: d.of("capacity", "spot", "on-demand")}}
	if d.chance("rack") {
		ls = append(ls, model.Label{Key: "rack", Value: d.of("rack", "1", "2")})
	}
	if d.n("has zone", 0, 9) > 0 {
		ls = append(ls, model.Label{Key: require.KeyZone, Value: d.of("zone", "za", "zb", "zc")})
	}
	return ls
}

func (d draw) taints() []model.Taint {
	if d.chance("taint") {
		return []model.Taint{{Key: "t", Effect: model.NoSchedule}}
	}
	return nil
}

func (d draw) node(ls model.Labels, taints []model.Taint, name string, built bool) naiveNode {
	n := naiveNode{labels: map[string]string{require.KeyHostname: name}, taints: taints, built: built}
	for _, l := range ls {
		n.labels[l.Key] = l.Value
	}
	return n
}

// cluster is a world, and the same to the naive.
func (d draw) cluster() (*view.World, *naive, []*fit.Place) {
	s := &model.Snapshot{Namespaces: []model.Namespace{
		{Name: "p", Labels: model.Labels{{Key: "team", Value: "p"}}}, {Name: "q", Labels: model.Labels{{Key: "team", Value: "q"}}},
	}}
	for i := range d.n("classes", 1, 6) {
		s.PodClasses = append(s.PodClasses, d.class(i))
	}
	n := &naive{namespaces: map[string]model.Labels{"p": s.Namespaces[0].Labels, "q": s.Namespaces[1].Labels}}
	for i := range d.n("nodes", 0, 5) {
		name := fmt.Sprintf("n%d", i)
		ls, taints := d.labels(), d.taints()
		n.nodes = append(n.nodes, d.node(ls, taints, name, true))
		s.Nodes = append(s.Nodes, model.Node{
			Name: model.NodeName(name), Ready: true, Labels: view.MergeLabels(ls, model.Labels{{Key: require.KeyHostname, Value: name}}), Taints: taints,
		})
	}
	for i := range s.PodClasses {
		s.Pods = append(s.Pods, model.Pod{ID: model.PodID(fmt.Sprintf("p%02d", i)), Class: s.PodClasses[i].ID})
	}
	type bound struct {
		node, class int
		ending      bool
	}
	var pods []bound
	if len(s.Nodes) > 0 {
		for i := range d.n("bound", 0, 6) {
			b := bound{d.n("on", 0, len(s.Nodes)-1), d.n("of", 0, len(s.PodClasses)-1), d.chance("ending")}
			pods = append(pods, b)
			s.Pods = append(s.Pods, model.Pod{
				ID: model.PodID(fmt.Sprintf("x%02d", i)), Class: s.PodClasses[b.class].ID, Node: s.Nodes[b.node].Name, Terminating: b.ending,
			})
		}
	}
	for i := range d.n("daemons", 0, 2) {
		c := d.class(i)
		c.ID, c.Daemon, c.OwnerName = model.ClassID(fmt.Sprintf("d%d", i)), true, fmt.Sprintf("d%d", i)
		s.PodClasses = append(s.PodClasses, c)
		s.DaemonSets = append(s.DaemonSets, model.DaemonSet{ID: c.Namespace + "/" + c.OwnerName, Class: c.ID})
	}
	w, err := view.NewWorld(s, model.Policy{}, time.Unix(0, 0))
	if err != nil {
		d.Fatal(err)
	}
	n.daemons = w.Daemons
	n.classes = w.Classes
	for _, b := range pods {
		n.nodes[b.node].pods = append(n.nodes[b.node].pods, naivePod{class: w.Classes[b.class], ending: b.ending})
	}
	var offers []*fit.Place
	for i := range d.n("offers", 0, 3) {
		p := &fit.Place{Labels: d.labels(), Taints: d.taints()}
		offers = append(offers, p)
		n.nodes = append(n.nodes, d.node(p.Labels, p.Taints, fmt.Sprintf("offer%d", i), false))
	}
	return w, n, offers
}

func (n *naive) clone() *naive {
	out := *n
	out.nodes = slices.Clone(n.nodes)
	for i := range out.nodes {
		out.nodes[i].pods = slices.Clone(out.nodes[i].pods)
	}
	return &out
}

func TestATallyAgreesWithCountingAnew(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw{rt}
		w, n, offers := d.cluster()
		v := view.NewView(w)
		tally := topology.NewTally(topology.New(w), v, nil)
		for _, p := range offers {
			tally.Offer(p)
		}
		type place struct {
			site *topology.Site
			node int
		}
		var sites []place
		for i := range v.Hosts {
			sites = append(sites, place{tally.Host(i), i})
		}
		compare := func(step string) {
			for _, c := range w.Classes {
				for _, s := range sites {
					for _, built := range []bool{false, true} {
						got, want := tally.Allows(c, s.site), n.allows(c, s.node, built)
						if built {
							got = tally.AllowsReal(c, s.site)
						}
						if got != want {
							rt.Fatalf("after %s: class %s on %v (built %v): %v, the naive says %v; %s",
								step, c.ID, n.nodes[s.node].labels, built, got, want, tally.Why(c, s.site).Message)
						}
						if why := tally.Why(c, s.site); !built && why.OK() != got {
							rt.Fatalf("Why says something else than Allows: %+v", why)
						}
					}
				}
			}
		}
		compare("the start")
		type fork struct {
			mark  topology.Mark
			naive *naive
			sites int
		}
		var forks []fork
		for i := range d.n("steps", 0, 12) {
			step := d.of("step", "add", "add", "add", "remove", "claim", "fork", "revert", "narrow")
			switch {
			case step == "add" && len(sites) > 0:
				s, c, k := sites[d.n("site", 0, len(sites)-1)], w.Classes[d.n("class", 0, len(w.Classes)-1)], d.n("count", 1, 3)
				tally.Add(c, s.site, k)
				for range k {
					n.nodes[s.node].pods = append(n.nodes[s.node].pods, naivePod{class: c})
				}
			case step == "remove" && len(sites) > 0:
				s := sites[d.n("site", 0, len(sites)-1)]
				for j, p := range n.nodes[s.node].pods {
					if !p.ending && !p.daemon {
						tally.Add(p.class, s.site, -1)
						n.nodes[s.node].pods = slices.Delete(slices.Clone(n.nodes[s.node].pods), j, j+1)
						break
					}
				}
			case step == "claim":
				p := &fit.Place{Labels: d.labels(), Taints: d.taints()}
				probe := tally.Probe(nil, p)
				var want []bool
				for _, c := range w.Classes {
					want = append(want, tally.Allows(c, probe), tally.AllowsReal(c, probe))
				}
				sites = append(sites, place{tally.Claim(nil, p), len(n.nodes)})
				for k, c := range w.Classes {
					claim := sites[len(sites)-1].site
					if tally.Allows(c, claim) != want[2*k] || tally.AllowsReal(c, claim) != want[2*k+1] {
						rt.Fatalf("class %s: the probe says %v and %v, and the claim something else", c.ID, want[2*k], want[2*k+1])
					}
				}
				n.nodes = append(n.nodes, d.node(p.Labels, p.Taints, fmt.Sprintf("claim%d", i), true))
				n.attend(len(n.nodes) - 1)
			case step == "narrow" && len(sites) > len(v.Hosts):
				s := sites[len(sites)-1]
				p := &fit.Place{Labels: d.labels(), Taints: d.taints()}
				tally.Narrow(s.site, nil, p)
				pods := slices.DeleteFunc(slices.Clone(n.nodes[s.node].pods), func(p naivePod) bool { return p.daemon })
				n.nodes[s.node] = d.node(p.Labels, p.Taints, n.nodes[s.node].labels[require.KeyHostname], true)
				n.nodes[s.node].pods = pods
				n.attend(s.node)
			case step == "fork":
				forks = append(forks, fork{tally.Mark(), n.clone(), len(sites)})
			case step == "revert" && len(forks) > 0:
				f := forks[len(forks)-1]
				forks = forks[:len(forks)-1]
				tally.Revert(f.mark)
				n, sites = f.naive, sites[:f.sites]
			}
			compare(step)
		}
	})
}

// What a tally allows while it is open what some nodes will be, holds whatever they become.
func TestWhatIsAllowedHoldsWhateverIsDecidedLater(t *testing.T) {
	allowed, open := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := draw{rt}
		w, n, offers := d.cluster()
		v := view.NewView(w)
		tally := topology.NewTally(topology.New(w), v, nil)
		for _, p := range offers {
			tally.Offer(p)
		}
		var sites []*topology.Site
		var nodes []int
		for i := range v.Hosts {
			sites, nodes = append(sites, tally.Host(i)), append(nodes, i)
		}
		type claim struct {
			node   int
			places []*fit.Place
		}
		var claims []claim
		for i := range d.n("claims", 1, 2) {
			c := claim{node: len(n.nodes)}
			taints := d.taints()
			for range d.n("places", 1, 2) {
				p := &fit.Place{Labels: d.labels(), Taints: taints}
				if d.chance("open label") {
					p.Labels = slices.DeleteFunc(p.Labels, func(l model.Label) bool { return l.Key == "rack" })
					p.Open = require.NewSet(model.Requirement{Key: "rack", Operator: model.In, Values: []string{"1", "2"}})
				}
				c.places = append(c.places, p)
			}
			sites, nodes = append(sites, tally.Claim(nil, c.places...)), append(nodes, c.node)
			n.nodes = append(n.nodes, d.node(nil, taints, fmt.Sprintf("claim%d", i), true))
			claims = append(claims, c)
		}
		for range d.n("adds", 0, 6) {
			s, c := d.n("site", 0, len(sites)-1), w.Classes[d.n("class", 0, len(w.Classes)-1)]
			tally.Add(c, sites[s], 1)
			n.nodes[nodes[s]].pods = append(n.nodes[nodes[s]].pods, naivePod{class: c})
		}
		var decide func(i int, then func())
		decide = func(i int, then func()) {
			if i == len(claims) {
				then()
				return
			}
			for _, p := range claims[i].places {
				racks := []string{""}
				if len(p.Open) > 0 {
					racks = []string{"1", "2"}
				}
				for _, rack := range racks {
					labels := n.nodes[claims[i].node].labels
					name := labels[require.KeyHostname]
					clear(labels)
					labels[require.KeyHostname] = name
					for _, l := range p.Labels {
						labels[l.Key] = l.Value
					}
					if rack != "" {
						labels["rack"] = rack
					}
					at := claims[i].node
					n.nodes[at].pods = slices.DeleteFunc(slices.Clone(n.nodes[at].pods), func(p naivePod) bool { return p.daemon })
					n.attend(at)
					decide(i+1, then)
				}
			}
		}
		for _, c := range w.Classes {
			for s, site := range sites {
				ok, built := tally.Allows(c, site), tally.AllowsReal(c, site)
				if ok && !built {
					rt.Fatalf("class %s: Allows holds and AllowsReal does not", c.ID)
				}
				if !built {
					open++
					continue
				}
				allowed++
				decide(0, func() {
					if !n.allows(c, nodes[s], true) {
						rt.Fatalf("class %s on site %d was allowed, and is not once all is decided: %v", c.ID, s, n.nodes)
					}
				})
			}
		}
	})
	if allowed == 0 || open == 0 {
		t.Errorf("%d were allowed, %d refused: the test says nothing", allowed, open)
	}
}

// A node that obeys the node rules can be filled in any order.
func TestANodeThatObeysTheNodeRulesFillsInAnyOrder(t *testing.T) {
	filled := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := draw{rt}
		w, _, _ := d.cluster()
		w.Daemons = nil // what they leave of a node is asked of its site
		for _, c := range w.Classes {
			c.PodAffinity = nil // needs partners, whatever the node rules say
			c.NodeSelector = nil
			for _, terms := range [][]model.PodAffinityTerm{c.PodAntiAffinity} {
				for i := range terms {
					terms[i].TopologyKey = require.KeyHostname
				}
			}
			for i := range c.TopologySpread {
				c.TopologySpread[i].TopologyKey = require.KeyHostname
			}
		}
		rules := topology.New(w)
		bin := make([]int, len(w.Classes))
		for i := range bin {
			bin[i] = d.n("pods", 0, 2)
		}
		for _, r := range rules.NodeRules(w.Classes) {
			on, counted := 0, 0
			for _, i := range r.Trigger {
				on += bin[i]
			}
			for _, i := range r.Counted {
				counted += bin[i]
			}
			if on > 0 && counted > r.Most {
				return
			}
		}
		place := &fit.Place{Labels: model.Labels{{Key: require.KeyZone, Value: "za"}}}
		tally := topology.NewTally(rules, view.NewView(w), nil)
		tally.Offer(place)
		site := tally.Claim(nil, place)
		var pods []int
		for i, k := range bin {
			for range k {
				pods = append(pods, i)
			}
		}
		if len(pods) > 0 {
			filled++
			pods = rapid.Permutation(pods).Draw(rt, "order")
		}
		for _, i := range pods {
			if why := tally.Why(w.Classes[i], site); !why.OK() {
				rt.Fatalf("class %d of %v: %s", i, pods, why.Message)
			}
			tally.Add(w.Classes[i], site, 1)
		}
	})
	if filled == 0 {
		t.Error("no node was filled: the test says nothing")
	}
}
