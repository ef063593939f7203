package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Unhealthy says which condition of a node has lasted longer than the repair policy waits. A condition of which it is not
// known since when it holds proves nothing.
func Unhealthy(policy model.RepairPolicy, conditions []model.NodeCondition, now time.Time) (model.Reason, time.Time) {
	if policy.Off {
		return model.Reason{}, time.Time{}
	}
	var until time.Time
	for _, c := range conditions {
		for _, w := range repaired(policy) {
			if !meant(w, c) {
				continue
			}
			lasts := now.Sub(c.TransitionTime)
			if lasts < w.After {
				until = Earliest(until, c.TransitionTime.Add(w.After))
				continue
			}
			return model.Reason{
				Code: model.CodeUnhealthy,
				Message: fmt.Sprintf("its condition %s has been %s for %s, and the policy waits %s", c.Type, c.Status,
					lasts.Truncate(time.Second), w.After),
			}, time.Time{}
		}
	}
	return model.Reason{}, until
}

// CountsForRepair says whether a claim's node is one of those of its pool of which few may be unhealthy: it has joined,
// and its instance is not being ended.
func CountsForRepair(c *model.Claim) bool {
	return c.State >= model.ClaimRegistered && c.State <= model.ClaimDraining
}

// Unwell says whether a node that counts is among the unhealthy ones of its pool. It need not have been so for as long
// as the policy waits: what befalls many nodes befalls one after the other, and the first would be replaced before the
// others count. Before a node is initialized it is expected not to be ready; then it counts only once it has lasted.
func Unwell(policy model.RepairPolicy, claim *model.Claim, conditions []model.NodeCondition, now time.Time) bool {
	if r, _ := Unhealthy(policy, conditions, now); !r.OK() {
		return true
	}
	return claim.State >= model.ClaimInitialized && slices.ContainsFunc(conditions, func(c model.NodeCondition) bool {
		return slices.ContainsFunc(repaired(policy), func(w model.RepairCondition) bool { return meant(w, c) })
	})
}

func repaired(policy model.RepairPolicy) []model.RepairCondition {
	if len(policy.Conditions) == 0 {
		return model.DefaultRepairConditions()
	}
	return policy.Conditions
}

// meant says that a condition of a node is one that the policy repairs.
func meant(w model.RepairCondition, c model.NodeCondition) bool {
	return w.Type == c.Type && w.Status == c.Status && !c.TransitionTime.IsZero()
}

// NotToBeRepaired says that a node's own annotation keeps it, however unhealthy it is.
func NotToBeRepaired(annotated bool) model.Reason {
	if !annotated {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeNodeDoNotDisrupt, Message: "the node is annotated " + labels.DoNotRepair, Remedy: "remove the annotation from the node",
	}
}

// RepairGuard says that too many nodes of a pool are unhealthy for any of them to be repaired: the cause is hardly the
// nodes. The policy's share of the pool's nodes is rounded up.
func RepairGuard(policy model.RepairPolicy, pool model.PoolName, unhealthy, nodes int) model.Reason {
	share := cmp.Or(policy.MaxUnhealthyPercent, model.DefaultMaxUnhealthyPercent)
	if unhealthy <= percent(nodes, share) {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeRepairGuard, Subject: "nodepool/" + string(pool),
		Message: fmt.Sprintf("%d of the pool's %s are unhealthy, and above %d%% none is replaced", unhealthy, count(nodes, "node"), share),
		Remedy:  "find what they have in common, or raise policy.repair.max_unhealthy_percent",
	}
}

// MissingGuard says that too many nodes are missing from the cluster for the instance of any to be ended: the cluster
// is hardly what it was, as after it was restored from a backup.
func MissingGuard(missing, nodes int) model.Reason {
	const share = model.DefaultMaxUnhealthyPercent
	if missing <= percent(nodes, share) {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeRepairGuard,
		Message: fmt.Sprintf("%d of the cluster's %s are missing while their instances run, and above %d%% none is ended",
			missing, count(nodes, "node"), share),
		Remedy: "start the kubelets again, which registers their nodes anew, or delete the NodeClaims",
	}
}

// percent is a share of n, rounded up.
func percent(n, share int) int { return (n*share + 99) / 100 }
