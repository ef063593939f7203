package topology_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

const (
	zone = labels.Zone
	host = labels.Hostname
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
	w.offers = append(w.offers, &fit.Place{Labels: model.Labels{{Key: labels.Zone, Value: zone}}})
}

type built struct {
	*view.View
	rules *podrules.Rules
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
	b := built{View: view.NewView(vw), rules: podrules.New(vw)}
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
		got[string(c.ID)] = what{r.Constrained(c), r.CanRefuse(c), r.Soft(c), r.OneNode(c), r.Keys(c), r.SoftKeys(c)}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRulesOfClassesWithoutPodsConstrainNothing(t *testing.T) {
	w := newWorld()
	w.class("db", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
	w.class("web", nil)
	w.s.Pods = w.s.Pods[1:]
	if b := w.build(t); b.rules.Constrained(b.class("web")) {
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
	w.class("e", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(host, app("none"))} })
	b := w.build(t)
	want := []podrules.NodeRule{
		{Trigger: []int{0}, Counted: []int{0, 1}, Most: 1},
		{Trigger: []int{2}, Counted: []int{0, 1}, Most: 0},
		{Trigger: []int{3}, Counted: []int{1, 3}, Most: 2, Skew: true},
	}
	if diff := gocmp.Diff(want, b.rules.NodeRules(b.Classes)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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

func TestAMatcherObeysPodRules(t *testing.T) {
	w := newWorld()
	w.class("web", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 2, app("web"))} })
	w.bound("web", "n1", 1)
	b := w.build(t)
	m := fit.NewMatcher(b.View)
	m.CheckPeers(b.tally)
	if r := m.Host(b.class("web"), 3); r.Code != model.CodeTopologySpread || r.Subject != "node/n4" {
		t.Errorf("%+v", r)
	}
	got := []int{m.Capacity(b.class("web"), 0, 9), m.Capacity(b.class("web"), 2, 9), m.Capacity(b.class("web"), 3, 9)}
	if diff := gocmp.Diff([]int{1, 3, 0}, got); diff != "" {
		t.Errorf("capacity on n1, n3 and n4 (-want +got):\n%s", diff)
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
		"affinity to no pod": {func(w *world) {
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
