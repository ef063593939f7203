package mutate

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
	"github.com/kerf-dev/kerf/test/differential/judge"
)

// spreads changes every spread constraint.
func spreads(change func(*model.TopologySpread)) func(*model.Input) {
	return classes(func(c *model.PodClass) {
		for i := range c.TopologySpread {
			change(&c.TopologySpread[i])
		}
	})
}

func required(t model.PodAffinityTerm) bool { return t.Weight == 0 }

// ties breaks the rules that tie pods to pods.
func ties() []Mutation {
	return slices.Concat(want(judge.Misfit, weakerTies()), want(judge.Missed, []Mutation{
		{Name: "soft spread is hard", Families: gen.Preferred | gen.Spread, Believe: spreads(func(t *model.TopologySpread) { t.Required = true })},
		{Name: "preferred pod affinity is required", Families: gen.Preferred, Believe: classes(func(c *model.PodClass) {
			for i := range c.PodAffinity {
				c.PodAffinity[i].Weight = 0
			}
		})},
		{Name: "preferred pod anti-affinity is required", Families: gen.Preferred, Believe: classes(func(c *model.PodClass) {
			for i := range c.PodAntiAffinity {
				c.PodAntiAffinity[i].Weight = 0
			}
		})},
		{Name: "any skew is one", Families: gen.Spread, Believe: spreads(func(t *model.TopologySpread) { t.MaxSkew = 1 })},
		{Name: "there must be four domains", Families: gen.Spread, Believe: spreads(func(t *model.TopologySpread) { t.MinDomains = 4 })},
		{Name: "the first of its kind needs a friend too", Families: gen.PodAffinity, Believe: classes(func(c *model.PodClass) {
			for i := range c.PodAffinity {
				c.PodAffinity[i].Namespaces, c.PodAffinity[i].NamespaceSelector = []string{"nowhere"}, nil
			}
		})},
	}))
}

func weakerTies() []Mutation {
	return []Mutation{
		{Name: "spread does not matter", Families: gen.Spread, Believe: classes(func(c *model.PodClass) { c.TopologySpread = nil })},
		{Name: "one more skew is fine", Families: gen.Spread, Believe: spreads(func(t *model.TopologySpread) { t.MaxSkew++ })},
		{Name: "any number of domains is enough", Families: gen.Spread, Believe: spreads(func(t *model.TopologySpread) { t.MinDomains = 0 })},
		{
			Name:     "nodes that a pod's affinity excludes do not count for spread, and the reverse",
			Families: gen.Spread | gen.Selector | gen.Nodes,
			Believe:  spreads(func(t *model.TopologySpread) { t.IgnoreNodeAffinity = !t.IgnoreNodeAffinity }),
		},
		{
			Name:     "tainted nodes do not count for spread, and the reverse",
			Families: gen.Spread | gen.Taints | gen.Nodes | gen.Cordon,
			Believe:  spreads(func(t *model.TopologySpread) { t.HonorTaints = !t.HonorTaints }),
		},
		{Name: "spread counts a pod's own kind", Families: gen.Spread, Believe: classes(func(c *model.PodClass) {
			own, _ := c.Labels.Get("app")
			for i := range c.TopologySpread {
				c.TopologySpread[i].Selector = &model.Selector{Requirements: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{own}}}}
			}
		})},
		{Name: "spread over hosts only", Families: gen.Spread, Believe: classes(func(c *model.PodClass) {
			c.TopologySpread = slices.DeleteFunc(c.TopologySpread, func(t model.TopologySpread) bool { return t.TopologyKey != labels.Hostname })
		})},
		{Name: "pod affinity does not matter", Families: gen.PodAffinity, Believe: classes(func(c *model.PodClass) {
			c.PodAffinity = slices.DeleteFunc(c.PodAffinity, required)
		})},
		{Name: "pod anti-affinity does not matter", Families: gen.PodAntiAffinity, Believe: classes(func(c *model.PodClass) {
			c.PodAntiAffinity = slices.DeleteFunc(c.PodAntiAffinity, required)
		})},
		{Name: "pods that run suffer everybody", Families: gen.PodAntiAffinity | gen.Nodes, Believe: quiet},
		{Name: "pod anti-affinity ends at the namespace", Families: gen.PodAntiAffinity | gen.Namespaces, Believe: classes(func(c *model.PodClass) {
			for i := range c.PodAntiAffinity {
				c.PodAntiAffinity[i].Namespaces, c.PodAntiAffinity[i].NamespaceSelector = []string{c.Namespace}, nil
			}
		})},
	}
}

// quiet takes the anti-affinity away from pods that have a node.
func quiet(in *model.Input) {
	s := &in.Snapshot
	plain := make(map[model.ClassID]bool)
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Node != "" {
			plain[p.Class] = true
			p.Class += "-plain"
		}
	}
	for _, c := range slices.Clone(s.PodClasses) {
		if plain[c.ID] {
			c.ID += "-plain"
			c.PodAntiAffinity = slices.DeleteFunc(slices.Clone(c.PodAntiAffinity), required)
			s.PodClasses = append(s.PodClasses, c)
		}
	}
}
