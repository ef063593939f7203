package disrupt

import (
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/churn"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/disrupt/replace"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// reconsider is when time alone first changes which nodes may or must go; zero when it never does:
//
//   - a pool's disruption budget begins or ceases to apply by its schedule;
//   - the drift of a pool is no longer paused after a failed replacement;
//   - a claim expires, or is about to;
//   - a node has been quiet for as long as its pool's consolidateAfter asks for;
//   - pods that are being deleted on a node no longer count as ending;
//   - an unhealthy condition has lasted for as long as the repair policy waits;
//   - a claim is old enough for its instance type to be missed;
//   - pods that were moved have rested, a rollout counts as over, or the protection of a pod ends.
//
// It asks the rules about every object, whether the search came to ask about it or not. Beside it stands when pods have
// settled that keep nodes only because they have just started: the search says that.
func reconsider(dr *draft.Draft) time.Time {
	return rules.Earliest(poolsChange(dr.View), claimsChange(dr.View), nodesChange(dr.View), podsChange(dr.View, dr.History))
}

func poolsChange(v *view.View) (first time.Time) {
	for _, p := range v.Pools {
		_, budgets := rules.ActiveBudgets(p.Budgets, v.Now)
		_, pause := replace.DriftPause(v, p)
		first = rules.Earliest(first, budgets, pause)
	}
	return first
}

func claimsChange(v *view.View) (first time.Time) {
	for i := range v.Snapshot.Claims {
		c := &v.Snapshot.Claims[i]
		if c.State < model.ClaimDraining {
			_, until := rules.Expiring(c, v.Now)
			first = rules.Earliest(first, until)
		}
	}
	return first
}

func nodesChange(v *view.View) (first time.Time) {
	for _, h := range v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool == nil || h.Claim.State >= model.ClaimDraining {
			continue
		}
		_, healthy := rules.Unhealthy(v.Policy.Repair, h.Node.Conditions, v.Now)
		var quiet time.Time
		if !h.Claim.InitializeTime.IsZero() {
			_, quiet = rules.ConsolidateAfter(h.Pool.ConsolidateAfter, h.Claim.InitializeTime, h.Node.LastPodEventTime, v.Now)
		}
		first = rules.Earliest(first, healthy, quiet, draft.EndingUntil(v, h))
	}
	return first
}

func podsChange(v *view.View, h *churn.History) time.Time {
	first := h.Rollouts.Next(v.Now)
	for i := range v.Pods {
		p := &v.Pods[i]
		if p.Node != "" {
			_, protected := rules.Protected(p.Pod, v.Now)
			first = rules.Earliest(first, protected, h.Moves.Until(p.Class.PodClass, p.Pod, v.Now))
		}
	}
	return first
}
