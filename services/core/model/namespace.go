package model

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// NamespaceLabels are the labels of all namespaces: of those that are known, and of those that only pod classes name,
// with the label that each has, which files leave to the API server.
func (s *Snapshot) NamespaceLabels() map[string]Labels {
	out := make(map[string]Labels, len(s.Namespaces))
	for _, ns := range s.Namespaces {
		out[ns.Name] = named(ns)
	}
	for i := range s.PodClasses {
		name := s.PodClasses[i].Namespace
		if _, known := out[name]; !known {
			out[name] = named(Namespace{Name: name})
		}
	}
	return out
}

func named(ns Namespace) Labels {
	if _, ok := ns.Labels.Get(labels.NamespaceName); ok {
		return ns.Labels
	}
	out := append(slices.Clone(ns.Labels), Label{Key: labels.NamespaceName, Value: ns.Name})
	slices.SortFunc(out, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
