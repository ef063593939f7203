package awssim

import "time"

// reserve is a capacity reservation as it is now. Guarded by Sim.mu.
type reserve struct {
	CapacityReservation
	// takes are the instances in it.
	takes map[string]bool
}

func reserves(all []CapacityReservation) map[string]*reserve {
	out := map[string]*reserve{}
	for _, r := range all {
		out[r.ID] = &reserve{CapacityReservation: r, takes: map[string]bool{}}
	}
	return out
}

// free is how many more instances it has room for.
func (r *reserve) free() int64 { return max(0, r.Available-int64(len(r.takes))) }

func (r *reserve) kind() string {
	if r.Block {
		return blockMarket
	}
	return "default"
}

func (s *Sim) stateOf(r *reserve) string {
	if !r.End.IsZero() && !s.clock.Now().Before(r.End) {
		return "expired"
	}
	return "active"
}

// The markets beside on-demand and spot.
const (
	blockMarket         = "capacity-block"
	interruptibleMarket = "interruptible-capacity-reservation"
)

// reservedFor is the reservation that a launch names, and nil where it names none. It is of one type in one zone, and is
// launched into by the market of its kind alone.
func (s *Sim) reservedFor(d templateData, p Pool) (*reserve, error) {
	if d.reservation == "" {
		return s.open(d, p), nil
	}
	r := s.reserves[d.reservation]
	if r == nil {
		return nil, fail("InvalidCapacityReservationId.NotFound", "The Capacity Reservation '%s' does not exist", d.reservation)
	}
	want := ""
	switch {
	case r.Block:
		want = blockMarket
	case r.Interruptible:
		want = interruptibleMarket
	}
	switch {
	case s.stateOf(r) != "active":
		return nil, fail("InvalidCapacityReservationState", "The Capacity Reservation '%s' is not active.", r.ID)
	case d.market != want:
		return nil, fail("InvalidParameterCombination", "The market type '%s' is not that of the Capacity Reservation '%s'.", d.market, r.ID)
	case r.InstanceType != p.InstanceType || r.Zone != p.Zone:
		return nil, fail("InvalidParameterValue", "The Capacity Reservation '%s' is for %s in %s.", r.ID, r.InstanceType, r.Zone)
	case r.free() == 0:
		return nil, fail("ReservationCapacityExceeded", "The Capacity Reservation '%s' has no available capacity.", r.ID)
	}
	return r, nil
}

// open is an open reservation that a launch goes into by itself; nil for none.
func (s *Sim) open(d templateData, p Pool) *reserve {
	if d.closed || p.CapacityType == Spot {
		return nil
	}
	for _, id := range sortedKeys(s.reserves) {
		if r := s.reserves[id]; r.Open && r.InstanceType == p.InstanceType && r.Zone == p.Zone && r.free() > 0 && s.stateOf(r) == "active" {
			return r
		}
	}
	return nil
}

// EndReservation ends a capacity reservation now. Its instances go on, outside of it.
func (s *Sim) EndReservation(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reserves[id]; r != nil {
		r.End, r.takes = s.clock.Now(), map[string]bool{}
	}
}

// reservationOf is the reservation that an instance is in; "" for none.
func (s *Sim) reservationOf(i *instance) string {
	for id, r := range s.reserves {
		if r.takes[i.id] {
			return id
		}
	}
	return ""
}

// release gives an ended instance's place in a reservation back.
func (s *Sim) release(i *instance) {
	for _, r := range s.reserves {
		delete(r.takes, i.id)
	}
}

// endDate is as the wire has it; "" for none.
func endDate(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
