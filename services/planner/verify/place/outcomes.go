package place

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/verify/facts"
)

// mostOutcomes is how many ways in which places turn out together are gone through.
const mostOutcomes = 256

// open is a place that is not decided, and what it may turn out to be.
type open struct {
	place *Place
	kinds []*kind
}

// inEachOutcome says whether something holds whatever the places turn out to be, each of which is then decided as far
// as pods of some classes can tell. It is false where there is nothing to decide, or where there are too many outcomes.
func (c *Check) inEachOutcome(classes []*model.PodClass, holds func() bool) bool {
	var all []open
	ways := 1
	for _, p := range c.all {
		kinds := c.outcomes(p.kind, classes)
		if len(kinds) < 2 {
			continue
		}
		if ways *= len(kinds); ways > mostOutcomes {
			return false
		}
		all = append(all, open{p, kinds})
	}
	return len(all) > 0 && inEach(all, holds)
}

func inEach(all []open, holds func() bool) bool {
	if len(all) == 0 {
		return holds()
	}
	p, before := all[0].place, all[0].place.kind
	defer func() { p.kind = before }()
	for _, k := range all[0].kinds {
		p.kind = k
		if !inEach(all[1:], holds) {
			return false
		}
	}
	return true
}

// outcomes are what a kind may turn out to be: its variants, those together that pods of some classes can't tell apart.
func (c *Check) outcomes(k *kind, classes []*model.PodClass) []*kind {
	if len(k.variants) < 2 || len(classes) == 0 {
		return nil
	}
	var out []*kind
	by := make(map[string]*kind)
	for _, v := range k.variants {
		var seen []any
		for _, class := range classes {
			seen = append(seen, c.places.nodeRules(class).admits(v))
			for _, key := range c.keys(class) {
				values, listed, present := v.Values(labels.Normal(key))
				seen = append(seen, values, listed, present)
			}
		}
		for _, d := range c.f.Cluster.Snapshot.DaemonSets {
			class := c.f.Cluster.Classes[d.Class]
			if class != nil && slices.ContainsFunc(classes, func(x *model.PodClass) bool { return c.matters(class, x) }) {
				seen = append(seen, c.places.nodeRules(class).start(k.taints, v))
			}
		}
		name := text(seen...)
		if by[name] == nil {
			by[name] = newKind(k.taints)
			out = append(out, by[name])
		}
		by[name].variants = append(by[name].variants, v)
	}
	return out
}

// matters says whether it matters to pods of a class where those of another are, as far as that class's rules, or the
// other's, pick pods.
func (c *Check) matters(other, class *model.PodClass) bool {
	for _, t := range facts.HardSpreads(class, c.f.Input.Policy.DefaultSpread) {
		if other.Namespace == class.Namespace && t.Selector.Matches(other.Labels) {
			return true
		}
	}
	picks := func(t model.PodAffinityTerm) bool { return c.selectors.Picks(other, t) }
	return slices.ContainsFunc(facts.Required(class.PodAffinity), picks) ||
		slices.ContainsFunc(facts.Required(class.PodAntiAffinity), picks) ||
		slices.ContainsFunc(facts.Required(other.PodAntiAffinity), func(t model.PodAffinityTerm) bool { return c.selectors.Picks(class, t) })
}

// keys are the labels that decide which pods are around a pod of a class, in its own rules or in those that keep it away.
func (c *Check) keys(class *model.PodClass) []string {
	var out []string
	for _, t := range facts.HardSpreads(class, c.f.Input.Policy.DefaultSpread) {
		out = append(out, t.TopologyKey)
	}
	for _, t := range facts.Required(class.PodAffinity) {
		out = append(out, t.TopologyKey)
	}
	for _, t := range facts.Required(class.PodAntiAffinity) {
		out = append(out, t.TopologyKey)
	}
	for _, other := range c.selectors.All {
		for _, t := range facts.Required(other.PodAntiAffinity) {
			if c.selectors.Picks(class, t) {
				out = append(out, t.TopologyKey)
			}
		}
	}
	return out
}
