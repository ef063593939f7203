package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/schedule"
)

// ActiveBudget is a budget that applies, and when its window closes; zero where that is not known, or never.
type ActiveBudget struct {
	model.DisruptionBudget
	Until time.Time
}

// endsBefore says that a budget's window closes before that of another one.
func (b *ActiveBudget) endsBefore(other *ActiveBudget) bool {
	return !b.Until.IsZero() && (other.Until.IsZero() || b.Until.Before(other.Until))
}

// ActiveBudgets are those of a pool's budgets that apply now. One whose schedule can't be read always applies, and lets no
// node go.
func ActiveBudgets(budgets []model.DisruptionBudget, now time.Time) (active []ActiveBudget, until time.Time) {
	for _, b := range budgets {
		if b.Schedule == "" {
			active = append(active, ActiveBudget{DisruptionBudget: b})
			continue
		}
		s, err := schedule.Parse(b.Schedule)
		if err != nil {
			b.Count, b.IsPercent = 0, false
			active = append(active, ActiveBudget{DisruptionBudget: b})
			continue
		}
		applies, changes := s.Active(now, b.Duration)
		if applies {
			active = append(active, ActiveBudget{DisruptionBudget: b, Until: changes})
		}
		until = Earliest(until, changes)
	}
	return active, until
}

// BudgetCaps says whether a budget caps disruptions for a reason. Unhealthy nodes, which serve no pods, it caps only where
// it says so. What is replaced in time, before it expires, counts as drifted: budgets have no reason for it, as Karpenter
// does no such thing, and it is as little urgent. Nodes that have expired are asked of no budget.
func BudgetCaps(b *model.DisruptionBudget, why model.DisruptionReason) bool {
	if len(b.Reasons) == 0 {
		return why != model.ReasonUnhealthy
	}
	inTime := why == model.ReasonExpired && slices.Contains(b.Reasons, model.ReasonDrifted)
	return inTime || slices.Contains(b.Reasons, why)
}

// BudgetNodes is how many of a pool's nodes a budget lets go at once; a share is rounded up.
func BudgetNodes(b *model.DisruptionBudget, nodes int) int {
	if b.IsPercent {
		return percent(nodes, int(b.Count))
	}
	return int(b.Count)
}

// AtOnce is how many nodes of a pool budgets must let go for a disruption to begin that takes so many of them: all, and
// where it is staged one, as the others wait for their turn.
func AtOnce(nodes int, staged bool) int {
	if staged {
		return min(nodes, 1)
	}
	return nodes
}

// PoolNodes is how many nodes a pool has, and how many of them go.
type PoolNodes struct {
	Pool model.PoolName
	// Nodes are those that are initialized, Disrupting those of them that are on their way out or, where the reason is
	// another than that they are unhealthy, not ready.
	Nodes, Disrupting int
	// More is how many are to go in addition.
	More int
}

// BudgetStops says that a pool's budgets that are active let none of its nodes go for a reason, whatever else is going on.
func BudgetStops(active []ActiveBudget, why model.DisruptionReason, pool model.PoolName) bool {
	return !BudgetAllows(active, why, PoolNodes{Pool: pool, Nodes: 1, More: 1}).OK()
}

// BudgetAllows says why a pool's nodes may not go for a reason, by those of its budgets that are active
// (ActiveBudgets): the strictest, and of equals the one that lasts longest.
func BudgetAllows(active []ActiveBudget, why model.DisruptionReason, p PoolNodes) model.Reason {
	left, which := p.Nodes, (*ActiveBudget)(nil)
	for i := range active {
		b := &active[i].DisruptionBudget
		may := BudgetNodes(b, p.Nodes) - p.Disrupting
		if BudgetCaps(b, why) && (may < left || may == left && which != nil && which.endsBefore(&active[i])) {
			left, which = may, &active[i]
		}
	}
	if which == nil || p.More <= max(0, left) {
		return model.Reason{}
	}
	counted, remedy := "disrupted or not ready", "wait, or raise spec.disruption.budgets"
	if why == model.ReasonUnhealthy {
		counted = "disrupted"
	}
	if which.Count == 0 && which.Schedule == "" && len(which.Reasons) == 0 { // what a pool's annotation counts as
		remedy = "raise spec.disruption.budgets, or remove " + labels.DoNotDisrupt + " where the pool is annotated with it"
	}
	if which.Count == 0 && !which.Until.IsZero() {
		remedy = "wait until " + minute(which.Until) + ", or raise spec.disruption.budgets"
	}
	return model.Reason{
		Code: model.CodeBudget, Subject: "nodepool/" + string(p.Pool),
		Message: fmt.Sprintf("the pool's disruption budget (%s) is used up; %s now: %s",
			budgetText(which, p.Nodes), counted, count(p.Disrupting, "node")),
		Remedy: remedy,
	}
}

// minute writes down when a window closes: schedules are in minutes of UTC.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

func budgetText(b *ActiveBudget, nodes int) string {
	text := count(int(b.Count), "node")
	if b.IsPercent {
		text = fmt.Sprintf("%d%% of %s", b.Count, count(nodes, "node"))
	}
	for i, r := range b.Reasons {
		text += []string{" for ", " or "}[min(i, 1)] + r.String()
	}
	if b.Schedule != "" {
		text += " by the schedule " + b.Schedule
	}
	if !b.Until.IsZero() {
		text += " until " + minute(b.Until)
	}
	return text
}
