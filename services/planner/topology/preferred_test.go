package topology_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/model"
)

func TestPreferences(t *testing.T) {
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
		"required rules are no preferences": {func(w *world) {
			w.class("web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("web"))} })
			w.bound("web", "n3", 1)
		}, []int32{0, 0, 0, 0}},
		"soft constraints by default": {func(w *world) {
			w.policy.DefaultSpread = []model.TopologySpread{soft(zone, 1)}
			w.class("web", func(c *model.PodClass) { c.DefaultSelector = app("web") })
			w.bound("web", "n1", 1)
		}, []int32{50, 50, 0, 100}},
		"the policy ignores preferences": {func(w *world) {
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
				got = append(got, b.tally.PreferencePenalty(b.class("web"), b.tally.Host(i)))
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("on n1 to n4 (-want +got):\n%s", diff)
			}
		})
	}
}
