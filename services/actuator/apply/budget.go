package apply

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// budgets checks the budgets of all pools that the disruption touches and counts its candidates. Claims that have
// expired have no budget any more: they go one after the other as they were made. Neither has a static pool that was made
// smaller: it is the user who says so.
func (v *verifier) budgets(d model.Disruption, t tally) model.Reason {
	checked, count := map[model.PoolName]bool{}, map[model.PoolName]int{}
	for _, id := range d.Candidates {
		c := v.state.Claims[id]
		t.leaving[id] = true
		if n := count[c.NodePool]; !Counted(c) || rules.AtOnce(n+1, d.Staged) > n {
			t.disrupt(id, c)
			if Counted(c) {
				count[c.NodePool]++
			}
		}
		if overdue, _ := rules.Expired(&c, v.state.Now); d.Reason != model.ReasonExpired || overdue.OK() {
			checked[c.NodePool] = true
		}
	}
	if d.Reason == model.ReasonSurplus {
		return model.Reason{}
	}
	for _, name := range slices.Sorted(maps.Keys(checked)) {
		pool, ok := v.state.Pools[name]
		if !ok {
			return model.Reason{
				Code: model.CodeNotFound, Message: fmt.Sprintf("node pool %q does not exist", name), Subject: "nodepool/" + string(name),
			}
		}
		if !pool.NotReady.OK() {
			return pool.NotReady // its budgets are not known
		}
		active, _ := rules.ActiveBudgets(pool.Budgets, v.state.Now)
		nodes := rules.PoolNodes{Pool: name, Nodes: t.nodes[name], Disrupting: t.down[name] - count[name], More: count[name]}
		if d.Reason == model.ReasonUnhealthy { // those that are not ready are what its budget is about, and use none of it up
			nodes.Disrupting = v.leaving(name, t) - count[name]
		}
		if reason := rules.BudgetAllows(active, d.Reason, nodes); !reason.OK() {
			return reason
		}
	}
	return model.Reason{}
}

// leaving counts a pool's nodes that are being taken away, those that this plan was granted included.
func (v *verifier) leaving(pool model.PoolName, t tally) (n int) {
	for id, going := range t.leaving {
		if c := v.state.Claims[id]; going && c.NodePool == pool && Counted(c) {
			n++
		}
	}
	return n
}
