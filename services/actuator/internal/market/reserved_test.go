package market

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestWhatIsReserved follows two classes that select a reservation in common.
func TestWhatIsReserved(t *testing.T) {
	m := New(config())
	s := NewClasses(m)
	m.types = []catalog.Type{
		{Name: "large", Zones: []string{"a"}, SupportsOnDemand: true}, {Name: "nano", Zones: []string{"a"}, SupportsOnDemand: true},
	}
	m.onDemand = map[model.TypeName]int64{"large": 98_000_000, "nano": 4200}
	for _, name := range []model.NodeClassName{"one", "two"} {
		s.follow(cluster.Class{Spec: cloud.ClassSpec{Name: name, UID: string(name)}})
	}
	now := time.Now()
	reserved := func(end time.Duration) cloud.Class {
		return cloud.Class{Reservations: []cloud.Reservation{
			{ID: "cr-block", InstanceType: "large", Zone: "a", Free: 1, Block: true, EndTime: now.Add(end)},
			{ID: "cr-nano", InstanceType: "nano", Zone: "a", Free: 2},
			{ID: "cr-other", InstanceType: "of-another-region", Zone: "a", Free: 2},
		}}
	}
	s.take(t.Context(), s.Get("one"), reserved(time.Hour), nil)
	s.take(t.Context(), s.Get("two"), reserved(time.Hour), nil)
	left := func() map[string]int64 {
		m.Reprice(false, nil)
		out := map[string]int64{}
		for _, o := range m.Offerings() {
			if o.CapacityType != model.Reserved {
				continue
			}
			out[o.ReservationID] = *o.ReservationRemaining
			if o.ReservationBlock != (o.ReservationID == "cr-block") {
				t.Errorf("%s: it is a block: %v", o.ReservationID, o.ReservationBlock)
			}
			key := apply.OfferingKey{InstanceType: o.InstanceType, Zone: o.Zone, CapacityType: o.CapacityType, ReservationID: o.ReservationID}
			if now, _ := m.Offering(key); now.Full != (*o.ReservationRemaining == 0) || now.Full != s.Full(o.ReservationID) {
				t.Errorf("%s: full is %v, of %d that are left", o.ReservationID, now.Full, *o.ReservationRemaining)
			}
		}
		return out
	}
	is := func(when string, want map[string]int64) {
		t.Helper()
		if d := cmp.Diff(want, left()); d != "" {
			t.Errorf("%s: %s", when, d)
		}
	}
	is("at first", map[string]int64{"cr-block": 1, "cr-nano": 2})
	price := func(kind model.CapacityType, name model.TypeName) int64 {
		i := slices.IndexFunc(m.Offerings(), func(o model.Offering) bool { return o.CapacityType == kind && o.InstanceType == name })
		return m.Offerings()[i].Price
	}
	if nano, large := price(model.Reserved, "nano"), price(model.Reserved, "large"); nano >= large || large >= price(model.OnDemand, "nano") {
		t.Errorf("reserved costs %d and %d: want the order of the list prices, below all of them", nano, large)
	}
	if got := s.Get("two").Present().Reservations; len(got) != 3 {
		t.Errorf("the class may launch into %v", got)
	}
	s.Took(model.RankedOffering{ReservationID: "cr-nano"})
	s.Took(model.RankedOffering{})
	is("one launched", map[string]int64{"cr-block": 1, "cr-nano": 1})
	s.Exhausted("cr-nano")
	is("EC2 has no more", map[string]int64{"cr-block": 1, "cr-nano": 0})
	s.take(t.Context(), s.Get("one"), reserved(39*time.Minute), nil)
	is("EC2 was asked again", map[string]int64{"cr-block": 0, "cr-nano": 2})
	if from, until := s.Get("one").Ends("cr-block"); !until.Equal(now.Add(9*time.Minute)) || !from.Equal(now.Add(-time.Minute)) {
		t.Errorf("the block's instances go from %s until %s, want from 40 minutes before its end until half an hour before", from, until)
	}
	if from, until := s.Get("one").Ends("cr-nano"); !from.IsZero() || !until.IsZero() {
		t.Errorf("what has no end goes from %s until %s", from, until)
	}
	s.take(t.Context(), s.Get("one"), cloud.Class{}, nil)
	s.take(t.Context(), s.Get("two"), cloud.Class{}, nil)
	is("none is selected", map[string]int64{})
}
