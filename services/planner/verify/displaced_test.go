package verify_test

import (
	"slices"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

// interrupted adds a node in zone r-1a that AWS takes away, and the disruption that replaces it.
func (s *scene) interrupted(name string) {
	addNode(&s.in, name, s.in.Snapshot.Catalogs[0].InstanceTypes[1], 200_000)
	id := model.ClaimID("c-" + name)
	s.in.Snapshot.Notices = append(s.in.Snapshot.Notices, model.Notice{ID: "n-" + name, Kind: model.NoticeSpotInterruption, Claim: id})
	s.p.Disruptions = append(s.p.Disruptions, model.Disruption{
		ID: model.DisruptionID("d-" + name), Reason: model.ReasonInterrupted, Candidates: []model.ClaimID{id},
	})
	s.p.Nodes = append(s.p.Nodes, model.NodeVerdict{
		Node: model.NodeName(name), Claim: id, Reason: model.Reason{Code: model.CodeInterrupted}, Disruption: model.DisruptionID("d-" + name),
	})
}

// displace lets a pod run on the interrupted node and gives it a destination. Pods must come in the order of their names.
func (s *scene) displace(name, class, to string) {
	d := &s.p.Disruptions[0]
	s.running(name, class, string(s.p.Nodes[0].Node))
	d.Evictions++
	d.Churn += 1000
	d.Destinations = append(d.Destinations, model.Placement{Pod: model.PodID("shop/" + name), Node: model.NodeName(to)})
	evicts(d, class)
}

func (s *scene) destination(name string) *model.Placement {
	ds := s.p.Disruptions[0].Destinations
	return &ds[slices.IndexFunc(ds, func(pl model.Placement) bool { return pl.Pod == model.PodID("shop/"+name) })]
}

// TestAPodThatMayNotComeBackNamesItsDecision by its id, so that the decision can be left out.
func TestAPodThatMayNotComeBackNamesItsDecision(t *testing.T) {
	s := newScene("r-1a", "r-1b")
	s.interrupted("n-goes")
	s.class("lonely", away(zone, "lonely"))
	s.displace("lonely-0", "lonely", "r-1a")
	s.displace("lonely-1", "lonely", "r-1a")
	if found := s.check(); len(found) != 1 || found[0].Disruption != "d-n-goes" {
		t.Errorf("got %+v, want one violation by disruption d-n-goes", found)
	}
}

// TestDisplacedPodsKeepWhatTheyAskOfOthers takes a plan whose displaced pods can come back in some order, and breaks it.
func TestDisplacedPodsKeepWhatTheyAskOfOthers(t *testing.T) {
	scenery := func(fill func(*scene)) func() *scene {
		return func() *scene {
			s := newScene("r-1a", "r-1b")
			s.interrupted("n-goes")
			fill(s)
			return s
		}
	}
	tests := map[string]mutation{
		"a partner that comes back later": {
			scenery(func(s *scene) {
				s.class("client", near(zone, "db"))
				s.class("db", nil)
				s.displace("client-0", "client", "r-1b")
				s.displace("db-0", "db", "r-1b")
			}), func(s *scene) { s.destination("client-0").Node = "r-1a" },
			"disruption d-n-goes destination of pod shop/client-0: it may not come back on node r-1a in any order: it must be near",
		},
		"evenly, in turns that the plan does not name": {
			scenery(func(s *scene) {
				s.class("even", even(zone))
				s.displace("even-0", "even", "r-1a")
				s.displace("even-1", "even", "r-1a")
				s.displace("even-2", "even", "r-1b")
				s.displace("even-3", "even", "r-1b")
			}), func(s *scene) { s.destination("even-3").Node = "r-1a" }, "destination of pod shop/even-3",
		},
		"away from those that come back too": {
			scenery(func(s *scene) {
				s.class("lonely", away(zone, "lonely"))
				s.displace("lonely-0", "lonely", "r-1a")
				s.displace("lonely-1", "lonely", "r-1b")
			}), func(s *scene) { s.destination("lonely-1").Node = "r-1a" }, "it must be away from other pods",
		},
		"away from those that are there": {
			scenery(func(s *scene) {
				s.class("lonely", away(zone, "lonely"))
				s.running("lonely-9", "lonely", "r-1a")
				s.displace("lonely-0", "lonely", "r-1b")
			}), func(s *scene) { s.destination("lonely-0").Node = "r-1a" }, "it must be away from other pods",
		},
		"away from those that were placed": {
			scenery(func(s *scene) {
				s.class("lonely", away(host, "lonely"))
				s.place("lonely-9", "lonely", "r-1a")
				s.displace("lonely-0", "lonely", "r-1b")
			}), func(s *scene) { s.destination("lonely-0").Node = "r-1a" }, "it must be away from other pods",
		},
		"those with pod rules first": {
			scenery(func(s *scene) {
				s.class("even", even(zone))
				s.class("free", func(c *model.PodClass) { c.Labels = model.Labels{{Key: "app", Value: "even"}} })
				s.displace("a-0", "free", "r-1a")
				s.displace("a-1", "free", "r-1a")
				s.displace("even-0", "even", "r-1a")
			}), func(s *scene) { s.running("even-9", "even", "r-1a") }, "destination of pod shop/even-0",
		},
		"one that waits for another, before a third": {
			scenery(func(s *scene) {
				s.class("client", func(c *model.PodClass) {
					even(zone)(c)
					near(zone, "db")(c)
				})
				s.class("db", nil)
				s.class("free", func(c *model.PodClass) { c.Labels = model.Labels{{Key: "app", Value: "client"}} })
				s.displace("a-0", "free", "r-1a")
				s.displace("client-0", "client", "r-1a")
				s.displace("db-0", "db", "r-1a")
			}), func(s *scene) { s.destination("db-0").Node = "r-1b" }, "destination of pod shop/client-0",
		},
		"those that get a place later are nowhere": {
			scenery(func(s *scene) {
				s.class("even", even(zone))
				s.running("even-9", "even", "r-1b")
				s.displace("even-0", "even", "r-1b")
				s.displace("even-1", "even", "r-1a")
			}), func(s *scene) {
				d := &s.p.Disruptions[0]
				d.Destinations = d.Destinations[:1]
			}, "destination of pod shop/even-0",
		},
		"when pods are placed the displaced ones are still there": {
			scenery(func(s *scene) {
				s.class("lonely", nil)
				s.class("db", nil)
				s.displace("db-0", "db", "r-1b")
				s.place("lonely-0", "lonely", "r-1a")
			}), func(s *scene) { away(zone, "db")(s.classNamed("lonely")) }, "placement of pod shop/lonely-0",
		},
	}
	for name, tc := range tests {
		t.Run(name, tc.run)
	}
}

// TestANodeThatLeavesMayBeThereOrNot: as long as it is there, its zone is one to spread over, and then no more.
func TestANodeThatLeavesMayBeThereOrNot(t *testing.T) {
	build := func(to string) *scene {
		s := newScene("r-1a", "r-1b", "r-1c")
		s.class("even", even(zone))
		s.nodeNamed("r-1c").Terminating = true
		s.running("even-0", "even", "r-1a")
		s.running("even-1", "even", "r-1b")
		s.running("even-2", "even", "r-1c")
		s.p.Placements = []model.Placement{{Pod: "shop/even-2", Node: model.NodeName(to)}}
		return s
	}
	for _, v := range build("r-1a").check() {
		t.Error(v)
	}
	s := build("r-1a")
	s.running("even-3", "even", "r-1a")
	if len(s.check()) == 0 {
		t.Error("two more than in the other zone is wrong whether the node is there or not")
	}
}
