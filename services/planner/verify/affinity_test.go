package verify_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestPodsThatAreNearOrAway(t *testing.T) {
	three := threeZones()
	tests := map[string]mutation{
		"affinity: another zone": {
			withDB(near(zone, "db"), "r-1a-2"), func(s *scene) { s.send("client-0", "r-1b") },
			"it must be near other pods by topology.kubernetes.io/zone: the 1 that there are",
		},
		"affinity: another node": {
			withDB(near(host, "db"), "r-1a"), func(s *scene) { s.send("client-0", "r-1a-2") }, "near other pods by kubernetes.io/hostname",
		},
		"affinity: no pod to be near to": {
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
		"affinity: by two labels, one of which the node of the others lacks": {
			func() *scene {
				s := newScene(three...)
				s.node("r-1a-2", "r-1a")
				s.class("club", near(zone, "club"))
				c := s.classNamed("club")
				byRack := c.PodAffinity[0]
				byRack.TopologyKey = "rack"
				c.PodAffinity = append(c.PodAffinity, byRack)
				for _, n := range []model.NodeName{"r-1a", "r-1a-2"} {
					s.nodeNamed(n).Labels = append(s.nodeNamed(n).Labels, model.Label{Key: "rack", Value: "r1"})
				}
				s.running("club-0", "club", "r-1a")
				s.place("club-1", "club", "r-1a-2")
				return s
			}, func(s *scene) {
				n := s.nodeNamed("r-1a")
				n.Labels = n.Labels[:len(n.Labels)-1]
			}, "are not surely there",
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
		"anti-affinity: a preference is no rule": {
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
			}, func(s *scene) { s.send("client-0", "r-1a-2") }, "pods of class db must be away from it by topology.kubernetes.io/zone",
		},
		"anti-affinity of those who came before": {
			func() *scene {
				s := newScene(three...)
				s.class("client", nil)
				s.class("db", away(zone, "client"))
				s.place("db-0", "db", "r-1a")
				s.place("client-0", "client", "r-1b")
				return s
			}, func(s *scene) { s.send("client-0", "r-1a") }, "pods of class db must be away from it",
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
		"anti-affinity against every namespace": {
			func() *scene {
				s := withDB(nil, "r-1a")()
				away(zone, "client")(s.classNamed("db"))
				s.classNamed("db").PodAntiAffinity[0].Namespaces = []string{"abroad"}
				return s
			}, func(s *scene) { s.classNamed("db").PodAntiAffinity[0].NamespaceSelector = &model.Selector{} }, "must be away from it",
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
	}
	for name, tc := range tests {
		t.Run(name, tc.run)
	}
}
