package apply

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// budgets checks the budgets of all pools that the disruption touches and counts its candidates. What has expired knows
// no budget any more: its pace is that of the nodes' birth. Neither do sick nodes, which serve nobody, nor a static pool
// that was made smaller: it is the user who says so.
func (v *verifier) budgets(d Disruption, t tally) model.Reason {
	pools := map[string]bool{}
	for _, id := range d.Candidates {
		c := v.state.Claims[id]
		t.disrupt(id, c)
		if d.Reason != model.DisruptionExpired || !Overdue(c, v.state.Now) {
			pools[c.NodePool] = true
		}
	}
	if d.Reason == model.DisruptionUnhealthy || d.Reason == model.DisruptionSurplus {
		return model.Reason{}
	}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		pool, ok := v.state.Pools[name]
		if !ok {
			return model.Reason{
				Code: model.ReasonNotFound, Message: fmt.Sprintf("node pool %q does not exist", name), Subject: "nodepool/" + name,
			}
		}
		if reason := v.budget(pool, d.Reason, t); reason != (model.Reason{}) {
			return reason
		}
	}

	return model.Reason{}
}

func (v *verifier) budget(pool cluster.Pool, why model.DisruptionReason, t tally) model.Reason {
	if pool.NotReady != (model.Reason{}) {
		return pool.NotReady // its budgets are not known
	}
	total, disrupting := t.nodes[pool.Name], t.down[pool.Name]
	for i, b := range pool.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, why) {
			continue
		}
		allowed, active := allowance(b, total, v.state.Now)
		if !active || disrupting <= allowed {
			continue
		}

		return model.Reason{
			Code: model.ReasonBudget, Subject: "nodepool/" + pool.Name,
			Message: fmt.Sprintf("spec.disruption.budgets[%d] allows %d of %d nodes at once, this would be %d", i, allowed, total, disrupting),
		}
	}

	return model.Reason{}
}

// allowance is how many nodes a budget lets go at once, if it is active now. A schedule that can't be read allows none.
func allowance(b cluster.Budget, total int, now time.Time) (int, bool) {
	if b.Schedule != "" {
		schedule, err := ParseCron(b.Schedule)
		if err != nil {
			return 0, true
		}
		if !schedule.Within(now.UTC(), b.Duration) {
			return 0, false
		}
	}
	if b.Count >= 0 {
		return b.Count, true
	}

	return (b.Percent*total + 99) / 100, true
}
