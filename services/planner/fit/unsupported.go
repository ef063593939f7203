package fit

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Unsupported says for each class, by its index, what keeps Kerf from planning for its pods; the zero Reason where
// nothing does. Constraints that tie pods to other pods are among it: they are refused, never ignored.
func Unsupported(w *view.World) []model.Reason {
	out := make([]model.Reason, len(w.Classes))
	repelling := repellers(w)
	for i, c := range w.Classes {
		out[i] = ownConstraints(c)
		if !out[i].OK() || c.Daemon || c.Mirror {
			continue
		}
		for _, r := range repelling {
			if r.class != c && selects(w, r.term, c) {
				out[i] = unsupported(c, fmt.Sprintf("the required anti-affinity of %s %s/%s keeps other pods away from it",
					r.class.OwnerKind, r.class.Namespace, r.class.OwnerName))
				break
			}
		}
	}
	return out
}

func ownConstraints(c *view.Class) model.Reason {
	switch {
	case c.Unsupported != "":
		return unsupported(c, c.Unsupported)
	case slices.ContainsFunc(c.TopologySpread, func(t model.TopologySpread) bool { return t.Required }):
		return unsupported(c, "it has a required topology spread constraint")
	case slices.ContainsFunc(c.PodAffinity, required):
		return unsupported(c, "it has a required pod affinity")
	case slices.ContainsFunc(c.PodAntiAffinity, required):
		return unsupported(c, "it has a required pod anti-affinity")
	}
	return model.Reason{}
}

func required(t model.PodAffinityTerm) bool { return t.Weight == 0 }

func unsupported(c *view.Class, why string) model.Reason {
	return model.Reason{
		Code:    model.CodeUnsupported,
		Subject: "podclass/" + string(c.ID),
		Message: "Kerf does not plan for this pod: " + why,
	}
}

// repeller is a required anti-affinity of pods that exist.
type repeller struct {
	class *view.Class
	term  model.PodAffinityTerm
}

func repellers(w *view.World) []repeller {
	exists := make([]bool, len(w.Classes))
	for i := range w.Pods {
		exists[w.Pods[i].Class.Index] = true
	}
	var out []repeller
	for _, c := range w.Classes {
		for _, t := range c.PodAntiAffinity {
			if exists[c.Index] && required(t) {
				out = append(out, repeller{c, t})
			}
		}
	}
	return out
}

func selects(w *view.World, t model.PodAffinityTerm, c *view.Class) bool {
	if !t.Selector.Matches(c.Labels) {
		return false
	}
	if slices.Contains(t.Namespaces, c.Namespace) {
		return true
	}
	if t.NamespaceSelector == nil {
		return false
	}
	for _, ns := range w.Snapshot.Namespaces {
		if ns.Name == c.Namespace {
			return t.NamespaceSelector.Matches(ns.Labels)
		}
	}
	return t.NamespaceSelector.Matches(nil)
}
