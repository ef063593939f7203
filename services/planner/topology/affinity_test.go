package topology_test

import (
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
)

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
		"a preference keeps no pod away": {func(w *world) {
			term := near(zone, app("db"))
			term.Weight = 100
			w.class("db", from(near(zone, app("none")), term))
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
