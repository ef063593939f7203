package rules

import "github.com/kerf-dev/kerf/services/core/model"

// The reasons of the events that tell users what keeps a node, as Karpenter's users know them.
const (
	// DisruptionBlocked: something that a user has said keeps it.
	DisruptionBlocked = "DisruptionBlocked"
	// NodeRepairBlocked: it is unhealthy, and stays because too many others are.
	NodeRepairBlocked = "NodeRepairBlocked"
	// Unconsolidatable: it is worth its price.
	Unconsolidatable = "Unconsolidatable"
)

// EventOf is the event that tells users what keeps a node; "" for what passes by itself within minutes, which no one
// has to know.
func EventOf(code model.Code) string {
	switch code {
	case model.CodeNodeDoNotDisrupt, model.CodePodDoNotDisrupt, model.CodePDB, model.CodePodWithoutController, model.CodeVolumePinned:
		return DisruptionBlocked
	case model.CodeRepairGuard:
		return NodeRepairBlocked
	case model.CodeNoCheaper, model.CodeNoDestination, model.CodePriceUnknown, model.CodeConsolidationPolicy, model.CodePayback,
		model.CodeCapacityBuffer:
		return Unconsolidatable
	default:
		return ""
	}
}
