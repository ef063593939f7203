package convert

import (
	"strconv"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
)

func (r *reader) node(n *clusterpb.Node) model.Node {
	return model.Node{
		Name:             model.NodeName(n.GetName()),
		ProviderID:       n.GetProviderId(),
		Claim:            model.ClaimID(n.GetClaim()),
		Labels:           named(n.GetName(), r.labels("labels", n.GetLabels())),
		Taints:           r.taints("taints", n.GetTaints()),
		Allocatable:      r.amounts("allocatable", n.GetAllocatable()),
		Capacity:         r.amounts("capacity", n.GetCapacity()),
		Ready:            n.GetReady(),
		Unschedulable:    n.GetUnschedulable(),
		Terminating:      n.GetTerminating(),
		DoNotDisrupt:     n.GetDoNotDisrupt(),
		DoNotRepair:      n.GetDoNotRepair(),
		CreateTime:       r.time("create_time", n.GetCreateTime()),
		LastPodEventTime: r.time("last_pod_event_time", n.GetLastPodEventTime()),
		VolumeLimits:     r.amounts("volume_limits", n.GetVolumeLimits()),
		Devices:          r.devices("devices", n.GetDevices()),
		Conditions:       r.conditions(n.GetConditions()),
		Drivers:          r.strings("drivers", n.GetDrivers()),
		Features:         r.strings("features", n.GetFeatures()),
	}
}

func (r *reader) conditions(in []*clusterpb.NodeCondition) []model.NodeCondition {
	var out []model.NodeCondition
	for i, c := range in {
		at := "conditions[" + strconv.Itoa(i) + "]"
		out = append(out, model.NodeCondition{
			Type: r.required(at+".type", c.GetType()), Status: r.required(at+".status", c.GetStatus()),
			TransitionTime: r.time(at+".transition_time", c.GetTransitionTime()),
		})
	}
	sortBy(out, func(c *model.NodeCondition) string { return c.Type })
	return out
}

func writeNode(n model.Node) *clusterpb.Node {
	return &clusterpb.Node{
		Name: string(n.Name), ProviderId: n.ProviderID, Claim: string(n.Claim), Labels: Labels(unnamed(n.Labels)),
		Taints: Taints(n.Taints), Allocatable: Amounts(n.Allocatable), Capacity: Amounts(n.Capacity),
		Ready: n.Ready, Unschedulable: n.Unschedulable, Terminating: n.Terminating, DoNotDisrupt: n.DoNotDisrupt,
		DoNotRepair: n.DoNotRepair, CreateTime: stamp(n.CreateTime), LastPodEventTime: stamp(n.LastPodEventTime), VolumeLimits: Amounts(n.VolumeLimits),
		Devices: write(n.Devices, writeDevice), Drivers: n.Drivers, Features: n.Features,
		Conditions: write(n.Conditions, func(c model.NodeCondition) *clusterpb.NodeCondition {
			return &clusterpb.NodeCondition{Type: c.Type, Status: c.Status, TransitionTime: stamp(c.TransitionTime)}
		}),
	}
}

func (r *reader) claim(c *clusterpb.Claim) model.Claim {
	return model.Claim{
		ID:            model.ClaimID(c.GetId()),
		NodePool:      model.PoolName(r.required("node_pool", c.GetNodePool())),
		NodeClass:     model.NodeClassName(c.GetNodeClass()),
		State:         model.ClaimState(enum(r, "state", c.GetState(), clusterpb.ClaimState_name)),
		Reached:       model.ClaimState(optionalEnum(r, "reached", c.GetReached(), clusterpb.ClaimState_name)),
		Requirements:  r.requirements("requirements", c.GetRequirements()),
		Offerings:     r.ranked("offerings", c.GetOfferings()),
		Requests:      r.amounts("requests", c.GetRequests()),
		Pods:          names[model.PodID](r, "pods", c.GetPods()),
		Labels:        r.labels("labels", c.GetLabels()),
		Annotations:   r.labels("annotations", c.GetAnnotations()),
		Taints:        r.taints("taints", c.GetTaints()),
		StartupTaints: r.taints("startup_taints", c.GetStartupTaints()),
		PoolHash:      c.GetPoolHash(),
		ClassHash:     c.GetClassHash(),

		InstanceType: model.TypeName(c.GetInstanceType()),
		Zone:         c.GetZone(),
		CapacityType: model.CapacityType(optionalEnum(r, "capacity_type", c.GetCapacityType(), clusterpb.CapacityType_name)),
		Price:        r.notNegative("price_micro_usd_per_hour", c.GetPriceMicroUsdPerHour()),
		InstanceID:   c.GetInstanceId(),
		ProviderID:   c.GetProviderId(),
		ImageID:      c.GetImageId(),
		Node:         model.NodeName(c.GetNode()),
		Capacity:     r.amounts("capacity", c.GetCapacity()),
		Allocatable:  r.amounts("allocatable", c.GetAllocatable()),

		CreateTime:             r.time("create_time", c.GetCreateTime()),
		StateTime:              r.time("state_time", c.GetStateTime()),
		LaunchTime:             r.time("launch_time", c.GetLaunchTime()),
		InitializeTime:         r.time("initialize_time", c.GetInitializeTime()),
		ExpireTime:             r.time("expire_time", c.GetExpireTime()),
		TerminationGracePeriod: r.duration("termination_grace_period", c.GetTerminationGracePeriod()),
		DrainDeadline:          r.time("drain_deadline", c.GetDrainDeadline()),

		PlanID:           model.PlanID(c.GetPlanId()),
		Replaces:         model.DisruptionID(c.GetReplaces()),
		Disruption:       model.DisruptionID(c.GetDisruption()),
		DisruptionReason: r.disruptionReason("disruption_reason", c.GetDisruptionReason()),
		Failure:          r.reason("failure", c.GetFailure()),
		Drifted:          r.reason("drifted", c.GetDrifted()), RemovalDeferred: c.GetRemovalDeferred(), Arrivals: r.arrivals(c.GetArrivals()),
		ReservationID: c.GetReservationId(),
	}
}

func (r *reader) arrivals(in []*clusterpb.Arrivals) []model.Arrivals {
	var out []model.Arrivals
	for i, a := range in {
		at := "arrivals[" + strconv.Itoa(i) + "]"
		if a.GetPods() < 1 {
			r.untidy(at+".pods", "%d: want at least 1", a.GetPods())
		}
		out = append(out, model.Arrivals{OwnerUID: r.required(at+".owner_uid", a.GetOwnerUid()), Pods: int(a.GetPods())})
	}
	return out
}

func writeArrivals(a model.Arrivals) *clusterpb.Arrivals {
	return &clusterpb.Arrivals{OwnerUid: a.OwnerUID, Pods: clamp(a.Pods)}
}

func (r *reader) disruptionReason(field string, v clusterpb.DisruptionReason) model.DisruptionReason {
	return model.DisruptionReason(optionalEnum(r, field, v, clusterpb.DisruptionReason_name))
}

// Claim writes a claim.
func Claim(c model.Claim) *clusterpb.Claim {
	return &clusterpb.Claim{
		Id: string(c.ID), NodePool: string(c.NodePool), NodeClass: string(c.NodeClass), State: clusterpb.ClaimState(c.State),
		Reached: clusterpb.ClaimState(c.Reached), Requirements: Requirements(c.Requirements),
		Offerings: write(c.Offerings, writeRanked), Requests: Amounts(c.Requests), Pods: texts(c.Pods),
		Labels: Labels(c.Labels), Annotations: Labels(c.Annotations), Taints: Taints(c.Taints),
		StartupTaints: Taints(c.StartupTaints), PoolHash: c.PoolHash, ClassHash: c.ClassHash,

		InstanceType: string(c.InstanceType), Zone: c.Zone, CapacityType: clusterpb.CapacityType(c.CapacityType),
		PriceMicroUsdPerHour: c.Price, InstanceId: c.InstanceID, ProviderId: c.ProviderID, ImageId: c.ImageID,
		Node: string(c.Node), Capacity: Amounts(c.Capacity), Allocatable: Amounts(c.Allocatable),

		CreateTime: stamp(c.CreateTime), StateTime: stamp(c.StateTime), LaunchTime: stamp(c.LaunchTime),
		InitializeTime: stamp(c.InitializeTime), ExpireTime: stamp(c.ExpireTime),
		TerminationGracePeriod: span(c.TerminationGracePeriod), DrainDeadline: stamp(c.DrainDeadline),

		PlanId: string(c.PlanID), Replaces: string(c.Replaces), Disruption: string(c.Disruption),
		DisruptionReason: clusterpb.DisruptionReason(c.DisruptionReason), Failure: writeReason(c.Failure),
		Drifted: writeReason(c.Drifted), ReservationId: c.ReservationID, RemovalDeferred: c.RemovalDeferred,
		Arrivals: write(c.Arrivals, writeArrivals),
	}
}

// ranked reads offerings, best first: their order is their meaning.
func (r *reader) ranked(field string, in []*clusterpb.RankedOffering) []model.RankedOffering {
	var out []model.RankedOffering
	for i, o := range in {
		out = append(out, r.rankedOne(field+"["+strconv.Itoa(i)+"]", o))
	}
	return out
}

func (r *reader) rankedOne(field string, o *clusterpb.RankedOffering) model.RankedOffering {
	out := model.RankedOffering{
		InstanceType:   model.TypeName(r.required(field+".instance_type", o.GetInstanceType())),
		Zone:           r.required(field+".zone", o.GetZone()),
		CapacityType:   model.CapacityType(enum(r, field+".capacity_type", o.GetCapacityType(), clusterpb.CapacityType_name)),
		Price:          r.notNegative(field+".price_micro_usd_per_hour", o.GetPriceMicroUsdPerHour()),
		PriceEstimated: o.GetPriceEstimated(),
		ReservationID:  o.GetReservationId(),
	}
	if o.OverlaidPriceMicroUsdPerHour != nil {
		n := r.notNegative(field+".overlaid_price_micro_usd_per_hour", o.GetOverlaidPriceMicroUsdPerHour())
		out.Overlaid, out.OverlaidPrice = true, n
	}
	return out
}

func writeRanked(o model.RankedOffering) *clusterpb.RankedOffering {
	out := &clusterpb.RankedOffering{
		InstanceType: string(o.InstanceType), Zone: o.Zone, CapacityType: clusterpb.CapacityType(o.CapacityType),
		PriceMicroUsdPerHour: o.Price, PriceEstimated: o.PriceEstimated, ReservationId: o.ReservationID,
	}
	if o.Overlaid {
		out.OverlaidPriceMicroUsdPerHour = &o.OverlaidPrice
	}
	return out
}
