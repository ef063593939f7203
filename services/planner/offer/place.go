package offer

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
)

// Places knows what nodes have by the place where they are bought: the labels of labels.OfPlace. It is the ids of zones, by
// name, as far as they are known.
type Places map[string]string

// NewPlaces reads the zones' ids from offerings.
func NewPlaces(offerings []model.Offering) Places { return model.ZoneIDs(offerings) }

// label is the value of a label of the place; "" where nodes there do not have it.
func (p Places) label(key, zone string, ct model.CapacityType, reservation string) string {
	switch key {
	case labels.Zone:
		return zone
	case labels.ZoneID:
		return p[zone]
	case labels.Region:
		return labels.RegionOf(zone)
	case labels.CapacityType:
		return ct.String()
	case labels.CapacityReservationID:
		return reservation
	}
	return ""
}

// Labels are those that follow from an offering, whatever its type.
func (p Places) Labels(zone string, ct model.CapacityType, reservation string) model.Labels {
	keys := placeKeys()
	out := make(model.Labels, 0, len(keys))
	for _, key := range keys {
		if value := p.label(key, zone, ct, reservation); value != "" {
			out = append(out, model.Label{Key: key, Value: value})
		}
	}
	return out
}

// placeKeys are the keys of labels.OfPlace, sorted.
func placeKeys() [5]string {
	return [5]string{labels.CapacityReservationID, labels.CapacityType, labels.ZoneID, labels.Region, labels.Zone}
}

// Sells says whether a pool of that class, with those requirements, may buy an offering, as far as the place decides it.
func (p Places) Sells(class *model.NodeClass, asked require.Set, off *model.Offering) bool {
	if !slices.Contains(class.Zones, off.Zone) {
		return false
	}
	if off.CapacityType == model.Reserved && !slices.Contains(class.Reservations, off.ReservationID) {
		return false
	}
	for _, r := range asked {
		if !p.meet(r, off.Zone, off.CapacityType, off.ReservationID) {
			return false
		}
	}
	return true
}

// meet says whether what is bought so meets a requirement on a label of the place; those on other labels it does.
func (p Places) meet(r require.Requirement, zone string, ct model.CapacityType, reservation string) bool {
	if !labels.OfPlace(r.Key) {
		return true
	}
	value := p.label(r.Key, zone, ct, reservation)
	return r.Matches(value, value != "")
}
