package market

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// reservedShare divides an on-demand price into that of a reservation, which is paid for in any case: less than any
// instance costs, and still in the order of the types' prices.
const reservedShare = 100_000

func reservedPrice(onDemand int64) int64 { return onDemand/reservedShare + 1 }

// reserve notes the reservations of all classes.
func (m *Market) reserve(all map[string]cloud.Reservation) {
	if !maps.Equal(all, m.reserved) {
		m.reserved, m.repriced = all, true
	}
}

// reservations are the offerings of what is reserved, each with how many are left. One that is about to end has none.
func (m *Market) reservations() []model.Offering {
	priced := map[model.TypeName]bool{}
	for _, t := range m.types {
		priced[model.TypeName(t.Name)] = true
	}
	out := make([]model.Offering, 0, len(m.reserved))
	for _, id := range slices.Sorted(maps.Keys(m.reserved)) {
		r := m.reserved[id]
		if !priced[r.InstanceType] {
			continue
		}
		listed, estimated := m.onDemand[r.InstanceType], false
		if listed == 0 {
			listed, estimated = m.bundled(string(r.InstanceType)).OnDemandMicroUSD, true
		}
		left := r.Free
		if r.Ending(m.cfg.Agenda.Now()) {
			left = 0
		}
		out = append(out, model.Offering{
			InstanceType: r.InstanceType, Zone: r.Zone, CapacityType: model.Reserved, Price: reservedPrice(listed), PriceEstimated: estimated,
			ReservationID: id, ReservationRemaining: &left, ZoneID: m.zoneIDs[r.Zone],
			ReservationBlock: r.Block, ReservationInterruptible: r.Interruptible,
		})
	}
	return out
}

// Took notes that an instance was launched as an offering. EC2's own count follows when it is asked the next time.
func (s *Classes) Took(o model.RankedOffering) {
	s.left(o.ReservationID, func(free int64) int64 { return free - 1 })
}

// Exhausted notes that EC2 says that a reservation has no room.
func (s *Classes) Exhausted(reservation string) {
	s.left(reservation, func(int64) int64 { return 0 })
}

// left changes how many instances a reservation has room for, until EC2 is asked for it again.
func (s *Classes) left(id string, change func(free int64) int64) {
	if id == "" {
		return
	}
	for _, c := range s.byName {
		i := slices.IndexFunc(c.resolved.Reservations, func(r cloud.Reservation) bool { return r.ID == id })
		if i < 0 {
			continue
		}
		list := slices.Clone(c.resolved.Reservations) // launches have the other
		list[i].Free = max(change(list[i].Free), 0)
		c.resolved.Reservations = list
	}
	s.market.reserve(s.reserved())
}

// Full says that a reservation has no room; that of "" there is none.
func (s *Classes) Full(reservation string) bool {
	r, ok := s.market.reserved[reservation]
	return reservation != "" && (!ok || r.Free <= 0 || r.Ending(s.cfg.Agenda.Now()))
}

// Ends is from when the instances of a reservation are drained, and when EC2 begins to take them back; zero for never.
func (c *Class) Ends(reservation string) (from, until time.Time) {
	r, _ := c.resolved.Reservation(reservation)
	return r.Drain()
}

// reserved are the reservations of all classes. Where two have one, what EC2 said last counts.
func (s *Classes) reserved() map[string]cloud.Reservation {
	out, at := map[string]cloud.Reservation{}, map[string]time.Time{}
	for _, c := range s.byName {
		for _, r := range c.resolved.Reservations {
			if was, ok := at[r.ID]; !ok || c.resolvedAt.After(was) {
				out[r.ID], at[r.ID] = r, c.resolvedAt
			}
		}
	}
	return out
}
