package rules

import (
	"strconv"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// ReservationLabels are the labels that a node has because it is in a capacity reservation, sorted by key; none where
// it is in none.
func ReservationLabels(r model.Reservation) model.Labels {
	if r.ID == "" {
		return nil
	}
	return model.Labels{
		{Key: labels.CapacityReservationID, Value: r.ID},
		{Key: labels.CapacityReservationInterruptible, Value: strconv.FormatBool(r.Interruptible)},
		{Key: labels.CapacityReservationType, Value: ReservationType(r.Block)},
	}
}

// ReservationType is what AWS calls a reservation that is a block of capacity, or is none.
func ReservationType(block bool) string {
	if block {
		return "capacity-block"
	}
	return "default"
}
