package convert

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// Claim translates a claim.
func Claim(c model.Claim) *clusterpb.Claim {
	return &clusterpb.Claim{
		Id: string(c.ID), NodePool: c.NodePool, NodeClass: c.NodeClass,
		State: clusterpb.ClaimState(c.State), Reached: clusterpb.ClaimState(c.Reached),
		Requirements: requirements(c.Requirements), Offerings: offerings(c.Offerings), Requests: amounts(c.Requests),
		Pods: c.Pods, Labels: labels(c.Labels), Annotations: labels(c.Annotations),
		Taints: taints(c.Taints), StartupTaints: taints(c.StartupTaints), PoolHash: c.PoolHash, ClassHash: c.ClassHash,

		InstanceType: c.Launched.InstanceType, Zone: c.Launched.Zone, CapacityType: CapacityType(c.Launched.CapacityType),
		PriceMicroUsdPerHour: c.Launched.Price, InstanceId: c.InstanceID, ProviderId: c.ProviderID, ImageId: c.ImageID,
		Node: c.Node, Capacity: amounts(c.Capacity), Allocatable: amounts(c.Allocatable),

		CreateTime: timestamp(c.CreateTime), StateTime: timestamp(c.StateTime), LaunchTime: timestamp(c.LaunchTime),
		InitializeTime: timestamp(c.InitializeTime), ExpireTime: timestamp(c.ExpireTime),
		TerminationGracePeriod: grace(c.TerminationGracePeriod), DrainDeadline: timestamp(c.DrainDeadline),

		PlanId: c.PlanID, Replaces: c.Replaces, Disruption: c.Disruption,
		DisruptionReason: clusterpb.DisruptionReason(c.DisruptionReason), Attempt: int32(c.Attempt),
		Failure: Reason(c.Failure), Drifted: Reason(c.Drifted), Traceparent: c.Traceparent, Fence: c.Fence,
		ReservationId: c.Launched.ReservationID,
	}
}

// FromClaim is the inverse of Claim.
func FromClaim(m *clusterpb.Claim) (model.Claim, error) {
	if m.GetId() == "" {
		return model.Claim{}, errors.New("claim: id: must be set")
	}
	r := &reader{object: "claim " + m.GetId()}
	c := model.Claim{
		ID: model.ClaimID(m.GetId()), NodePool: m.GetNodePool(), NodeClass: m.GetNodeClass(),
		State: r.state("state", m.GetState()), Reached: r.state("reached", m.GetReached()),
		Requirements: take(r, m.GetRequirements(), "requirements", fromRequirements),
		Offerings:    take(r, m.GetOfferings(), "offerings", fromOfferings), Requests: fromAmounts(m.GetRequests()),
		Pods: m.GetPods(), Labels: fromLabels(m.GetLabels()), Annotations: fromLabels(m.GetAnnotations()),
		Taints:        take(r, m.GetTaints(), "taints", fromTaints),
		StartupTaints: take(r, m.GetStartupTaints(), "startup_taints", fromTaints),
		PoolHash:      m.GetPoolHash(), ClassHash: m.GetClassHash(),

		Launched:   r.launched(m),
		InstanceID: m.GetInstanceId(), ProviderID: m.GetProviderId(), ImageID: m.GetImageId(), Node: m.GetNode(),
		Capacity: fromAmounts(m.GetCapacity()), Allocatable: fromAmounts(m.GetAllocatable()),

		CreateTime: take(r, m.GetCreateTime(), "create_time", fromTimestamp),
		StateTime:  take(r, m.GetStateTime(), "state_time", fromTimestamp),
		LaunchTime: take(r, m.GetLaunchTime(), "launch_time", fromTimestamp), InitializeTime: take(r, m.GetInitializeTime(), "initialize_time", fromTimestamp),
		ExpireTime:             take(r, m.GetExpireTime(), "expire_time", fromTimestamp),
		TerminationGracePeriod: take(r, m.GetTerminationGracePeriod(), "termination_grace_period", fromGrace),
		DrainDeadline:          take(r, m.GetDrainDeadline(), "drain_deadline", fromTimestamp),

		PlanID: m.GetPlanId(), Replaces: m.GetReplaces(), Disruption: m.GetDisruption(),
		Attempt: int(m.GetAttempt()), Failure: FromReason(m.GetFailure()), Drifted: FromReason(m.GetDrifted()),
		Traceparent: m.GetTraceparent(), Fence: m.GetFence(),
	}
	if m.GetDisruptionReason() != 0 {
		c.DisruptionReason = take(r, m.GetDisruptionReason(), "disruption_reason", fromDisruptionReason)
	}

	return c, r.err
}

// reader keeps the first error of many fields.
type reader struct {
	object string
	err    error
}

func (r *reader) note(err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: %w", r.object, err)
	}
}

func take[M, V any](r *reader, m M, field string, read func(M, string) (V, error)) V {
	v, err := read(m, field)
	r.note(err)

	return v
}

func (r *reader) state(field string, s clusterpb.ClaimState) model.State {
	if _, ok := clusterpb.ClaimState_name[int32(s)]; !ok || s == 0 {
		r.note(fmt.Errorf("%s: %d is not a known value", field, s))
	}

	return model.State(s)
}

// launched is the zero Offering while the claim has not been launched.
func (r *reader) launched(m *clusterpb.Claim) model.Offering {
	o := model.Offering{
		InstanceType: m.GetInstanceType(), Zone: m.GetZone(), Price: m.GetPriceMicroUsdPerHour(), ReservationID: m.GetReservationId(),
	}
	if n := int32(m.GetCapacityType()); n != 0 {
		capacity, err := word(capacityTypes(), n, "capacity_type")
		r.note(err)
		o.CapacityType = model.CapacityType(capacity)
	}

	return o
}

// Disruption translates the record of a disruption.
func Disruption(d model.Disruption) *clusterpb.DisruptionRecord {
	return &clusterpb.DisruptionRecord{
		Id: d.ID, DisruptionReason: clusterpb.DisruptionReason(d.Reason), Candidates: claimIDs(d.Candidates),
		Replacements: claimIDs(d.Replacements), Pods: d.Pods, AcceptTime: timestamp(d.AcceptTime),
		EndTime: timestamp(d.EndTime), RolledBack: d.RolledBack, SavingMicroUsdPerHour: d.Saving, Workloads: workloads(d.Workloads),
	}
}

// FromDisruption is the inverse of Disruption.
func FromDisruption(m *clusterpb.DisruptionRecord) (model.Disruption, error) {
	if m.GetId() == "" {
		return model.Disruption{}, errors.New("disruption: id: must be set")
	}
	r := &reader{object: "disruption " + m.GetId()}
	d := model.Disruption{
		ID: m.GetId(), Reason: take(r, m.GetDisruptionReason(), "disruption_reason", fromDisruptionReason),
		Candidates: fromClaimIDs(m.GetCandidates()), Replacements: fromClaimIDs(m.GetReplacements()), Pods: m.GetPods(),
		AcceptTime: take(r, m.GetAcceptTime(), "accept_time", fromTimestamp), EndTime: take(r, m.GetEndTime(), "end_time", fromTimestamp),
		RolledBack: m.GetRolledBack(), Saving: m.GetSavingMicroUsdPerHour(), Workloads: fromWorkloads(m.GetWorkloads()),
	}

	return d, r.err
}

func workloads(in []model.WorkloadEvictions) []*clusterpb.WorkloadEvictions {
	var out []*clusterpb.WorkloadEvictions
	for _, w := range in {
		out = append(out, &clusterpb.WorkloadEvictions{Namespace: w.Namespace, Kind: w.Kind, Name: w.Name, Pods: int32(w.Pods)})
	}

	return out
}

func fromWorkloads(in []*clusterpb.WorkloadEvictions) []model.WorkloadEvictions {
	var out []model.WorkloadEvictions
	for _, w := range in {
		out = append(out, model.WorkloadEvictions{
			Namespace: w.GetNamespace(), Kind: w.GetKind(), Name: w.GetName(), Pods: int(w.GetPods()),
		})
	}

	return out
}

// Notice translates a notice.
func Notice(n model.Notice) *clusterpb.Notice {
	return &clusterpb.Notice{
		Id: n.ID, Kind: clusterpb.NoticeKind(n.Kind), InstanceId: n.InstanceID, Claim: string(n.Claim),
		EventTime: timestamp(n.EventTime), Deadline: timestamp(n.Deadline), InstanceState: n.State,
	}
}

// FromNotice is the inverse of Notice.
func FromNotice(m *clusterpb.Notice) (model.Notice, error) {
	if m.GetId() == "" {
		return model.Notice{}, errors.New("notice: id: must be set")
	}
	r := &reader{object: "notice " + m.GetId()}
	if _, ok := clusterpb.NoticeKind_name[int32(m.GetKind())]; !ok || m.GetKind() == 0 {
		r.note(fmt.Errorf("kind: %d is not a known value", m.GetKind()))
	}
	n := model.Notice{
		ID: m.GetId(), Kind: model.NoticeKind(m.GetKind()), InstanceID: m.GetInstanceId(), Claim: model.ClaimID(m.GetClaim()),
		EventTime: take(r, m.GetEventTime(), "event_time", fromTimestamp),
		Deadline:  take(r, m.GetDeadline(), "deadline", fromTimestamp), State: m.GetInstanceState(),
	}

	return n, r.err
}

// Shortage translates a shortage.
func Shortage(s model.Shortage) *clusterpb.Shortage {
	return &clusterpb.Shortage{
		InstanceType: s.InstanceType, Zone: s.Zone, CapacityType: CapacityType(s.CapacityType),
		Until: timestamppb.New(s.Until), Message: s.Message,
	}
}

// FromShortage is the inverse of Shortage.
func FromShortage(m *clusterpb.Shortage) (model.Shortage, error) {
	if m.GetInstanceType() == "" {
		return model.Shortage{}, errors.New("shortage: instance_type: must be set")
	}
	r := &reader{object: "shortage of " + m.GetInstanceType()}
	capacity, err := word(capacityTypes(), int32(m.GetCapacityType()), "capacity_type")
	r.note(err)
	s := model.Shortage{
		InstanceType: m.GetInstanceType(), Zone: m.GetZone(), CapacityType: model.CapacityType(capacity),
		Until: take(r, m.GetUntil(), "until", fromTimestamp), Message: m.GetMessage(),
	}

	return s, r.err
}
