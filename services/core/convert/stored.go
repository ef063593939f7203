package convert

import (
	storagepb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/storage/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// stored is a reader for what is in the actuator's store. It must read what other versions wrote, so it is tolerant.
func stored(list, kind, id string) *reader {
	r := &reader{tolerant: true}
	r.at(list, kind, id)
	if id == "" {
		r.bad("id", "is missing")
	}
	return r
}

// ReadClaim reads a stored claim. The error is an *Error.
func ReadClaim(m *storagepb.StoredClaim) (model.Claim, error) {
	r := stored("claims", "claim", m.GetClaim().GetId())
	c := r.claim(m.GetClaim())
	c.Attempt = int(r.notNegative("attempt", int64(m.GetAttempt())))
	c.Traceparent, c.Fence = m.GetTraceparent(), m.GetFence()
	c.Launch, c.LaunchSize = m.GetLaunch(), int(r.notNegative("launch_size", int64(m.GetLaunchSize())))
	return c, r.err()
}

// StoredClaim writes a claim with what the store alone has of it.
func StoredClaim(c model.Claim) *storagepb.StoredClaim {
	return &storagepb.StoredClaim{
		Claim: Claim(c), Attempt: clamp(c.Attempt), Traceparent: c.Traceparent, Fence: c.Fence, Launch: c.Launch, LaunchSize: clamp(c.LaunchSize),
	}
}

// ReadRecord reads the stored record of a disruption. The error is an *Error.
func ReadRecord(m *clusterpb.DisruptionRecord) (model.DisruptionRecord, error) {
	r := stored("disruptions", "disruption", m.GetId())
	return r.record(m), r.err()
}

// ReadNotice reads a stored notice. The error is an *Error.
func ReadNotice(m *clusterpb.Notice) (model.Notice, error) {
	r := stored("notices", "notice", m.GetId())
	return r.notice(m), r.err()
}

// ReadShortage reads a stored shortage. The error is an *Error.
func ReadShortage(m *storagepb.StoredShortage) (model.Shortage, error) {
	r := stored("shortages", "shortage", m.GetInstanceType())
	return model.Shortage{
		InstanceType: model.TypeName(m.GetInstanceType()), Zone: m.GetZone(),
		CapacityType: model.CapacityType(enum(r, "capacity_type", m.GetCapacityType(), clusterpb.CapacityType_name)),
		Until:        r.time("until", m.GetUntil()), Message: m.GetMessage(),
		Times: int(r.notNegative("times", int64(m.GetTimes()))), Tries: int(r.notNegative("tries", int64(m.GetTries()))),
	}, r.err()
}

// Shortage writes a shortage.
func Shortage(s model.Shortage) *storagepb.StoredShortage {
	return &storagepb.StoredShortage{
		InstanceType: string(s.InstanceType), Zone: s.Zone, CapacityType: clusterpb.CapacityType(s.CapacityType),
		Until: stamp(s.Until), Message: s.Message, Times: clamp(s.Times), Tries: clamp(s.Tries),
	}
}
