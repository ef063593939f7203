package topology_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

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
	return d.of("key", labels.Zone, labels.Zone, labels.Hostname, labels.Hostname, "rack", labels.CapacityType)
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
		c.NodeSelector = model.Labels{{Key: labels.CapacityType, Value: "spot"}}
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
	ls := model.Labels{{Key: labels.CapacityType, Value: d.of("capacity", "spot", "on-demand")}}
	if d.chance("rack") {
		ls = append(ls, model.Label{Key: "rack", Value: d.of("rack", "1", "2")})
	}
	if d.n("has zone", 0, 9) > 0 {
		ls = append(ls, model.Label{Key: labels.Zone, Value: d.of("zone", "za", "zb", "zc")})
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
	n := naiveNode{labels: map[string]string{labels.Hostname: name}, taints: taints, built: built}
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
			Name: model.NodeName(name), Ready: true, Labels: view.MergeLabels(ls, model.Labels{{Key: labels.Hostname, Value: name}}), Taints: taints,
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
	for i := range s.Nodes { // all run that may: it is certain what is there
		for _, c := range s.PodClasses {
			if c.Daemon && starts(&c, &n.nodes[i]) {
				id := model.PodID(string(c.ID) + "-" + string(s.Nodes[i].Name))
				s.Pods = append(s.Pods, model.Pod{ID: id, Class: c.ID, Node: s.Nodes[i].Name})
			}
		}
	}
	slices.SortFunc(s.Pods, func(a, b model.Pod) int { return cmp.Compare(a.ID, b.ID) })
	w, err := view.NewWorld(s, model.Policy{}, time.Unix(0, 0))
	if err != nil {
		d.Fatal(err)
	}
	n.daemons = w.Daemons
	n.classes = w.Classes
	for _, b := range pods {
		n.nodes[b.node].pods = append(n.nodes[b.node].pods, naivePod{class: w.Classes[b.class], ending: b.ending})
	}
	for i := range s.Nodes {
		n.startDaemons(i)
	}
	var offers []*fit.Place
	for i := range d.n("offers", 0, 3) {
		p := &fit.Place{Labels: d.labels(), Taints: d.taints()}
		offers = append(offers, p)
		n.nodes = append(n.nodes, d.node(p.Labels, p.Taints, fmt.Sprintf("offer%d", i), false))
	}
	return w, n, offers
}
