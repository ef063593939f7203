package cloudtest

import (
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
)

// Reserve makes a capacity reservation that all classes select.
func (f *Fake) Reserve(r cloud.Reservation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved[r.ID] = r
}

// EndReservation ends a reservation. Its instances go on outside of it.
func (f *Fake) EndReservation(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reserved, id)
	for _, r := range f.instances {
		if r.ReservationID == id {
			r.ReservationID = ""
		}
	}
}

// Unselect makes classes select a reservation no more. Its instances stay in it.
func (f *Fake) Unselect(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reserved, id)
}

// reservations are those that there are, by id, with the room that their instances leave.
func (f *Fake) reservations() []cloud.Reservation {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []cloud.Reservation
	for _, id := range slices.Sorted(maps.Keys(f.reserved)) {
		r := f.reserved[id]
		for _, i := range f.instances {
			if i.ReservationID == id && i.endedAt.IsZero() {
				r.Free--
			}
		}
		out = append(out, r)
	}
	return out
}
