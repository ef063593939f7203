// Package budget says how many nodes and pods may still be disrupted: by the budgets of node pools, and by pod disruption
// budgets, each less what the plan has taken already.
//
// It must never know why a node should go or where its pods could run. Start reading with Nodes and Pods.
package budget

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Nodes counts how many nodes of each pool are being disrupted, those of this plan included.
type Nodes struct {
	// active are, by pool, the budgets that apply now.
	active [][]rules.ActiveBudget
	// nodes are the pool's initialized nodes, disrupting those of them that are not ready or going away, leaving those that
	// go away.
	nodes, disrupting, leaving []int
	// idle says of hosts whether they count as nodes, and not yet as disrupted; down whether they did so from the start.
	idle, down []bool
	// unbounded says that no budget limits consolidation: the search asks what would go in the end.
	unbounded bool
}

// NewNodes counts the nodes of the view as they are.
func NewNodes(v *view.View) *Nodes {
	out := &Nodes{
		nodes: make([]int, len(v.Pools)), disrupting: make([]int, len(v.Pools)), leaving: make([]int, len(v.Pools)),
		idle: make([]bool, len(v.Hosts)), down: make([]bool, len(v.Hosts)),
	}
	for _, p := range v.Pools {
		active, _ := rules.ActiveBudgets(p.Budgets, v.Now)
		out.active = append(out.active, active)
	}
	for i, h := range v.Hosts {
		if h.Node == nil || h.Pool == nil || !h.Initialized || h.Claim.State >= model.ClaimTerminating {
			continue
		}
		out.nodes[h.Pool.Index]++
		if h.Leaving {
			out.leaving[h.Pool.Index]++
		}
		if h.Leaving || !h.Node.Ready {
			out.disrupting[h.Pool.Index]++
			out.down[i] = true
		} else {
			out.idle[i] = true
		}
	}
	return out
}

// Take counts a host that this plan disrupts. One that is not ready has counted before.
func (n *Nodes) Take(host int, p *view.Pool) {
	if n.idle[host] {
		n.disrupting[p.Index]++
	}
}

// Clone is a copy to try things out on; unbounded says that no budget of it limits consolidation.
func (n *Nodes) Clone(unbounded bool) *Nodes {
	return &Nodes{
		active: n.active, nodes: n.nodes, disrupting: slices.Clone(n.disrupting), leaving: n.leaving, idle: n.idle, down: n.down,
		unbounded: unbounded,
	}
}

// Reason says that a pool's budget is used up; zero when so many more nodes may go.
func (n *Nodes) Reason(p *view.Pool, why model.DisruptionReason, more int) model.Reason {
	if n.unbounded && why == model.ReasonUnderutilized {
		return model.Reason{}
	}
	return rules.BudgetAllows(n.active[p.Index], why, rules.PoolNodes{
		Pool: p.Name, Nodes: n.nodes[p.Index], Disrupting: n.disrupting[p.Index], More: more,
	})
}

// ReasonFor says that a pool's budget keeps a host that goes for its own sake, beside others that are to go as well. One
// that is not ready has counted, so that it does not keep itself: no more nodes are down with it than were before.
func (n *Nodes) ReasonFor(host int, p *view.Pool, why model.DisruptionReason, others int) model.Reason {
	nodes := rules.PoolNodes{Nodes: n.nodes[p.Index], Disrupting: n.disrupting[p.Index] - 1, More: others + 1}
	if n.down[host] && rules.BudgetAllows(n.active[p.Index], why, nodes).OK() {
		return model.Reason{}
	}
	return n.Reason(p, why, others+1)
}

// Stops says that a pool's budgets let no node at all go for a reason.
func (n *Nodes) Stops(p *view.Pool, why model.DisruptionReason) bool {
	return rules.BudgetStops(n.active[p.Index], why, p.Name)
}

// Repair says that a pool's budget keeps its unhealthy nodes, when so many are to go. Those that are not ready use no such
// budget up: they are what it is about.
func (n *Nodes) Repair(p *view.Pool, more int) model.Reason {
	return rules.BudgetAllows(n.active[p.Index], model.ReasonUnhealthy, rules.PoolNodes{
		Pool: p.Name, Nodes: n.nodes[p.Index], Disrupting: n.leaving[p.Index], More: more,
	})
}
