package rules

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Unhealthy says which condition of a node has lasted longer than the repair policy waits. A condition of which it is not
// known since when it holds proves nothing.
func Unhealthy(policy model.RepairPolicy, conditions []model.NodeCondition, now time.Time) (model.Reason, time.Time) {
	if policy.Off {
		return model.Reason{}, time.Time{}
	}
	wanted := policy.Conditions
	if len(wanted) == 0 {
		wanted = model.DefaultRepairConditions()
	}
	var until time.Time
	for _, c := range conditions {
		for _, w := range wanted {
			if w.Type != c.Type || w.Status != c.Status || c.TransitionTime.IsZero() {
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

// MissingGuard says that too many nodes are missing from the cluster for the instance of any to be ended: the cluster is hardly
// what it was, as after it was restored from a backup.
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
