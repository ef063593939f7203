package convert

import (
	"strconv"

	"google.golang.org/protobuf/types/known/durationpb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (r *reader) pool(p *clusterpb.NodePool) model.NodePool {
	r.within("weight", p.GetWeight(), 0, 100)
	out := model.NodePool{
		Name:                   model.PoolName(p.GetName()),
		Weight:                 p.GetWeight(),
		NodeClass:              model.NodeClassName(p.GetNodeClass()),
		Labels:                 r.labels("labels", p.GetLabels()),
		Annotations:            r.labels("annotations", p.GetAnnotations()),
		Taints:                 r.taints("taints", p.GetTaints()),
		StartupTaints:          r.taints("startup_taints", p.GetStartupTaints()),
		Requirements:           r.requirements("requirements", p.GetRequirements()),
		Limits:                 r.amounts("limits", p.GetLimits()),
		ExpireAfter:            r.duration("expire_after", p.GetExpireAfter()),
		TerminationGracePeriod: r.duration("termination_grace_period", p.GetTerminationGracePeriod()),
		ConsolidateAfter:       r.duration("consolidate_after", p.GetConsolidateAfter()),
		Hash:                   p.GetHash(),
		NotReady:               r.reason("not_ready", p.GetNotReady()),
	}
	policy := enum(r, "consolidation_policy", p.GetConsolidationPolicy(), clusterpb.ConsolidationPolicy_name)
	out.ConsolidationPolicy = model.ConsolidationPolicy(policy)
	if out.NotReady.OK() {
		r.required("node_class", p.GetNodeClass())
	}
	if p.Replicas != nil {
		n := r.notNegative("replicas", p.GetReplicas())
		out.Replicas = &n
	}
	for i, t := range p.GetDevices() {
		out.Devices = append(out.Devices, r.deviceTemplate("devices["+strconv.Itoa(i)+"]", t))
	}
	for i, b := range p.GetBudgets() {
		out.Budgets = append(out.Budgets, r.poolBudget("budgets["+strconv.Itoa(i)+"]", b))
	}
	return out
}

func (r *reader) poolBudget(field string, b *clusterpb.DisruptionBudget) model.DisruptionBudget {
	out := model.DisruptionBudget{Schedule: b.GetSchedule()}
	switch n := b.GetNodes().(type) {
	case *clusterpb.DisruptionBudget_Count:
		r.notNegative(field+".count", int64(n.Count))
		out.Count = n.Count
	case *clusterpb.DisruptionBudget_Percent:
		r.within(field+".percent", n.Percent, 0, 100)
		out.Count, out.IsPercent = n.Percent, true
	default:
		r.bad(field+".nodes", "is missing; want a count or a percentage")
	}
	for _, reason := range b.GetReasons() {
		reason = enum(r, field+".reasons", reason, clusterpb.DisruptionReason_name)
		out.Reasons = append(out.Reasons, model.DisruptionReason(reason))
	}
	if d := r.duration(field+".duration", b.GetDuration()); d != nil {
		out.Duration = *d
	}
	if (out.Schedule == "") != (out.Duration == 0) {
		r.bad(field, "has schedule %q and duration %s; want both or neither", out.Schedule, out.Duration)
	}
	return out
}

// NodePool writes a pool.
func NodePool(p model.NodePool) *clusterpb.NodePool {
	return &clusterpb.NodePool{
		Name: string(p.Name), Weight: p.Weight, NodeClass: string(p.NodeClass), Labels: Labels(p.Labels),
		Annotations: Labels(p.Annotations), Taints: Taints(p.Taints), StartupTaints: Taints(p.StartupTaints),
		Requirements: Requirements(p.Requirements), Limits: Amounts(p.Limits), ExpireAfter: span(p.ExpireAfter),
		TerminationGracePeriod: span(p.TerminationGracePeriod),
		ConsolidationPolicy:    clusterpb.ConsolidationPolicy(p.ConsolidationPolicy),
		ConsolidateAfter:       span(p.ConsolidateAfter), Budgets: write(p.Budgets, writePoolBudget), Replicas: p.Replicas,
		Hash: p.Hash, NotReady: writeReason(p.NotReady),
		Devices: write(p.Devices, writeDeviceTemplate),
	}
}

func writePoolBudget(b model.DisruptionBudget) *clusterpb.DisruptionBudget {
	out := &clusterpb.DisruptionBudget{Schedule: b.Schedule}
	out.Nodes = &clusterpb.DisruptionBudget_Count{Count: b.Count}
	if b.IsPercent {
		out.Nodes = &clusterpb.DisruptionBudget_Percent{Percent: b.Count}
	}
	for _, reason := range b.Reasons {
		out.Reasons = append(out.Reasons, clusterpb.DisruptionReason(reason))
	}
	if b.Duration != 0 {
		out.Duration = durationpb.New(b.Duration)
	}
	return out
}

func (r *reader) nodeClass(c *clusterpb.NodeClass) model.NodeClass {
	out := model.NodeClass{
		Name:       model.NodeClassName(c.GetName()),
		Catalog:    model.CatalogID(c.GetCatalogId()),
		Zones:      r.strings("zones", c.GetZones()),
		Hash:       c.GetHash(),
		NotReady:   r.reason("not_ready", c.GetNotReady()),
		Generation: c.GetGeneration(),

		Reservations: r.strings("reservations", c.GetReservations()),
	}
	for i, im := range c.GetImages() {
		at := "images[" + strconv.Itoa(i) + "]"
		// The first image that fits is used: their order is their meaning.
		out.Images = append(out.Images, model.MachineImage{
			ID:           r.required(at+".id", im.GetId()),
			Name:         im.GetName(),
			Requirements: r.requirements(at+".requirements", im.GetRequirements()),
			CreateTime:   r.time(at+".create_time", im.GetCreateTime()),
		})
	}
	return out
}

func writeNodeClass(c model.NodeClass) *clusterpb.NodeClass {
	return &clusterpb.NodeClass{
		Name: string(c.Name), CatalogId: string(c.Catalog), Zones: c.Zones, Hash: c.Hash, NotReady: writeReason(c.NotReady),
		Generation: c.Generation, Reservations: c.Reservations,
		Images: write(c.Images, func(im model.MachineImage) *clusterpb.MachineImage {
			return &clusterpb.MachineImage{
				Id: im.ID, Name: im.Name, Requirements: Requirements(im.Requirements), CreateTime: stamp(im.CreateTime),
			}
		}),
	}
}

func (r *reader) catalog(c *clusterpb.Catalog) model.Catalog {
	out := model.Catalog{ID: model.CatalogID(c.GetId())}
	for _, t := range c.GetInstanceTypes() {
		at := "instance_types[" + strconv.Quote(t.GetName()) + "]"
		out.InstanceTypes = append(out.InstanceTypes, model.InstanceType{
			Name:        model.TypeName(r.required(at+".name", t.GetName())),
			Labels:      r.labels(at+".labels", t.GetLabels()),
			Capacity:    r.amounts(at+".capacity", t.GetCapacity()),
			Allocatable: r.amounts(at+".allocatable", t.GetAllocatable()),
		})
	}
	sortBy(out.InstanceTypes, func(t *model.InstanceType) model.TypeName { return t.Name })
	for i := 1; i < len(out.InstanceTypes); i++ {
		if name := out.InstanceTypes[i].Name; name == out.InstanceTypes[i-1].Name {
			r.bad("instance_types", "has %s twice", name)
		}
	}
	return out
}

// Catalog writes the shapes of instance types.
func Catalog(c model.Catalog) *clusterpb.Catalog {
	return &clusterpb.Catalog{
		Id: string(c.ID),
		InstanceTypes: write(c.InstanceTypes, func(t model.InstanceType) *clusterpb.InstanceType {
			return &clusterpb.InstanceType{
				Name: string(t.Name), Labels: Labels(t.Labels), Capacity: Amounts(t.Capacity),
				Allocatable: Amounts(t.Allocatable),
			}
		}),
	}
}

func (r *reader) offering(o *clusterpb.Offering) model.Offering {
	out := model.Offering{
		InstanceType:     model.TypeName(r.required("instance_type", o.GetInstanceType())),
		Zone:             r.required("zone", o.GetZone()),
		CapacityType:     model.CapacityType(enum(r, "capacity_type", o.GetCapacityType(), clusterpb.CapacityType_name)),
		Price:            r.notNegative("price_micro_usd_per_hour", o.GetPriceMicroUsdPerHour()),
		PriceEstimated:   o.GetPriceEstimated(),
		UnavailableUntil: r.time("unavailable_until", o.GetUnavailableUntil()),
		ReservationID:    o.GetReservationId(),
		ZoneID:           o.GetZoneId(),
		Reclaimed:        model.ReclaimBand(o.GetReclaimBand()),
		ZoneShifted:      o.GetZoneShifted(),

		ReservationBlock: o.GetReservationBlock(), ReservationInterruptible: o.GetReservationInterruptible(),
	}
	if o.ReservationRemaining != nil {
		n := r.notNegative("reservation_remaining", o.GetReservationRemaining())
		out.ReservationRemaining = &n
	}
	if out.Reclaimed < 0 || out.Reclaimed > model.Above20 { // one of a later version: not known here
		out.Reclaimed = 0
	}
	switch reserved := out.CapacityType == model.Reserved; {
	case reserved && (out.ReservationID == "" || out.ReservationRemaining == nil):
		r.bad("reservation_id", "and reservation_remaining must be set for a reserved offering")
	case !reserved && (out.ReservationID != "" || out.ReservationRemaining != nil):
		r.bad("reservation_id", "%q and reservation_remaining are for reserved offerings only", out.ReservationID)
	case !reserved && (out.ReservationBlock || out.ReservationInterruptible):
		r.bad("reservation_block", "and reservation_interruptible are for reserved offerings only")
	}
	return out
}

func writeOffering(o model.Offering) *clusterpb.Offering {
	return &clusterpb.Offering{
		InstanceType: string(o.InstanceType), Zone: o.Zone, CapacityType: clusterpb.CapacityType(o.CapacityType),
		PriceMicroUsdPerHour: o.Price, PriceEstimated: o.PriceEstimated, UnavailableUntil: stamp(o.UnavailableUntil),
		ReservationId: o.ReservationID, ReservationRemaining: o.ReservationRemaining, ZoneId: o.ZoneID,
		ReclaimBand: clusterpb.ReclaimBand(o.Reclaimed), ZoneShifted: o.ZoneShifted,
		ReservationBlock: o.ReservationBlock, ReservationInterruptible: o.ReservationInterruptible,
	}
}
