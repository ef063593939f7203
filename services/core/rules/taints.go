package rules

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// LastingTaints are those of a node's taints that count where pods are planned. Left out is what Kerf itself says by
// one, of whatever effect: that the node is to go later, and that a node of its own stays closed until pods that are on
// their way are there. Of a node that is starting, what it has only meanwhile is left out, too. Claim is the node's;
// nil for none. The list that was given is not changed.
func LastingTaints(taints []model.Taint, claim *model.Claim, starting bool) []model.Taint {
	passes := func(t model.Taint) bool {
		switch {
		case t.Key == labels.TaintRemovalDeferred, claim != nil && t.Key == labels.TaintUnregistered:
			return true
		case !starting:
			return false
		}
		return labels.Ephemeral(t.Key) ||
			claim != nil && slices.ContainsFunc(claim.StartupTaints, func(s model.Taint) bool { return s.Key == t.Key && s.Effect == t.Effect })
	}
	if !slices.ContainsFunc(taints, passes) {
		return taints
	}
	return slices.DeleteFunc(slices.Clone(taints), passes)
}
