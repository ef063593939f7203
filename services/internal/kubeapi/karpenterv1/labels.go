package karpenterv1

import (
	"strings"

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

// RestrictedLabel says why a user must not set or require the label key, or ""
// when it is fine. karpenter.sh/nodepool is fine here, as claims and pods may
// ask for it; a pool may not.
func RestrictedLabel(key string) string {
	if key == labels.Hostname {
		return "it differs on each node"
	}
	domain, _, found := strings.Cut(key, "/")
	if !found || key == labels.CapacityType || key == labels.NodePool {
		return ""
	}
	if domain == Group || strings.HasSuffix(domain, "."+Group) {
		return "labels of the domain karpenter.sh are set by the controller"
	}
	return ""
}
