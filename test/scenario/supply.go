package scenario

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// reserve is a capacity reservation: so many instances of one type in one zone.
func (m *market) reserve(s *statement) {
	price := s.money("price", s.text("price", "$0.000001"))
	left := int64(s.number("left", 1))
	o := model.Offering{
		InstanceType: model.TypeName(s.text("type", "")), Zone: zone(s.text("zone", "a")), CapacityType: model.Reserved,
		Price: price, ReservationID: s.name, ReservationRemaining: &left,
		ReservationBlock: s.is("block"), ReservationInterruptible: s.is("interruptible"),
	}
	if _, ok := m.shape(string(o.InstanceType)); !ok {
		s.fail("type %s is not in the catalog", o.InstanceType)
	}
	m.offerings = append(m.offerings, o)
}

// reservationLabels are those of a node in a reservation; none where none of that id is offered.
func reservationLabels(offerings []model.Offering, id string) model.Labels {
	i := slices.IndexFunc(offerings, func(o model.Offering) bool { return o.ReservationID == id })
	if i < 0 {
		return nil
	}
	return rules.ReservationLabels(offerings[i].Reservation())
}

// overlay is a NodeOverlay.
func (b *builder) overlay(s *statement) {
	o := model.NodeOverlay{Name: s.name, Weight: int32(s.number("weight", 0)), Capacity: s.amounts("capacity")}
	for _, text := range s.texts("require") {
		o.Requirements = append(o.Requirements, s.requirement(text))
	}
	if v := s.text("price", ""); v != "" {
		o.Price = new(s.money("price", v))
	}
	if v := s.text("more", ""); v != "" {
		o.Adjustment = new(s.money("more", v))
	}
	if v := s.text("less", ""); v != "" {
		o.Adjustment = new(-s.money("less", v))
	}
	if s.has("percent") {
		o.AdjustmentPPM = new(int64(s.number("percent", 0)) * 10_000)
	}
	if why := s.text("not-ready", ""); why != "" {
		o.NotReady = model.Reason{Code: model.CodeOverlayInvalid, Message: why, Subject: "nodeoverlay/" + s.name}
	}
	b.in.Snapshot.NodeOverlays = append(b.in.Snapshot.NodeOverlays, o)
}

// buffer is a CapacityBuffer: capacity for so many pods of a kind.
func (b *builder) buffer(s *statement) {
	id := podID(s.name)
	namespace, name, _ := strings.Cut(string(id), "/")
	o := model.CapacityBuffer{
		ID: model.BufferID(id), Replicas: int64(s.number("replicas", 1)), OneShot: s.is("one-shot"),
		CreateTime: b.in.Now.Add(-s.duration("age", "1h")),
	}
	if d := s.duration("starts-in", "0s"); d != 0 {
		o.StartTime = b.in.Now.Add(d)
	}
	if d := s.duration("ends-in", "0s"); d != 0 {
		o.ExpireTime = b.in.Now.Add(d)
	}
	c := s.podClass(namespace, name)
	missing, invalid := s.text("not-ready", ""), s.text("invalid", "")
	switch subject := "capacitybuffer/" + string(id); {
	case invalid != "":
		o.NotReady = model.Reason{Code: model.CodeBufferInvalid, Message: invalid, Subject: subject}
	case missing != "":
		o.NotReady = model.Reason{Code: model.CodeBufferReference, Message: missing, Subject: subject}
	default:
		o.Class = b.intern(c)
	}
	b.in.Snapshot.CapacityBuffers = append(b.in.Snapshot.CapacityBuffers, o)
}
