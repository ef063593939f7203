package topology_test

import (
	"fmt"
	"testing"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
)

// TestCirclesAreOfClassesThatMayMatterToEachOther has web and db apart, cache near db, two others that are spread for
// themselves, one that only prefers to be near web, and one that no rule is about.
func TestCirclesAreOfClassesThatMayMatterToEachOther(t *testing.T) {
	w := newWorld()
	w.class("a-web", func(c *model.PodClass) { c.PodAntiAffinity = []model.PodAffinityTerm{near(zone, app("b-db"))} })
	w.class("b-db", nil)
	w.class("c-cache", func(c *model.PodClass) { c.PodAffinity = []model.PodAffinityTerm{near(zone, app("b-db"))} })
	w.class("d-one", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("d-one"))} })
	w.class("e-two", func(c *model.PodClass) { c.TopologySpread = []model.TopologySpread{spread(zone, 1, app("e-two"))} })
	w.class("f-fond", func(c *model.PodClass) {
		prefers := near(zone, app("a-web"))
		prefers.Weight = 1
		c.PodAffinity = []model.PodAffinityTerm{prefers}
	})
	w.class("g-free", nil)
	for _, c := range w.s.PodClasses {
		w.bound(string(c.ID), "n1", 1)
	}
	circles := podrules.Circles(w.build(t).tally.Rules())
	number, got := map[int32]int{podrules.None: 0}, make([]int, 0, len(circles))
	for _, n := range circles {
		if _, known := number[n]; !known {
			number[n] = len(number)
		}
		got = append(got, number[n])
	}
	if fmt.Sprint(got) != "[1 1 1 2 3 0 0]" {
		t.Errorf("the circles are %v", got)
	}
}
