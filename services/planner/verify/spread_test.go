package verify_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestPodsThatSpread(t *testing.T) {
	three := threeZones()
	spreadScene := func(class func(*model.PodClass), places ...string) func() *scene {
		return func() *scene {
			s := newScene(three...)
			s.class("even", class)
			return spreadOver(s, places...)
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
		"spread: a preference is no rule": {
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
				s := newScene("r-1a", "r-1b")
				s.class("even", even(zone))
				s.claim("c-1", "r-1b")
				return spreadOver(s, "r-1a", "c-1", "r-1a")
			}, func(s *scene) { s.offer("c-1", "r-1a", "r-1b") }, "placement of pod shop/even-1",
		},
		"spread: a claim opens a zone, or there is none to spread over": {
			func() *scene {
				s := newScene("r-1a")
				s.class("even", even(zone))
				s.claim("c-1", "r-1a", "r-1b")
				return spreadOver(s, "r-1a", "c-1", "r-1a")
			}, func(s *scene) { s.send("even-1", "r-1a") }, "placement of pod shop/even-1",
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
	}
	for name, tc := range tests {
		t.Run(name, tc.run)
	}
}
