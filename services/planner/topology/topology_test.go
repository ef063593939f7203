package topology_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/require"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

const (
	zone = require.KeyZone
	host = require.KeyHostname
)

// world is a cluster under construction: nodes n1 (zone a), n2 (a), n3 (b) and n4 (no zone), and classes by name.
type world struct {
	s      model.Snapshot
	policy model.Policy
	offers []*fit.Place
}

func newWorld() *world {
	w := &world{}
	for i, z := range []string{"a", "a", "b", ""} {
		name := fmt.Sprintf("n%d", i+1)
		ls := model.Labels{{Key: host, Value: name}, {Key: zone, Value: z}}
		if z == "" {
			ls = ls[:1]
		}
		w.s.Nodes = append(w.s.Nodes, model.Node{Name: model.NodeName(name), Labels: ls})
	}
	return w
}

// class adds a class of the namespace ns with the label app and its name; it has one pod, which is pending.
func (w *world) class(name string, change func(*model.PodClass)) {
	c := model.PodClass{
		ID: model.ClassID(name), Namespace: "ns", Labels: model.Labels{{Key: "app", Value: name}}, OwnerKind: "Deployment", OwnerName: name,
	}
	if change != nil {
		change(&c)
	}
	w.s.PodClasses = append(w.s.PodClasses, c)
	w.s.Pods = append(w.s.Pods, model.Pod{ID: model.PodID("ns/" + name), Class: c.ID})
}

// bound adds pods of a class that run on a node.
func (w *world) bound(class, node string, n int) {
	for range n {
		w.s.Pods = append(w.s.Pods, model.Pod{
			ID: model.PodID(fmt.Sprintf("ns/%s-%03d", class, len(w.s.Pods))), Class: model.ClassID(class), Node: model.NodeName(node),
		})
	}
}

func (w *world) offer(zone string) {
	w.offers = append(w.offers, &fit.Place{Labels: model.Labels{{Key: require.KeyZone, Value: zone}}})
}

type built struct {
	*view.View
	rules *topology.Rules
	tally *topology.Tally
}

func (w *world) build(t *testing.T) built {
	t.Helper()
	slices.SortFunc(w.s.PodClasses, func(a, b model.PodClass) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(w.s.Pods, func(a, b model.Pod) int { return cmp.Compare(a.ID, b.ID) })
	vw, err := view.NewWorld(&w.s, w.policy, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	b := built{View: view.NewView(vw), rules: topology.New(vw)}
	b.tally = topology.NewTally(b.rules, b.View, nil)
	for _, p := range w.offers {
		b.tally.Offer(p)
	}
	return b
}

func (b built) class(name string) *view.Class {
	i := slices.IndexFunc(b.Classes, func(c *view.Class) bool { return string(c.ID) == name })
	return b.Classes[i]
}

// open lists the nodes that a class may go to.
func (b built) open(class string) string {
	var out []string
	for i := range b.Hosts {
		if b.tally.Allows(b.class(class), b.tally.Host(i)) {
			out = append(out, strings.TrimPrefix(b.Hosts[i].Name(), "node/"))
		}
	}
	return strings.Join(out, " ")
}

func app(names ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: names}}}
}

func spread(key string, skew int32, selector *model.Selector) model.TopologySpread {
	return model.TopologySpread{TopologyKey: key, MaxSkew: skew, Required: true, Selector: selector}
}

func near(key string, selector *model.Selector) model.PodAffinityTerm {
	return model.PodAffinityTerm{TopologyKey: key, Selector: selector, Namespaces: []string{"ns"}}
}

func TestSpread(t *testing.T) {
	with := func(specs ...model.TopologySpread) func(*model.PodClass) {
		return func(c *model.PodClass) { c.TopologySpread = specs }
	}
	tests := map[string]struct {
		build func(*world)
		want  string
	}{
		"the first pod may go to any domain": {func(w *world) { w.class("web", with(spread(zone, 1, app("web")))) }, "n1 n2 n3"},
		"one more goes to the emptier domain": {func(w *world) {
			w.class("web", with(spread(zone, 1, app("web"))))
			w.bound("web", "n1", 1)
		}, "n3"},
		"a larger skew leaves more room": {func(w *world) {
			w.class("web", with(spread(zone, 2, app("web"))))
			w.bound("web", "n1", 1)
		}, "n1 n2 n3"},
		"a domain that could be bought counts": {func(w *world) {
			w.class("web", with(spread(zone, 1, app("web"))))
			w.bound("web", "n1", 1)
			w.bound("web", "n3", 1)
			w.offer("c")
		}, ""},
		"a domain that can't be bought does not": {func(w *world) {
			w.class("web", with(spread(zone, 1, app("web"))))
			w.bound("web", "n1", 1)
			w.bound("web", "n3", 1)
		}, "n1 n2 n3"},
		"new nodes are domains of the hostname without end": {func(w *world) {
			w.class("web", with(spread(host, 1, app("web"))))
			for _, n := range []string{"n1", "n2", "n3", "n4"} {
				w.bound("web", n, 1)
			}
			w.offer("a")
		}, ""},
		"of a hostname without offers the present nodes are all": {func(w *world) {
			w.class("web", with(spread(host, 1, app("web"))))
			for _, n := range []string{"n1", "n2", "n3"} {
				w.bound("web", n, 1)
			}
		}, "n4"},
		"a pod that the selector does not pick adds nothing": {func(w *world) {
			w.class("db", nil)
			w.class("web", with(spread(zone, 1, app("db"))))
			w.bound("db", "n1", 1)
		}, "n1 n2 n3"},
		"pods of others count when the selector picks them": {func(w *world) {
			w.class("db", nil)
			w.class("web", with(spread(zone, 1, app("db"))))
			w.bound("db", "n1", 2)
		}, "n3"},
		"pods of another namespace do not count": {func(w *world) {
			w.class("web", with(spread(zone, 1, app("web", "db"))))
			w.class("db", func(c *model.PodClass) { c.Namespace = "other" })
			w.bound("db", "n1", 2)
		}, "n1 n2 n3"},
		"pods that are ending do not count": {func(w *world) {
			w.class("web", with(spread(zone, 1, app("web"))))
			w.bound("web", "n1", 1)
			w.s.Pods[1].Terminating = true
		}, "n1 n2 n3"},
		"an empty selector counts nobody": {func(w *world) {
			w.class("web", with(spread(zone, 1, &model.Selector{})))
			w.bound("web", "n1", 5)
		}, "n1 n2 n3"},
		"no selector at all counts nobody": {func(w *world) {
			w.class("web", with(spread(zone, 1, nil)))
			w.bound("web", "n1", 5)
		}, "n1 n2 n3"},
		"too few domains make the minimum nought": {func(w *world) {
			s := spread(zone, 1, app("web"))
			s.MinDomains = 3
			w.class("web", with(s))
			w.bound("web", "n1", 1)
			w.bound("web", "n3", 1)
		}, ""},
		"domains that are only on offer do not make up for too few": {func(w *world) {
			s := spread(zone, 1, app("web"))
			s.MinDomains = 3
			w.class("web", with(s))
			w.bound("web", "n1", 1)
			w.offer("c")
		}, "n3"},
		"nodes without one of the keys are no domains of the other": {func(w *world) {
			w.class("web", with(spread(host, 1, app("web")), spread(zone, 5, app("web"))))
			w.bound("web", "n1", 1)
			w.bound("web", "n2", 1)
			w.bound("web", "n3", 1)
		}, "n1 n2 n3"},
		"nodes that the node selector leaves out are no domains": {func(w *world) {
			w.class("web", func(c *model.PodClass) {
				c.TopologySpread = []model.TopologySpread{spread(host, 1, app("web"))}
				c.NodeSelector = model.Labels{{Key: zone, Value: "a"}}
			})
			w.bound("web", "n1", 1)
			w.bound("web", "n2", 1)
		}, "n1 n2 n3 n4"}, // that n3 and n4 are not selected is another rule's business
		"they are where the constraint ignores the node selector": {func(w *world) {
			w.class("web", func(c *model.PodClass) {
				s := spread(host, 1, app("web"))
				s.IgnoreNodeAffinity = true
				c.TopologySpread = []model.TopologySpread{s}
				c.NodeSelector = model.Labels{{Key: zone, Value: "a"}}
			})
			w.bound("web", "n1", 1)
			w.bound("web", "n2", 1)
		}, "n3 n4"},
		"tainted nodes are domains": {func(w *world) {
			w.class("web", with(spread(zone, 1, app("web"))))
			w.bound("web", "n1", 1)
			w.s.Nodes[2].Taints = []model.Taint{{Key: "x", Effect: model.NoSchedule}}
		}, "n3"},
		"they are not where the constraint honours taints": {func(w *world) {
			s := spread(zone, 1, app("web"))
			s.HonorTaints = true
			w.class("web", with(s))
			w.bound("web", "n1", 1)
			w.s.Nodes[2].Taints = []model.Taint{{Key: "x", Effect: model.NoSchedule}}
		}, "n1 n2 n3"},
		"a soft constraint keeps nobody away": {func(w *world) {
			s := spread(zone, 1, app("web"))
			s.Required = false
			w.class("web", with(s))
			w.bound("web", "n1", 5)
		}, "n1 n2 n3 n4"},
		"default constraints go for who has none of its own": {func(w *world) {
			w.policy.DefaultSpread = []model.TopologySpread{spread(zone, 1, nil)}
			w.class("web", func(c *model.PodClass) { c.DefaultSelector = app("web") })
			w.bound("web", "n1", 1)
		}, "n3"},
		"and for nobody else": {func(w *world) {
			w.policy.DefaultSpread = []model.TopologySpread{spread(zone, 1, nil)}
			w.class("web", func(c *model.PodClass) {
				c.DefaultSelector = app("web")
				c.TopologySpread = []model.TopologySpread{spread(zone, 3, app("web"))}
			})
			w.bound("web", "n1", 1)
		}, "n1 n2 n3"},
		"nor where nothing tells which pods belong together": {func(w *world) {
			w.policy.DefaultSpread = []model.TopologySpread{spread(zone, 1, nil)}
			w.class("web", nil)
			w.bound("web", "n1", 1)
		}, "n1 n2 n3 n4"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tt.build(w)
			if got := w.build(t).open("web"); got != tt.want {
				t.Errorf("the pod may go to %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAffinity(t *testing.T) {
	to := func(terms ...model.PodAffinityTerm) func(*model.PodClass) {
		return func(c *model.PodClass) { c.PodAffinity = terms }
	}
	from := func(terms ...model.PodAffinityTerm) func(*model.PodClass) {
		return func(c *model.PodClass) { c.PodAntiAffinity = terms }
	}
	tests := map[string]struct {
		build func(*world)
		want  string
	}{
		"near pods that run in a zone": {func(w *world) {
			w.class("db", nil)
			w.class("web", to(near(zone, app("db"))))
			w.bound("db", "n1", 1)
		}, "n1 n2"},
		"near pods that run on a node": {func(w *world) {
			w.class("db", nil)
			w.class("web", to(near(host, app("db"))))
			w.bound("db", "n4", 1)
		}, "n4"},
		"near pods that are ending": {func(w *world) {
			w.class("db", nil)
			w.class("web", to(near(zone, app("db"))))
			w.bound("db", "n1", 1)
			w.s.Pods[2].Terminating = true
		}, "n1 n2"},
		"near pods that run nowhere": {func(w *world) {
			w.class("db", nil)
			w.class("web", to(near(zone, app("db"))))
		}, ""},
		"the first of pods that want to be together is free, on nodes with the key": {func(w *world) {
			w.class("web", to(near(zone, app("web"))))
		}, "n1 n2 n3"},
		"the second is not": {func(w *world) {
			w.class("web", to(near(zone, app("web"))))
			w.bound("web", "n3", 1)
		}, "n3"},
		"a pod must be what all terms ask for": {func(w *world) {
			w.class("db", nil)
			w.class("web", to(near(zone, app("db")), near(host, app("db", "web"))))
			w.bound("db", "n1", 1)
			w.bound("web", "n3", 1)
		}, "n1"},
		"pods of other namespaces do not count": {func(w *world) {
			w.class("db", func(c *model.PodClass) { c.Namespace = "other" })
			w.class("web", to(near(zone, app("db"))))
			w.bound("db", "n1", 1)
		}, ""},
		"they do where namespaces are selected by label": {func(w *world) {
			w.s.Namespaces = []model.Namespace{{Name: "other", Labels: model.Labels{{Key: "team", Value: "x"}}}}
			w.class("db", func(c *model.PodClass) { c.Namespace = "other" })
			term := near(zone, app("db"))
			term.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"x"}}}}
			w.class("web", to(term))
			w.bound("db", "n1", 1)
		}, "n1 n2"},
		"away from pods that run in a zone": {func(w *world) {
			w.class("db", nil)
			w.class("web", from(near(zone, app("db"))))
			w.bound("db", "n1", 1)
		}, "n3 n4"},
		"away from pods that are ending": {func(w *world) {
			w.class("db", nil)
			w.class("web", from(near(zone, app("db"))))
			w.bound("db", "n1", 1)
			w.s.Pods[2].Terminating = true
		}, "n3 n4"},
		"kept away by pods that run there": {func(w *world) {
			w.class("db", from(near(zone, app("web"))))
			w.class("web", nil)
			w.bound("db", "n3", 1)
		}, "n1 n2 n4"},
		"one on each node": {func(w *world) {
			w.class("web", from(near(host, app("web"))))
			w.bound("web", "n1", 1)
			w.bound("web", "n4", 1)
		}, "n2 n3"},
		"a preference keeps nobody away": {func(w *world) {
			term := near(zone, app("db"))
			term.Weight = 100
			w.class("db", from(near(zone, app("nobody")), term))
			w.class("web", from(term))
			w.bound("db", "n1", 1)
		}, "n1 n2 n3 n4"},
		"a selector that only says what pods are not": {func(w *world) {
			w.class("db", nil)
			w.class("web", from(near(zone, &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.NotIn, Values: []string{"web"}}}})))
			w.bound("db", "n1", 1)
			w.bound("web", "n3", 1)
		}, "n3 n4"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tt.build(w)
			if got := w.build(t).open("web"); got != tt.want {
				t.Errorf("the pod may go to %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWhoIsTied(t *testing.T) {
	w := newWorld()
	w.class("alone", nil)
	w.class("counted", nil)
	w.class("db", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near("rack", app("repelled"))} })
	w.class("repelled", nil)
	w.class("soft", func(c *model.PodClass) {
		term := near("team", app("alone"))
		term.Weight = 5
		c.PodAffinity = []model.PodAffinityTerm{term}
		s := spread(zone, 1, app("soft"))
		s.Required = false
		c.TopologySpread = []model.TopologySpread{s}
	})
	w.class("together", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(host, app("together"))} })
	w.class("web", func(c *model.PodClass) {
		c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web", "counted"))}
	})
	b := w.build(t)
	type what struct {
		Tied, Checked, Soft, OneNode bool
		Keys, SoftKeys               []string
	}
	want := map[string]what{
		"alone":    {},
		"counted":  {Tied: true, Keys: []string{zone}},
		"db":       {Tied: true, Checked: true, Keys: []string{"rack"}},
		"repelled": {Tied: true, Checked: true, Keys: []string{"rack"}},
		"soft":     {Soft: true, SoftKeys: []string{"team", zone}},
		"together": {Tied: true, Checked: true, OneNode: true},
		"web":      {Tied: true, Checked: true, Keys: []string{zone}},
	}
	got := make(map[string]what)
	for _, c := range b.Classes {
		r := b.rules
		got[string(c.ID)] = what{r.Tied(c), r.Checked(c), r.Soft(c), r.OneNode(c), r.Keys(c), r.SoftKeys(c)}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRulesOfClassesWithoutPodsTieNobody(t *testing.T) {
	w := newWorld()
	w.class("db", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
	w.class("web", nil)
	w.s.Pods = w.s.Pods[1:]
	if b := w.build(t); b.rules.Tied(b.class("web")) {
		t.Error("web is tied by pods that do not exist")
	}
}

func TestNodeRules(t *testing.T) {
	w := newWorld()
	w.class("a", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("a", "b"))} })
	w.class("b", nil)
	w.class("c", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("a", "b"))} })
	w.class("d", func(c *model.PodClass) {
		c.TopologySpread = []model.TopologySpread{spread(host, 2, app("d", "b")), spread(zone, 1, app("d"))}
	})
	w.class("e", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("nobody"))} })
	b := w.build(t)
	want := []topology.NodeRule{
		{Trigger: []int{0}, Counted: []int{0, 1}, Most: 1},
		{Trigger: []int{2}, Counted: []int{0, 1}, Most: 0},
		{Trigger: []int{3}, Counted: []int{1, 3}, Most: 2},
	}
	if diff := gocmp.Diff(want, b.rules.NodeRules(b.Classes)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCellsCountForZonesAndNotForHosts(t *testing.T) {
	w := newWorld()
	w.s.Nodes = nil
	w.class("web", func(c *model.PodClass) {
		s := spread(zone, 1, app("web"))
		s.MinDomains = 2
		c.TopologySpread = []model.TopologySpread{s, spread(host, 1, app("web"))}
	})
	w.offer("a")
	w.offer("b")
	b := w.build(t)
	web := b.class("web")
	pin := func(z string) model.Labels { return model.Labels{{Key: zone, Value: z}} }
	cellA, cellB := b.tally.Cell(pin("a"), w.offers...), b.tally.Cell(pin("b"), w.offers...)
	either := b.tally.Cell(nil, w.offers...)
	ask := func() string {
		return fmt.Sprint(b.tally.Allows(web, cellA), b.tally.Allows(web, cellB), b.tally.Allows(web, either))
	}
	var got []string
	got = append(got, ask())
	b.tally.Add(web, cellA, 1)
	got = append(got, ask())
	b.tally.Add(web, cellB, 1)
	got = append(got, ask()) // both domains are opened, so minDomains holds
	mark := b.tally.Mark()
	b.tally.Add(web, cellB, 1)
	got = append(got, ask())
	b.tally.Revert(mark)
	got = append(got, ask())
	want := []string{"true true false", "false true false", "true true false", "true false false", "true true false"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("a, b, and a cell whose zone is open, step by step (-want +got):\n%s", diff)
	}
}

func TestAClaimIsAHostOfItsOwn(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))} })
	w.offer("a")
	b := w.build(t)
	web := b.class("web")
	one, two := b.tally.Claim(nil, w.offers[0]), b.tally.Claim(nil, w.offers[0])
	b.tally.Add(web, one, 1)
	if b.tally.Allows(web, one) || !b.tally.Allows(web, two) {
		t.Error("anti-affinity on the hostname goes by claims")
	}
	if n := b.tally.Room(web, two, 5); n != 1 {
		t.Errorf("room for %d, want 1", n)
	}
}

func TestANarrowedClaimTakesItsPodsAlong(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
	w.offer("a")
	w.offer("b")
	b := w.build(t)
	web := b.class("web")
	claim := b.tally.Claim(nil, w.offers...)
	b.tally.Add(web, claim, 1)
	before := b.open("web")
	mark := b.tally.Mark()
	b.tally.Narrow(claim, nil, w.offers[1])
	narrowed := b.open("web")
	b.tally.Revert(mark)
	if diff := gocmp.Diff([]string{"n4", "n1 n2 n4", "n4"}, []string{before, narrowed, b.open("web")}); diff != "" {
		t.Errorf("while zone a or b, once b, and back (-want +got):\n%s", diff)
	}
}

func TestAFrozenGroupIsOpenedByNoClaim(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web"))} })
	w.bound("web", "n1", 1)
	w.bound("web", "n3", 1)
	w.offer("b")
	w.offer("c")
	b := w.build(t)
	web := b.class("web")
	if b.tally.Allows(web, b.tally.Host(0)) || !b.tally.AllowsReal(web, b.tally.Host(0)) {
		t.Fatal("zone c, which could be bought, stands in the way of Allows, and not of AllowsReal")
	}
	mark := b.tally.Mark()
	b.tally.Freeze(web)
	got := []bool{
		b.tally.Opens(b.tally.Claim(nil, w.offers[0])), b.tally.Opens(b.tally.Claim(nil, w.offers[1])), b.tally.Opens(b.tally.Claim(nil, w.offers...)),
	}
	b.tally.Revert(mark)
	got = append(got, b.tally.Opens(b.tally.Claim(nil, w.offers[1])))
	if diff := gocmp.Diff([]bool{false, true, false, false}, got); diff != "" {
		t.Errorf("b, c, b or c after c, and c once reverted open a frozen domain (-want +got):\n%s", diff)
	}
}

func TestATallyFollowsItsView(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
	b := w.build(t)
	mark := b.Fork()
	b.Place(0, b.class("web"), 1)
	placed := b.open("web")
	b.Revert(mark)
	if diff := gocmp.Diff([]string{"n3 n4", "n1 n2 n3 n4"}, []string{placed, b.open("web")}); diff != "" {
		t.Errorf("placed, and reverted (-want +got):\n%s", diff)
	}
}

func TestAMatcherMindsATally(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 2, app("web"))} })
	w.bound("web", "n1", 1)
	b := w.build(t)
	m := fit.NewMatcher(b.View)
	m.Mind(b.tally)
	if r := m.Host(b.class("web"), 3); r.Code != model.CodeTopologySpread || r.Subject != "node/n4" {
		t.Errorf("%+v", r)
	}
	got := []int{m.Room(b.class("web"), 0, 9), m.Room(b.class("web"), 2, 9), m.Room(b.class("web"), 3, 9)}
	if diff := gocmp.Diff([]int{1, 3, 0}, got); diff != "" {
		t.Errorf("room on n1, n3 and n4 (-want +got):\n%s", diff)
	}
}

func TestPodsThatAreSkippedDoNotCount(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
	w.bound("web", "n1", 1)
	b := w.build(t)
	b.tally = topology.NewTally(b.rules, b.View, func(pod int) bool { return b.Pods[pod].Node == "n1" })
	if got := b.open("web"); got != "n1 n2 n3 n4" {
		t.Errorf("the pod may go to %q", got)
	}
}

func TestReasonsHaveTheFigures(t *testing.T) {
	tests := map[string]struct {
		build func(*world)
		host  int
		want  []string
	}{
		"spread": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 2, app("web"))} })
			w.bound("web", "n1", 2)
		}, 0, []string{"topology.kubernetes.io/zone a has 2 of the pods with app=web", "maxSkew 2", "the emptiest topology.kubernetes.io/zone has 0"}},
		"spread over a label that a node does not have": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 2, app("web"))} })
		}, 3, []string{"needs the label topology.kubernetes.io/zone, which node/n4 does not have"}},
		"too few domains": {func(w *world) {
			s := spread(zone, 1, app("web"))
			s.MinDomains = 5
			w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{s} })
			w.bound("web", "n1", 1)
			w.bound("web", "n3", 1)
		}, 0, []string{"2 of the 5 domains of minDomains"}},
		"affinity to pods elsewhere": {func(w *world) {
			w.class("db", nil)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(zone, app("db"))} })
			w.bound("db", "n1", 1)
		}, 2, []string{"asks for a pod with app=db", "topology.kubernetes.io/zone b has none"}},
		"affinity to nobody": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(zone, app("db"))} })
		}, 2, []string{"asks for a pod with app=db", "no such pod runs"}},
		"anti-affinity": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))} })
			w.bound("web", "n1", 1)
		}, 0, []string{"keeps away from pods with app=web, and node/n1 has 1"}},
		"another's anti-affinity": {func(w *world) {
			w.class("db", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
			w.class("web", nil)
			w.bound("db", "n1", 3)
		}, 1, []string{"pods in topology.kubernetes.io/zone a (3, such as those of Deployment ns/db)"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tt.build(w)
			b := w.build(t)
			r := b.tally.OnHost(b.class("web"), tt.host)
			for _, part := range tt.want {
				if !strings.Contains(r.Message, part) {
					t.Errorf("%q does not say %q", r.Message, part)
				}
			}
			if r.Subject != b.Hosts[tt.host].Name() || r.Remedy == "" {
				t.Errorf("subject %q, remedy %q", r.Subject, r.Remedy)
			}
		})
	}
}

func TestWishes(t *testing.T) {
	soft := func(key string, skew int32) model.TopologySpread {
		return model.TopologySpread{TopologyKey: key, MaxSkew: skew, Selector: app("web")}
	}
	weighed := func(key string, weight int32) []model.PodAffinityTerm {
		term := near(key, app("db"))
		term.Weight = weight
		return []model.PodAffinityTerm{term}
	}
	tests := map[string]struct {
		build func(*world)
		want  []int32
	}{
		"soft spread weighs by how far it goes beyond": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{soft(zone, 1)} })
			w.bound("web", "n1", 4)
		}, []int32{80, 80, 0, 100}},
		"within maxSkew all is met": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{soft(zone, 5)} })
			w.bound("web", "n1", 4)
		}, []int32{0, 0, 0, 100}},
		"near": {func(w *world) {
			w.class("db", nil)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = weighed(zone, 30) })
			w.bound("db", "n3", 1)
		}, []int32{30, 30, 0, 30}},
		"near pods that run nowhere": {func(w *world) {
			w.class("db", nil)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = weighed(zone, 30) })
		}, []int32{0, 0, 0, 0}},
		"away": {func(w *world) {
			w.class("db", nil)
			w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = weighed(zone, 30) })
			w.bound("db", "n3", 1)
		}, []int32{0, 0, 30, 0}},
		"required rules are no wishes": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
			w.bound("web", "n3", 1)
		}, []int32{0, 0, 0, 0}},
		"soft constraints by default": {func(w *world) {
			w.policy.DefaultSpread = []model.TopologySpread{soft(zone, 1)}
			w.class("web", func(c *model.PodClass) { c.DefaultSelector = app("web") })
			w.bound("web", "n1", 1)
		}, []int32{50, 50, 0, 100}},
		"the policy ignores wishes": {func(w *world) {
			w.policy.Preferences = model.PreferencesIgnored
			w.class("db", nil)
			w.class("web", func(c *model.PodClass) {
				c.PodAntiAffinity = weighed(zone, 30)
				c.TopologySpread = []model.TopologySpread{soft(zone, 1)}
			})
			w.bound("db", "n3", 1)
			w.bound("web", "n1", 9)
		}, []int32{0, 0, 0, 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tt.build(w)
			b := w.build(t)
			var got []int32
			for i := range b.Hosts {
				got = append(got, b.tally.Wish(b.class("web"), b.tally.Host(i)))
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("on n1 to n4 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDaemonSetsAreOnNewNodesFirst(t *testing.T) {
	daemon := func(c *model.PodClass) {
		c.Daemon, c.OwnerKind = true, "DaemonSet"
		c.NodeSelector = model.Labels{{Key: zone, Value: "a"}}
	}
	tests := map[string]struct {
		build func(*world)
		// want is for a probe and a claim in zone a, in zone b, and in either.
		want string
	}{
		"a pod that keeps away from them gets no node where they may run": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("agent"))} })
		}, "false false, true true, false false"},
		"nor does a pod that they keep away": {func(w *world) {
			w.class("agent", func(c *model.PodClass) {
				daemon(c)
				c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))}
			})
			w.class("web", nil)
		}, "false false, true true, false false"},
		"they count for spread": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) {
				c.TopologySpread = []model.TopologySpread{spread(host, 1, app("web", "agent"))}
			})
		}, "false false, true true, false false"},
		"they are partners where they surely run": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(host, app("agent"))} })
		}, "true true, false false, false false"},
		"nobody is the first where they may be": {func(w *world) {
			w.class("agent", daemon)
			w.class("web", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(host, app("web", "agent"))} })
		}, "true true, true true, false false"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.s.Nodes = nil
			tt.build(w)
			w.s.DaemonSets = []model.DaemonSet{{ID: "ns/agent", Class: "agent"}}
			w.s.Pods = slices.DeleteFunc(w.s.Pods, func(p model.Pod) bool { return p.Class == "agent" })
			w.offer("a")
			w.offer("b")
			b := w.build(t)
			web := b.class("web")
			ask := func(places ...*fit.Place) string {
				mark := b.tally.Mark()
				defer b.tally.Revert(mark)
				return fmt.Sprint(b.tally.Allows(web, b.tally.Probe(nil, places...)), b.tally.Allows(web, b.tally.Claim(nil, places...)))
			}
			got := strings.Join([]string{ask(w.offers[0]), ask(w.offers[1]), ask(w.offers...)}, ", ")
			if got != tt.want {
				t.Errorf("in zone a, in b, and in either: %s, want %s", got, tt.want)
			}
			if keys := b.rules.Keys(web); !slices.Equal(keys, []string{zone}) {
				t.Errorf("%v matter, want the zone, which says where the DaemonSet runs", keys)
			}
		})
	}
}

func TestHostsInFlightHaveAHostnameOfTheirOwn(t *testing.T) {
	w := newWorld()
	w.s.Nodes = nil
	for _, id := range []model.ClaimID{"c1", "c2"} {
		w.s.Claims = append(w.s.Claims, model.Claim{ID: id, State: model.ClaimPlanned, Offerings: []model.RankedOffering{
			{InstanceType: "x", Zone: "us-east-1a", CapacityType: model.Spot},
		}})
	}
	w.class("web", func(c *model.PodClass) {
		c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("web"))}
		c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("web"))}
	})
	b := w.build(t)
	before := b.open("web")
	b.Place(0, b.class("web"), 1)
	if diff := gocmp.Diff([]string{"claim/c1 claim/c2", "claim/c2"}, []string{before, b.open("web")}); diff != "" {
		t.Errorf("before and after a pod was placed on c1 (-want +got):\n%s", diff)
	}
}
