package karpenterv1

import (
	"github.com/kerf-dev/kerf/services/core/labels"
)

// Group is the API group of NodePool and NodeClaim, and the domain of the labels
// that the controller owns.
const Group = labels.Karpenter

// Values of labels.CapacityType.
const (
	CapacityTypeReserved = "reserved"
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
)
