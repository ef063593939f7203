package offer

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/require"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Places knows what nodes have by the place where they are bought: the labels of labels.OfPlace. It is not changed after
// NewPlaces.
type Places struct {
	// zoneIDs are the ids of zones, by name, as far as they are known.
	zoneIDs map[string]string
	// reservations are the labels of nodes in each reservation that is offered.
	reservations map[string]model.Labels
}

// NewPlaces reads from offerings what there is to know of zones and reservations.
func NewPlaces(offerings []model.Offering) Places {
	p := Places{zoneIDs: model.ZoneIDs(offerings), reservations: make(map[string]model.Labels)}
	for i := range offerings {
		if r := offerings[i].Reservation(); r.ID != "" {
			p.reservations[r.ID] = rules.ReservationLabels(r)
		}
	}
	return p
}

// ZoneID is the id of a zone; "" where it is not known.
func (p Places) ZoneID(zone string) string { return p.zoneIDs[zone] }

// reservation are the labels of nodes in a reservation. Of one that is not offered any more only its id is known.
func (p Places) reservation(id string) model.Labels {
	if ls, ok := p.reservations[id]; ok || id == "" {
		return ls
	}
	return model.Labels{{Key: labels.CapacityReservationID, Value: id}}
}

// label is the value of a label of the place; "" where nodes there do not have it.
func (p Places) label(key, zone string, ct model.CapacityType, reservation string) string {
	switch key {
	case labels.Zone:
		return zone
	case labels.ZoneID:
		return p.zoneIDs[zone]
	case labels.Region:
		return labels.RegionOf(zone)
	case labels.CapacityType:
		return ct.String()
	}
	value, _ := p.reservation(reservation).Get(key)
	return value
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
func placeKeys() []string {
	return append(labels.Reservation(), labels.CapacityType, labels.ZoneID, labels.Region, labels.Zone)
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
