package verify

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// addLabels indexes classes by their pods' labels, for selectors.
func (c *checker) addLabels() {
	c.labelled = make(map[model.Label][]*model.PodClass)
	for i := range c.snap.PodClasses {
		class := &c.snap.PodClasses[i]
		c.everyClass = append(c.everyClass, class)
		for _, l := range class.Labels {
			c.labelled[l] = append(c.labelled[l], class)
		}
	}
}

// selected lists the classes that a selector may pick, as few as the index can tell: whoever asks looks again.
func (c *checker) selected(s *model.Selector) []*model.PodClass {
	if s == nil {
		return nil
	}
	best := c.everyClass
	for _, r := range s.Requirements {
		if r.Operator != model.In {
			continue
		}
		var with []*model.PodClass
		for i, v := range r.Values {
			if !slices.Contains(r.Values[:i], v) {
				with = append(with, c.labelled[model.Label{Key: r.Key, Value: v}]...)
			}
		}
		if len(with) < len(best) {
			best = with
		}
	}
	return best
}

// picks says whether a term of a pod affinity or anti-affinity means pods of a class.
func (c *checker) picks(t model.PodAffinityTerm, class *model.PodClass) bool {
	if !t.Selector.Matches(class.Labels) {
		return false
	}
	return slices.Contains(t.Namespaces, class.Namespace) || t.NamespaceSelector.Matches(c.namespaces[class.Namespace])
}

// picksAll says whether all of some terms mean pods of a class.
func (c *checker) picksAll(terms []model.PodAffinityTerm, class *model.PodClass) bool {
	return !slices.ContainsFunc(terms, func(t model.PodAffinityTerm) bool { return !c.picks(t, class) })
}

// required are the terms that are not just wishes.
func required(terms []model.PodAffinityTerm) []model.PodAffinityTerm {
	var out []model.PodAffinityTerm
	for _, t := range terms {
		if t.Weight == 0 {
			out = append(out, t)
		}
	}
	return out
}

// spreads are the hard spread constraints of a class: its own, or the scheduler's defaults where it has none at all.
func (c *checker) spreads(class *model.PodClass) []model.TopologySpread {
	all := class.TopologySpread
	if len(all) == 0 && class.DefaultSelector != nil && len(class.DefaultSelector.Requirements) > 0 {
		all = slices.Clone(c.in.Policy.DefaultSpread)
		for i := range all {
			all[i].Selector = class.DefaultSelector
		}
	}
	var out []model.TopologySpread
	for _, t := range all {
		if t.Required {
			out = append(out, t)
		}
	}
	return out
}
