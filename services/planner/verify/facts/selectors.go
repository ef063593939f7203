package facts

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Selectors finds the classes that selectors mean.
type Selectors struct {
	// All are all classes.
	All []*model.PodClass
	// labelled has each class once for each of its labels.
	labelled   map[model.Label][]*model.PodClass
	namespaces map[string]model.Labels
}

// NewSelectors indexes the classes of a snapshot.
func NewSelectors(s *model.Snapshot) *Selectors {
	out := &Selectors{labelled: make(map[model.Label][]*model.PodClass), namespaces: s.NamespaceLabels()}
	for i := range s.PodClasses {
		class := &s.PodClasses[i]
		out.All = append(out.All, class)
		for _, l := range class.Labels {
			out.labelled[l] = append(out.labelled[l], class)
		}
	}
	return out
}

// Candidates lists the classes that a selector may pick, as few as the index can tell; they must be looked at again.
func (s *Selectors) Candidates(sel *model.Selector) []*model.PodClass {
	if sel == nil {
		return nil
	}
	best := s.All
	for _, r := range sel.Requirements {
		if r.Operator != model.In {
			continue
		}
		var with []*model.PodClass
		for i, v := range r.Values {
			if !slices.Contains(r.Values[:i], v) {
				with = append(with, s.labelled[model.Label{Key: r.Key, Value: v}]...)
			}
		}
		if len(with) < len(best) {
			best = with
		}
	}
	return best
}

// Picks says whether each of some terms of a pod affinity or anti-affinity means pods of a class.
func (s *Selectors) Picks(class *model.PodClass, terms ...model.PodAffinityTerm) bool {
	return !slices.ContainsFunc(terms, func(t model.PodAffinityTerm) bool {
		namespace := slices.Contains(t.Namespaces, class.Namespace) || t.NamespaceSelector.Matches(s.namespaces[class.Namespace])
		return !namespace || !t.Selector.Matches(class.Labels)
	})
}

// Required are the terms that are not just preferences.
func Required(terms []model.PodAffinityTerm) []model.PodAffinityTerm {
	var out []model.PodAffinityTerm
	for _, t := range terms {
		if t.Weight == 0 {
			out = append(out, t)
		}
	}
	return out
}

// HardSpreads are the hard spread constraints of a class: its own, or the scheduler's defaults where it has none at all.
func HardSpreads(class *model.PodClass, defaults []model.TopologySpread) []model.TopologySpread {
	all := class.TopologySpread
	if len(all) == 0 && class.DefaultSelector != nil && len(class.DefaultSelector.Requirements) > 0 {
		all = slices.Clone(defaults)
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
