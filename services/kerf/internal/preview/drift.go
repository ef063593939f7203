package preview

import (
	"slices"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/replace"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// drifts lists the nodes that have drifted, by the planner's own rules, whether a plan would replace them or not.
func drifts(req *plannerpb.PlanRequest) ([]Drift, error) {
	in, err := convert.Input(req.GetSnapshot(), req.GetDecide())
	if err != nil {
		return nil, err
	}
	w, err := view.NewWorld(&in.Snapshot, in.Policy, in.Now)
	if err != nil {
		return nil, err
	}
	facts := rules.DriftingOf(&in.Snapshot, in.Now)
	var out []Drift
	for _, h := range view.NewView(w).Hosts {
		r, _ := replace.Drift(facts, h)
		if r.OK() {
			continue
		}
		out = append(out, Drift{
			Node: string(h.Node.Name), Claim: string(h.Claim.ID), Pool: string(h.Claim.NodePool),
			Why: &clusterpb.Reason{
				Code: clusterpb.ReasonCode_REASON_CODE_DRIFTED, Message: r.Message, Subject: convert.Subject(r.Subject), Remedy: r.Remedy,
			},
		})
	}
	slices.SortFunc(out, compareDrifts)
	return out, nil
}
