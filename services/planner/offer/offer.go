// Package offer holds what users say about supply beside their pods: what nodes really cost and have (NodeOverlay),
// capacity for pods that do not exist yet (CapacityBuffer), pools of a fixed size (replicas), and what is left of capacity
// reservations.
//
// It knows a snapshot and nothing that was made of it, so that every package which plans may ask it. It decides nothing
// about pods: what it gives is data for those who pack and disrupt. Start reading with Overlays, then Expand (buffers),
// Static (pools with replicas) and ReservationUnits.
package offer

import (
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Annotations are a claim's own: whether its pool's minValues were relaxed, and which overlays had a say in its first
// offering ("" for none).
func Annotations(relaxed bool, priceOverlay, capacityOverlays string) model.Labels {
	var out model.Labels
	for _, a := range []model.Label{ // in the order of the keys
		{Key: labels.CapacityOverlay, Value: capacityOverlays},
		{Key: labels.MinValuesRelaxed, Value: yes(relaxed)},
		{Key: labels.PriceOverlay, Value: priceOverlay},
	} {
		if a.Value != "" {
			out = append(out, a)
		}
	}
	return out
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}
