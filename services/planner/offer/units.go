package offer

import (
	"maps"

	"github.com/kerf-dev/kerf/services/core/model"
)

// ReservationUnits counts what is left of each capacity reservation, whichever pools, zones and types share it. A claim
// that may become one of a reservation's instances takes a unit as soon as it is planned. It belongs to one goroutine.
type ReservationUnits struct {
	left map[string]int64
}

// NewReservationUnits are the reservations' remaining instances, less the claims that may still become one: what was
// launched EC2 has counted itself. A claim that could go into several reservations holds a unit of each.
func NewReservationUnits(s *model.Snapshot) *ReservationUnits {
	u := &ReservationUnits{left: make(map[string]int64)}
	for i := range s.Offerings {
		off := &s.Offerings[i]
		if off.CapacityType != model.Reserved || off.ReservationRemaining == nil {
			continue
		}
		if n, seen := u.left[off.ReservationID]; !seen || *off.ReservationRemaining < n {
			u.left[off.ReservationID] = *off.ReservationRemaining
		}
	}
	for i := range s.Claims {
		if c := &s.Claims[i]; c.State == model.ClaimPlanned || c.State == model.ClaimLaunching {
			u.Take(1, Reservations(c.Offerings)...)
		}
	}
	return u
}

// Left is how many more claims may be planned into a reservation.
func (u *ReservationUnits) Left(reservation string) int64 { return max(0, u.left[reservation]) }

// Remaining is for how many claims, each of which may go into any of the reservations, there is a unit left in all of them.
func (u *ReservationUnits) Remaining(reservations ...string) int64 {
	if len(reservations) == 0 {
		return 0
	}
	n := u.Left(reservations[0])
	for _, r := range reservations[1:] {
		n = min(n, u.Left(r))
	}
	return n
}

// Take takes n units of each of the reservations; a negative n gives them back.
func (u *ReservationUnits) Take(n int64, reservations ...string) {
	for _, r := range reservations {
		u.left[r] -= n
	}
}

// Clone is a copy to try things out on.
func (u *ReservationUnits) Clone() *ReservationUnits {
	return &ReservationUnits{left: maps.Clone(u.left)}
}

// Reservations are those that a claim with these offerings may go into, each once, in the order of the offerings.
func Reservations(offerings []model.RankedOffering) []string {
	var out []string
	seen := make(map[string]bool)
	for _, o := range offerings {
		if o.CapacityType == model.Reserved && o.ReservationID != "" && !seen[o.ReservationID] {
			seen[o.ReservationID] = true
			out = append(out, o.ReservationID)
		}
	}
	return out
}
