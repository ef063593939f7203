package verify_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/verify"
)

const (
	zone = "topology.kubernetes.io/zone"
	host = "kubernetes.io/hostname"
)

// scene is a small cluster and a plan for it, both written by hand: pods that mind each other, on nodes that nobody owns
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

// TestPodsThatMindEachOther takes a plan in which they all get what they ask for, and breaks one thing.
func TestPodsThatMindEachOther(t *testing.T) {
	type mutation struct {
		good  func() *scene
		spoil func(*scene)
		want  string
	}
	three := []string{"r-1a", "r-1b", "r-1c"}
	spreadScene := func(class func(*model.PodClass), places ...string) func() *scene {
		return func() *scene {
			s := newScene(three...)
			s.class("even", class)
			return spreadOver(s, places...)
		}
	}
	withDB := func(class func(*model.PodClass), to string) func() *scene {
		return func() *scene {
			s := newScene(three...)
			s.node("r-1a-2", "r-1a")
			s.class("db", nil)
			s.running("db-0", "db", "r-1a")
			s.class("client", class)
			s.place("client-0", "client", to)
			return s
		}
	}
	tests := map[string]mutation{
		"spread: too many in one zone": {
			spreadScene(even(zone), three...), func(s *scene) { s.send("even-2", "r-1a") },
			"skew of at most 1: r-1a has 1 pods without it, the least of 3 domains (1 wanted) has 0",
		},
		"spread: the right places in the wrong order": {
			spreadScene(even(zone), "r-1a", "r-1b", "r-1c", "r-1a"), func(s *scene) { s.swapTurns("even-2", "even-3") },
			"placement of pod shop/even-3: when it is its turn (2)",
		},
		"spread: no order at all": {
			spreadScene(even(zone), three...), func(s *scene) {
				for i := range s.p.Placements {
					s.p.Placements[i].Order = 0
				}
			}, "every turn from 0 to 2 must be there once",
		},
		"spread: a turn that two pods have": {
			spreadScene(nil, three...), func(s *scene) { s.p.Placements[2].Order = 1 }, "its turn is 1",
		},
		"spread: over nodes": {
			spreadScene(even(host), three...), func(s *scene) { s.send("even-2", "r-1a") }, "spread over kubernetes.io/hostname",
		},
		"spread: a larger skew is allowed": {
			spreadScene(even(zone, func(t *model.TopologySpread) { t.MaxSkew = 2 }), "r-1a", "r-1a"),
			func(s *scene) { s.classNamed("even").TopologySpread[0].MaxSkew = 1 }, "skew of at most 1",
		},
		"spread: too few domains": {
			spreadScene(even(zone, minDomains(3)), "r-1a", "r-1b", "r-1c", "r-1a"),
			func(s *scene) { s.classNamed("even").TopologySpread[0].MinDomains = 4 }, "(4 wanted) has 0",
		},
		"spread: pods that do not count themselves go anywhere, on a level": {
			spreadScene(even(zone, func(t *model.TopologySpread) { t.Selector = app("lone") }), "r-1a", "r-1a", "r-1a"),
			func(s *scene) {
				s.running("lone-0", "lone", "r-1a")
				s.running("lone-1", "lone", "r-1a")
			}, "r-1a has 2 pods",
		},
		"spread: zones that the pods do not choose do not count": {
			spreadScene(func(c *model.PodClass) {
				even(zone)(c)
				c.NodeAffinity = []model.NodeAffinityTerm{{Requirements: []model.Requirement{{Key: zone, Operator: model.In, Values: three[:2]}}}}
			}, "r-1a", "r-1b", "r-1a"),
			func(s *scene) { s.classNamed("even").TopologySpread[0].IgnoreNodeAffinity = true }, "3 domains",
		},
		"spread: tainted nodes do not count where taints are honoured": {
			func() *scene {
				s := spreadScene(even(zone, honorTaints), "r-1a", "r-1b", "r-1a")()
				s.nodeNamed("r-1c").Taints = []model.Taint{{Key: "gpu", Effect: model.NoSchedule}}
				return s
			}, func(s *scene) { s.classNamed("even").TopologySpread[0].HonorTaints = false }, "3 domains",
		},
		"spread: a node without all the labels does not count": {
			func() *scene {
				s := spreadScene(func(c *model.PodClass) {
					even(zone)(c)
					even("zz-rack", func(t *model.TopologySpread) { t.MaxSkew = 9 })(c)
				}, "r-1a", "r-1b", "r-1a")()
				for _, n := range three[:2] {
					at := s.nodeNamed(model.NodeName(n))
					at.Labels = append(at.Labels, model.Label{Key: "zz-rack", Value: "1"})
				}
				return s
			}, func(s *scene) {
				at := s.nodeNamed("r-1c")
				at.Labels = append(at.Labels, model.Label{Key: "zz-rack", Value: "1"})
			}, "3 domains",
		},
		"spread: a node without the label": {
			spreadScene(even(zone), "r-1a"), func(s *scene) { s.nodeNamed("r-1a").Labels = s.nodeNamed("r-1a").Labels[:1] },
			"a label that the node may not have",
		},
		"spread: pods that end do not count": {
			func() *scene {
				s := spreadScene(even(zone), "r-1a")()
				s.running("even-9", "even", "r-1a")
				pod(&s.in, "shop/even-9").Terminating = true
				return s
			}, func(s *scene) { pod(&s.in, "shop/even-9").Terminating = false }, "r-1a has 1 pods",
		},
		"spread: pods of other namespaces do not count": {
			func() *scene {
				s := spreadScene(even(zone), "r-1a")()
				s.class("even-abroad", func(c *model.PodClass) {
					c.Namespace, c.Labels = "abroad", model.Labels{{Key: "app", Value: "even"}}
				})
				s.running("even-9", "even-abroad", "r-1a")
				return s
			}, func(s *scene) { s.classNamed("even-abroad").Namespace = "shop" }, "r-1a has 1 pods",
		},
		"spread: a wish is no rule": {
			spreadScene(even(zone, func(t *model.TopologySpread) { t.Required = false }), "r-1a", "r-1a"),
			func(s *scene) { s.classNamed("even").TopologySpread[0].Required = true }, "r-1a has 1 pods",
		},
		"spread: the scheduler's defaults are for pods that belong together": {
			func() *scene {
				s := spreadScene(nil, "r-1a", "r-1a")()
				s.in.Policy.DefaultSpread = []model.TopologySpread{{TopologyKey: zone, MaxSkew: 1, Required: true}}
				return s
			}, func(s *scene) { s.classNamed("even").DefaultSelector = app("even") }, "r-1a has 1 pods",
		},
		"spread: the scheduler's defaults are for pods without constraints": {
			func() *scene {
				s := spreadScene(func(c *model.PodClass) {
					even(host, func(t *model.TopologySpread) { t.Required = false })(c)
					c.DefaultSelector = app("even")
				}, "r-1a", "r-1a")()
				s.in.Policy.DefaultSpread = []model.TopologySpread{{TopologyKey: zone, MaxSkew: 1, Required: true}}
				return s
			}, func(s *scene) { s.classNamed("even").TopologySpread = nil }, "r-1a has 1 pods",
		},
		"spread: a claim whose zone is open may be in either": {
			func() *scene {
				s := newScene("r-1a")
				s.class("even", even(zone))
				s.claim("c-1", "r-1b")
				return spreadOver(s, "r-1a", "c-1", "r-1a")
			}, func(s *scene) { s.offer("c-1", "r-1a", "r-1b") }, "placement of pod shop/even-1",
		},
		"spread: a claim for other pods opens a zone": {
			func() *scene {
				s := newScene("r-1a")
				s.class("even", even(zone))
				s.claim("c-1", "r-1a")
				s.class("other", nil)
				s.place("other-0", "other", "c-1")
				return spreadOver(s, "r-1a", "r-1a")
			}, func(s *scene) { s.offer("c-1", "r-1b") }, "the least of 2 domains",
		},
		"affinity: another zone": {
			withDB(near(zone, "db"), "r-1a-2"), func(s *scene) { s.send("client-0", "r-1b") },
			"it must be near other pods by topology.kubernetes.io/zone: the 1 that there are",
		},
		"affinity: another node": {
			withDB(near(host, "db"), "r-1a"), func(s *scene) { s.send("client-0", "r-1a-2") }, "near other pods by kubernetes.io/hostname",
		},
		"affinity: nobody to be near to": {
			withDB(near(zone, "db"), "r-1a-2"), func(s *scene) { s.classNamed("db").Labels = nil }, "and there are none",
		},
		"affinity: a node without the label": {
			withDB(near(zone, "db"), "r-1a-2"), func(s *scene) { s.nodeNamed("r-1a-2").Labels = s.nodeNamed("r-1a-2").Labels[:1] },
			"a label that the node may not have",
		},
		"affinity: of another namespace": {
			withDB(near(zone, "db"), "r-1a-2"), func(s *scene) { s.classNamed("db").Namespace = "abroad" }, "and there are none",
		},
		"affinity: of namespaces by their labels": {
			func() *scene {
				s := withDB(near(zone, "db"), "r-1a-2")()
				s.classNamed("db").Namespace = "abroad"
				s.classNamed("client").PodAffinity[0].NamespaceSelector = &model.Selector{
					Requirements: []model.Requirement{{Key: "team", Operator: model.In, Values: []string{"data"}}},
				}
				s.in.Snapshot.Namespaces = []model.Namespace{{Name: "abroad", Labels: model.Labels{{Key: "team", Value: "data"}}}}
				return s
			}, func(s *scene) { s.in.Snapshot.Namespaces[0].Labels[0].Value = "web" }, "and there are none",
		},
		"affinity: one pod must meet all terms": {
			func() *scene {
				s := withDB(near(zone, "db"), "r-1a-2")()
				s.classNamed("db").Labels = model.Labels{{Key: "app", Value: "db"}, {Key: "role", Value: "main"}}
				s.class("main", func(c *model.PodClass) { c.Labels = model.Labels{{Key: "role", Value: "main"}} })
				s.running("main-0", "main", "r-1a")
				c := s.classNamed("client")
				c.PodAffinity = append(c.PodAffinity, model.PodAffinityTerm{
					TopologyKey: host, Namespaces: []string{"shop"},
					Selector: &model.Selector{Requirements: []model.Requirement{{Key: "role", Operator: model.Exists}}},
				})
				s.send("client-0", "r-1a")
				return s
			}, func(s *scene) { s.classNamed("db").Labels = s.classNamed("db").Labels[:1] }, "and there are none",
		},
		"affinity: its partner has its turn later": {
			func() *scene {
				s := newScene(three...)
				s.class("db", nil)
				s.class("client", near(zone, "db"))
				s.place("db-0", "db", "r-1a")
				s.place("client-0", "client", "r-1a")
				return s
			}, func(s *scene) { s.swapTurns("db-0", "client-0") }, "and there are none",
		},
		"affinity: the first goes anywhere, the others follow": {
			func() *scene {
				s := newScene(three...)
				s.class("club", near(zone, "club"))
				s.place("club-0", "club", "r-1b")
				s.place("club-1", "club", "r-1b")
				return s
			}, func(s *scene) { s.send("club-1", "r-1a") }, "placement of pod shop/club-1",
		},
		"affinity: two claims whose zone is open": {
			func() *scene {
				s := newScene()
				s.class("db", nil)
				s.class("client", near(zone, "db"))
				s.claim("c-1", "r-1a", "r-1b")
				s.claim("c-2", "r-1a", "r-1b")
				s.place("db-0", "db", "c-1")
				s.place("client-0", "client", "c-1") // on one node, and so in one zone
				s.class("other", nil)
				s.place("other-0", "other", "c-2")
				return s
			}, func(s *scene) { s.send("client-0", "c-2") }, "are not surely there",
		},
		"anti-affinity: one zone": {
			withDB(away(zone, "db"), "r-1b"), func(s *scene) { s.send("client-0", "r-1a-2") },
			"it must be away from other pods by topology.kubernetes.io/zone: r-1a may have 1 of them",
		},
		"anti-affinity: one node": {
			withDB(away(host, "db"), "r-1a-2"), func(s *scene) { s.send("client-0", "r-1a") }, "away from other pods by kubernetes.io/hostname",
		},
		"anti-affinity: pods that end are still there": {
			withDB(away(host, "db"), "r-1a-2"), func(s *scene) {
				pod(&s.in, "shop/db-0").Terminating = true
				s.send("client-0", "r-1a")
			}, "away from other pods",
		},
		"anti-affinity: a node without the label is no zone": {
			func() *scene {
				s := withDB(away(zone, "db"), "r-1a-2")()
				s.nodeNamed("r-1a-2").Labels = s.nodeNamed("r-1a-2").Labels[:1]
				return s
			}, func(s *scene) { s.send("client-0", "r-1a") }, "away from other pods",
		},
		"anti-affinity: a wish is no rule": {
			func() *scene {
				s := withDB(away(zone, "db"), "r-1a")()
				s.classNamed("client").PodAntiAffinity[0].Weight = 1
				return s
			}, func(s *scene) { s.classNamed("client").PodAntiAffinity[0].Weight = 0 }, "away from other pods",
		},
		"anti-affinity: two of a kind on one claim": {
			func() *scene {
				s := newScene()
				s.class("lonely", away(host, "lonely"))
				s.claim("c-1", "r-1a")
				s.claim("c-2", "r-1a")
				s.place("lonely-0", "lonely", "c-1")
				s.place("lonely-1", "lonely", "c-2")
				s.class("other", nil)
				s.place("other-0", "other", "c-1")
				return s
			}, func(s *scene) { s.send("lonely-1", "c-1") }, "claim/c-1 may have 1 of them",
		},
		"anti-affinity: a claim whose zone is open": {
			func() *scene {
				s := newScene()
				s.class("lonely", away(zone, "lonely"))
				s.claim("c-1", "r-1a")
				s.claim("c-2", "r-1b")
				s.place("lonely-0", "lonely", "c-1")
				s.place("lonely-1", "lonely", "c-2")
				return s
			}, func(s *scene) { s.offer("c-2", "r-1a", "r-1b") }, "r-1a may have 1 of them",
		},
		"anti-affinity of those who are there": {
			func() *scene {
				s := withDB(nil, "r-1b")()
				away(zone, "client")(s.classNamed("db"))
				return s
			}, func(s *scene) { s.send("client-0", "r-1a-2") }, "pods of class db do not suffer it by topology.kubernetes.io/zone",
		},
		"anti-affinity of those who came before": {
			func() *scene {
				s := newScene(three...)
				s.class("client", nil)
				s.class("db", away(zone, "client"))
				s.place("db-0", "db", "r-1a")
				s.place("client-0", "client", "r-1b")
				return s
			}, func(s *scene) { s.send("client-0", "r-1a") }, "pods of class db do not suffer it",
		},
		"anti-affinity: the DaemonSet's pod is there first": {
			func() *scene {
				s := newScene()
				s.class("lonely", away(host, "daemon"))
				s.claim("c-1", "r-1a")
				s.place("lonely-0", "lonely", "c-1")
				s.classNamed("daemon").Labels = nil
				return s
			}, func(s *scene) { s.classNamed("daemon").Labels = model.Labels{{Key: "app", Value: "daemon"}} }, "claim/c-1 may have 1 of them",
		},
		"affinity: a DaemonSet's pod that may not be there": {
			func() *scene {
				s := newScene()
				s.class("client", near(host, "daemon"))
				s.claim("c-1", "r-1a", "r-1b")
				s.place("client-0", "client", "c-1")
				return s
			}, func(s *scene) { s.classNamed("daemon").NodeSelector = model.Labels{{Key: zone, Value: "r-1a"}} }, "are not surely there",
		},
		"volumes: one that pods share is attached once": {
			func() *scene {
				s := newScene(three...)
				s.nodeNamed("r-1a").VolumeLimits = model.Amounts{{Resource: "ebs", Value: 2}}
				s.class("files", func(c *model.PodClass) {
					c.VolumeAttachments = model.Amounts{{Resource: "ebs", Value: 1}}
					c.Volumes = []model.VolumeTopology{{Name: "shop/files", Driver: "ebs"}}
				})
				s.class("own", func(c *model.PodClass) { c.VolumeAttachments = model.Amounts{{Resource: "ebs", Value: 1}} })
				s.running("files-0", "files", "r-1a")
				s.place("files-1", "files", "r-1a")
				s.place("own-0", "own", "r-1a")
				return s
			}, func(s *scene) { s.classNamed("files").Volumes[0].Name = "" }, "attach 3 volumes of ebs, it can attach 2",
		},
		"anti-affinity against every namespace": {
			func() *scene {
				s := withDB(nil, "r-1a")()
				away(zone, "client")(s.classNamed("db"))
				s.classNamed("db").PodAntiAffinity[0].Namespaces = []string{"abroad"}
				return s
			}, func(s *scene) { s.classNamed("db").PodAntiAffinity[0].NamespaceSelector = &model.Selector{} }, "do not suffer it",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := tc.good()
			for _, v := range s.check() {
				t.Fatalf("before it was spoilt: %s", v)
			}
			tc.spoil(s)
			found := s.check()
			if !slices.ContainsFunc(found, func(v verify.Violation) bool { return strings.Contains(v.String(), tc.want) }) {
				t.Errorf("want a violation with %q, got %q", tc.want, found)
			}
		})
	}
}
