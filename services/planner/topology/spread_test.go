package topology_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

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
		"a larger skew leaves more capacity": {func(w *world) {
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
		"an empty selector counts no pod": {func(w *world) {
			w.class("web", with(spread(zone, 1, &model.Selector{})))
			w.bound("web", "n1", 5)
		}, "n1 n2 n3"},
		"no selector at all counts no pod": {func(w *world) {
			w.class("web", with(spread(zone, 1, nil)))
			w.bound("web", "n1", 5)
		}, "n1 n2 n3"},
		"too few domains make the minimum zero": {func(w *world) {
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
		"a soft constraint keeps no pod away": {func(w *world) {
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
		"and for no other": {func(w *world) {
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
