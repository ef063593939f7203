package convert

import (
	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// MostDecisions is how many claims and disruptions the actuator takes of one plan.
const MostDecisions = 5000

// ReadDecisions reads of a plan what the actuator acts on: its claims, its disruptions, where pods go, what it says of
// nodes that stay, why pods stay pending, and what became of overlays and buffers. Reasons that this version does not
// know are no errors. The error is an *Error.
func ReadDecisions(p *plannerpb.Plan) (model.Plan, error) {
	r := &reader{tolerant: true}
	r.at("plan", "plan", "")
	if p.GetId() == "" {
		r.bad("id", "is missing")
	}
	if p.GetNow() == nil {
		r.bad("now", "is missing")
	}
	out := model.Plan{
		ID: model.PlanID(p.GetId()), Revision: p.GetRevision(), InventoryRevision: p.GetInventoryRevision(),
		Now: r.time("now", p.GetNow()), Traceparent: p.GetTraceparent(),
	}
	r.decisions(p, &out)
	out.Objects = r.objects(p.GetObjects())
	for _, v := range p.GetNodes() {
		if ActsOn(v) {
			out.Nodes = append(out.Nodes, model.NodeVerdict{
				Node: model.NodeName(v.GetNode()), Claim: model.ClaimID(v.GetClaim()), Deferred: v.Deferred, PodDeletionCost: v.GetPodDeletionCost(),
				Reason: r.reason("reason", v.GetReason()),
			})
		}
	}
	return out, r.err()
}

// ActsOn says whether the actuator acts on what a plan says of a node.
func ActsOn(v *plannerpb.NodeVerdict) bool {
	return v.Deferred != nil || v.GetPodDeletionCost() != 0 || TellsOf(v)
}

// TellsOf says whether users are told what keeps a node of Kerf's.
func TellsOf(v *plannerpb.NodeVerdict) bool {
	return v.GetClaim() != "" && v.GetDisruption() == "" && rules.EventOf(model.Code(v.GetReason().GetCode())) != ""
}

// decisions reads the lists of what is to be done, where pods go, and what can't be.
func (r *reader) decisions(p *plannerpb.Plan, out *model.Plan) {
	for _, c := range p.GetNodeClaims() {
		r.at("plan.node_claims", "claim", c.GetId())
		out.NodeClaims = append(out.NodeClaims, r.nodeClaim(c))
	}
	for _, d := range p.GetDisruptions() {
		r.at("plan.disruptions", "disruption", d.GetId())
		out.Disruptions = append(out.Disruptions, r.disruption(d))
	}
	out.Placements = r.placements("plan.placements", p.GetPlacements())
	for _, q := range p.GetPending() {
		r.at("plan.pending", "pending pod", q.GetPod())
		out.Pending = append(out.Pending, r.pending(q))
	}
}

// Verdicts writes what became of a plan's decisions.
func Verdicts(in []model.Verdict) []*actuatorpb.Verdict {
	return write(in, func(v model.Verdict) *actuatorpb.Verdict {
		kind := actuatorpb.VerdictKind_VERDICT_KIND_REJECTED
		if v.Accepted {
			kind = actuatorpb.VerdictKind_VERDICT_KIND_ACCEPTED
		}
		return &actuatorpb.Verdict{Decision: v.Decision, Kind: kind, Reason: writeReason(v.Reason)}
	})
}
