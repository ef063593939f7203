package verify_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

const (
	zone = "topology.kubernetes.io/zone"
	host = "kubernetes.io/hostname"
)

// scene is a small cluster and a plan for it, both written by hand: pods with pod rules, on nodes that Kerf does not own
// and on claims of the plan.
type scene struct {
	in model.Input
	p  model.Plan
}

// newScene has a node in each zone, called after it: a scene of "r-1a" has the node "r-1a".
func newScene(zones ...string) *scene {
	s := &scene{in: market()}
	s.in.Snapshot.NodePools[0].Limits = nil
	for _, z := range zones {
		s.node(z, z)
	}
	return s
}

func (s *scene) node(name, in string) {
	s.in.Snapshot.Nodes = append(s.in.Snapshot.Nodes, model.Node{
		Name: model.NodeName(name), Allocatable: amounts(64_000, 256*gib, 110), Ready: true,
		Labels: model.Labels{{Key: host, Value: name}, {Key: zone, Value: in}},
	})
}

// nodeNamed is for spoiling.
func (s *scene) nodeNamed(name model.NodeName) *model.Node {
	i := slices.IndexFunc(s.in.Snapshot.Nodes, func(n model.Node) bool { return n.Name == name })
	return &s.in.Snapshot.Nodes[i]
}

// class adds a class, labelled app=ID, whatever else is to be said of it.
func (s *scene) class(id string, more func(*model.PodClass)) {
	c := class(id, 100, gib/8)
	if more != nil {
		more(&c)
	}
	s.in.Snapshot.PodClasses = append(s.in.Snapshot.PodClasses, c)
}

func (s *scene) classNamed(id model.ClassID) *model.PodClass {
	i := slices.IndexFunc(s.in.Snapshot.PodClasses, func(c model.PodClass) bool { return c.ID == id })
	return &s.in.Snapshot.PodClasses[i]
}

func (s *scene) running(name, class, node string) {
	s.in.Snapshot.Pods = append(s.in.Snapshot.Pods, running("shop/"+name, class, node))
}

// place lets a pending pod go to a node or, if there is one of that name, to a claim of the plan. It has the next turn.
func (s *scene) place(name, class, to string) {
	s.in.Snapshot.Pods = append(s.in.Snapshot.Pods, pending("shop/"+name, class))
	s.p.Placements = append(s.p.Placements, model.Placement{Pod: model.PodID("shop/" + name), Order: int32(len(s.p.Placements))})
	s.send(name, to)
}

func (s *scene) placement(name string) *model.Placement {
	i := slices.IndexFunc(s.p.Placements, func(pl model.Placement) bool { return pl.Pod == model.PodID("shop/"+name) })
	return &s.p.Placements[i]
}

func (s *scene) send(name, to string) {
	pl := s.placement(name)
	pl.Node, pl.Claim = model.NodeName(to), ""
	if slices.ContainsFunc(s.p.NodeClaims, func(c model.NodeClaim) bool { return string(c.ID) == to }) {
		pl.Node, pl.Claim = "", model.ClaimID(to)
	}
}

func (s *scene) swapTurns(a, b string) {
	x, y := s.placement(a), s.placement(b)
	x.Order, y.Order = y.Order, x.Order
}

// claim adds a claim to the plan that may come up in any of some zones.
func (s *scene) claim(id string, zones ...string) {
	s.p.NodeClaims = append(s.p.NodeClaims, model.NodeClaim{ID: model.ClaimID(id), NodePool: "default", NodeClass: "default"})
	s.offer(id, zones...)
}

func (s *scene) offer(id string, zones ...string) {
	i := slices.IndexFunc(s.p.NodeClaims, func(c model.NodeClaim) bool { return c.ID == model.ClaimID(id) })
	c := &s.p.NodeClaims[i]
	c.Offerings = nil
	for _, z := range zones {
		c.Offerings = append(c.Offerings, model.RankedOffering{InstanceType: "small", Zone: z, CapacityType: model.OnDemand, Price: 100_000})
	}
}

// check verifies the plan after filling in what follows from the rest of it.
func (s *scene) check() []verify.Violation {
	full := scene{in: s.in, p: s.p}
	full.fill()
	return verify.Plan(full.in, full.p)
}

func (s *scene) fill() {
	p := &s.p
	p.Revision, p.InventoryRevision, p.Now = s.in.Snapshot.Revision, s.in.Snapshot.InventoryRevision, s.in.Now
	p.InputHash = strings.Repeat("0", 64)
	p.ID = "p-0000000000000000"
	p.Placements = slices.Clone(p.Placements)
	slices.SortFunc(p.Placements, func(a, b model.Placement) int { return cmp.Compare(a.Pod, b.Pod) })
	pods := make(map[model.ClaimID][]model.PodID)
	for _, pl := range p.Placements {
		pods[pl.Claim] = append(pods[pl.Claim], pl.Pod)
	}
	for _, d := range p.Disruptions {
		for _, pl := range d.Destinations {
			pods[pl.Claim] = append(pods[pl.Claim], pl.Pod)
		}
	}
	p.NodeClaims = slices.Clone(p.NodeClaims)
	for i := range p.NodeClaims {
		c := &p.NodeClaims[i]
		n := int64(len(pods[c.ID]))
		c.Pods, c.Requests, c.Price = pods[c.ID], amounts(100+n*100, gib/4+n*gib/8, 1+n), c.Offerings[0].Price // and its DaemonSet
		p.CostAfter += c.Price
	}
}

func app(names ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: names}}}
}

// even spreads pods of a class among each other.
func even(key string, more ...func(*model.TopologySpread)) func(*model.PodClass) {
	return func(c *model.PodClass) {
		t := model.TopologySpread{TopologyKey: key, MaxSkew: 1, Required: true, Selector: app(string(c.ID))}
		for _, m := range more {
			m(&t)
		}
		c.TopologySpread = append(c.TopologySpread, t)
	}
}

func minDomains(n int32) func(*model.TopologySpread) {
	return func(t *model.TopologySpread) { t.MinDomains = n }
}

func honorTaints(t *model.TopologySpread) { t.HonorTaints = true }

func term(key string, names ...string) model.PodAffinityTerm {
	return model.PodAffinityTerm{TopologyKey: key, Namespaces: []string{"shop"}, Selector: app(names...)}
}

func near(key string, names ...string) func(*model.PodClass) {
	return func(c *model.PodClass) { c.PodAffinity = append(c.PodAffinity, term(key, names...)) }
}

func away(key string, names ...string) func(*model.PodClass) {
	return func(c *model.PodClass) { c.PodAntiAffinity = append(c.PodAntiAffinity, term(key, names...)) }
}

// spreadOver places pods of the class "even" on places, one after the other.
func spreadOver(s *scene, places ...string) *scene {
	for i, at := range places {
		s.place("even-"+string(rune('0'+i)), "even", at)
	}
	return s
}

// mutation is a plan in which pods get what they ask for, one thing that breaks it, and what is said then.
type mutation struct {
	good  func() *scene
	spoil func(*scene)
	want  string
}

func (m mutation) run(t *testing.T) {
	t.Helper()
	s := m.good()
	for _, v := range s.check() {
		t.Fatalf("before it was spoilt: %s", v)
	}
	m.spoil(s)
	found := s.check()
	if !slices.ContainsFunc(found, func(v verify.Violation) bool { return strings.Contains(v.String(), m.want) }) {
		t.Errorf("want a violation with %q, got %q", m.want, found)
	}
}

func threeZones() []string { return []string{"r-1a", "r-1b", "r-1c"} }

// withDB has a pod of class db in r-1a, where there are two nodes, and places one of class client.
func withDB(class func(*model.PodClass), to string) func() *scene {
	return func() *scene {
		s := newScene(threeZones()...)
		s.node("r-1a-2", "r-1a")
		s.class("db", nil)
		s.running("db-0", "db", "r-1a")
		s.class("client", class)
		s.place("client-0", "client", to)
		return s
	}
}
