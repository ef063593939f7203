package convert

import (
	"slices"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

// heaviest is the largest weight of a node overlay.
const heaviest = 10_000

// wholePPM is all of a price.
const wholePPM = 1_000_000

func (r *reader) overlay(o *clusterpb.NodeOverlay) model.NodeOverlay {
	r.within("weight", o.GetWeight(), 0, heaviest)
	out := model.NodeOverlay{
		Name: o.GetName(), Weight: o.GetWeight(), Generation: o.GetGeneration(),
		Requirements: r.requirements("requirements", o.GetRequirements()),
		Capacity:     r.amounts("capacity", o.GetCapacity()),
		NotReady:     r.reason("not_ready", o.GetNotReady()),
	}
	switch p := o.GetPrice().(type) {
	case *clusterpb.NodeOverlay_PriceMicroUsdPerHour:
		out.Price = new(r.notNegative("price_micro_usd_per_hour", p.PriceMicroUsdPerHour))
	case *clusterpb.NodeOverlay_AdjustmentMicroUsdPerHour:
		out.Adjustment = new(p.AdjustmentMicroUsdPerHour)
	case *clusterpb.NodeOverlay_AdjustmentPpm:
		if p.AdjustmentPpm < -wholePPM {
			r.bad("adjustment_ppm", "%d takes off more than the whole price; want %d or more", p.AdjustmentPpm, -wholePPM)
		}
		out.AdjustmentPPM = new(p.AdjustmentPpm)
	}
	for _, a := range out.Capacity {
		if slices.Contains([]model.Resource{model.CPU, model.Memory, model.Pods, "ephemeral-storage"}, a.Resource) {
			r.bad("capacity", "has %s, which the catalogue alone says", a.Resource)
		}
	}
	return out
}

func writeOverlay(o model.NodeOverlay) *clusterpb.NodeOverlay {
	out := &clusterpb.NodeOverlay{
		Name: o.Name, Weight: o.Weight, Requirements: Requirements(o.Requirements), Capacity: Amounts(o.Capacity),
		NotReady: writeReason(o.NotReady), Generation: o.Generation,
	}
	switch {
	case o.Price != nil:
		out.Price = &clusterpb.NodeOverlay_PriceMicroUsdPerHour{PriceMicroUsdPerHour: *o.Price}
	case o.Adjustment != nil:
		out.Price = &clusterpb.NodeOverlay_AdjustmentMicroUsdPerHour{AdjustmentMicroUsdPerHour: *o.Adjustment}
	case o.AdjustmentPPM != nil:
		out.Price = &clusterpb.NodeOverlay_AdjustmentPpm{AdjustmentPpm: *o.AdjustmentPPM}
	}
	return out
}

func (r *reader) buffer(b *clusterpb.CapacityBuffer) model.CapacityBuffer {
	return model.CapacityBuffer{
		ID: model.BufferID(b.GetId()), Class: model.ClassID(b.GetClassId()),
		Generation: b.GetGeneration(), TemplateGeneration: b.GetTemplateGeneration(),
		Replicas:   r.notNegative("replicas", b.GetReplicas()),
		OneShot:    b.GetOneShot(),
		CreateTime: r.time("create_time", b.GetCreateTime()),
		StartTime:  r.time("start_time", b.GetStartTime()),
		ExpireTime: r.time("expire_time", b.GetExpireTime()),
		NotReady:   r.reason("not_ready", b.GetNotReady()),
	}
}

func writeCapacityBuffer(b model.CapacityBuffer) *clusterpb.CapacityBuffer {
	return &clusterpb.CapacityBuffer{
		Id: string(b.ID), ClassId: string(b.Class), Replicas: b.Replicas, OneShot: b.OneShot, CreateTime: stamp(b.CreateTime),
		StartTime: stamp(b.StartTime), ExpireTime: stamp(b.ExpireTime), NotReady: writeReason(b.NotReady),
		Generation: b.Generation, TemplateGeneration: b.TemplateGeneration,
	}
}
