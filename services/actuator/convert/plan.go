package convert

import (
	"fmt"
	"strings"

	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// FieldError says which field of a request is wrong.
type FieldError struct{ Field, Problem string }

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// PendingPod is a pod that a plan leaves pending, and why.
type PendingPod struct {
	Pod    string // namespace/name
	Reason model.Reason
}

// FromPlan reads what the actuator acts on: claims, disruptions, and why pods stay pending. Errors are *FieldError.
func FromPlan(m *plannerpb.Plan) (apply.Plan, []PendingPod, error) {
	if m.GetId() == "" {
		return apply.Plan{}, nil, fieldError("plan.id", "must be set")
	}
	now, err := fromTimestamp(m.GetNow(), "now")
	if err != nil || m.GetNow() == nil {
		return apply.Plan{}, nil, fieldError("plan.now", "must be a valid time")
	}
	p := apply.Plan{ID: m.GetId(), InventoryRevision: m.GetInventoryRevision(), Now: now, Traceparent: m.GetTraceparent()}
	for i, c := range m.GetNodeClaims() {
		w, err := fromNodeClaim(c)
		if err != nil {
			return apply.Plan{}, nil, fieldError(fmt.Sprintf("plan.node_claims[%d]", i), "%v", err)
		}
		p.Wishes = append(p.Wishes, w)
	}
	for i, d := range m.GetDisruptions() {
		x, err := fromPlanDisruption(d)
		if err != nil {
			return apply.Plan{}, nil, fieldError(fmt.Sprintf("plan.disruptions[%d]", i), "%v", err)
		}
		p.Disruptions = append(p.Disruptions, x)
	}
	var pending []PendingPod
	for _, x := range m.GetPending() {
		if strings.Count(x.GetPod(), "/") > 1 {
			continue // a capacity buffer's: there is no object to tell anything
		}
		pending = append(pending, PendingPod{Pod: x.GetPod(), Reason: FromReason(x.GetReason())})
	}

	return p, pending, nil
}

func fromNodeClaim(m *plannerpb.NodeClaim) (apply.Wish, error) {
	requirements, err := fromRequirements(m.GetRequirements(), "requirements")
	if err != nil {
		return apply.Wish{}, err
	}
	offerings, err := fromOfferings(m.GetOfferings(), "offerings")
	if err != nil {
		return apply.Wish{}, err
	}

	return apply.Wish{
		ID: model.ClaimID(m.GetId()), NodePool: m.GetNodePool(), NodeClass: m.GetNodeClass(), Requirements: requirements,
		Offerings: offerings, Requests: fromAmounts(m.GetRequests()), Pods: m.GetPods(), Disruption: m.GetDisruption(),
		Annotations: fromLabels(m.GetAnnotations()),
	}, nil
}

func fromPlanDisruption(m *plannerpb.Disruption) (apply.Disruption, error) {
	reason, err := fromDisruptionReason(m.GetDisruptionReason(), "disruption_reason")
	if err != nil {
		return apply.Disruption{}, err
	}
	d := apply.Disruption{
		ID: m.GetId(), Reason: reason, Candidates: fromClaimIDs(m.GetCandidates()), Replacements: fromClaimIDs(m.GetReplacements()),
		Evictions: int(m.GetEvictions()), Workloads: fromWorkloads(m.GetWorkloads()),
	}
	for _, p := range m.GetDestinations() {
		d.Pods = append(d.Pods, p.GetPod())
	}

	return d, nil
}

// Verdicts translates what became of a plan's decisions.
func Verdicts(in []apply.Verdict) []*actuatorpb.Verdict {
	var out []*actuatorpb.Verdict
	for _, v := range in {
		kind := actuatorpb.VerdictKind_VERDICT_KIND_REJECTED
		if v.Accepted {
			kind = actuatorpb.VerdictKind_VERDICT_KIND_ACCEPTED
		}
		out = append(out, &actuatorpb.Verdict{Decision: v.Decision, Kind: kind, Reason: Reason(v.Reason)})
	}

	return out
}
