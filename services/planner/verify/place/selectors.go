package place

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// selectors finds the classes that selectors mean.
type selectors struct {
	all []*model.PodClass
	// labelled has each class once for each of its labels.
	labelled   map[model.Label][]*model.PodClass
	namespaces map[string]model.Labels
}

func newSelectors(s *model.Snapshot) *selectors {
	out := &selectors{labelled: make(map[model.Label][]*model.PodClass), namespaces: make(map[string]model.Labels)}
	for i := range s.PodClasses {
		class := &s.PodClasses[i]
		out.all = append(out.all, class)
		for _, l := range class.Labels {
			out.labelled[l] = append(out.labelled[l], class)
		}
	}
	for _, ns := range s.Namespaces {
		out.namespaces[ns.Name] = ns.Labels
	}
	return out
}

// candidates lists the classes that a selector may pick, as few as the index can tell; they must be looked at again.
func (s *selectors) candidates(sel *model.Selector) []*model.PodClass {
	if sel == nil {
		return nil
	}
	best := s.all
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

// picks says whether each of some terms of a pod affinity or anti-affinity means pods of a class.
func (s *selectors) picks(class *model.PodClass, terms ...model.PodAffinityTerm) bool {
	return !slices.ContainsFunc(terms, func(t model.PodAffinityTerm) bool {
		namespace := slices.Contains(t.Namespaces, class.Namespace) || t.NamespaceSelector.Matches(s.namespaces[class.Namespace])
		return !namespace || !t.Selector.Matches(class.Labels)
	})
}

// required are the terms that are not just preferences.
func required(terms []model.PodAffinityTerm) []model.PodAffinityTerm {
	var out []model.PodAffinityTerm
	for _, t := range terms {
		if t.Weight == 0 {
			out = append(out, t)
		}
	}
	return out
}

// hardSpreads are the hard spread constraints of a class: its own, or the scheduler's defaults where it has none at all.
func hardSpreads(class *model.PodClass, defaults []model.TopologySpread) []model.TopologySpread {
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
