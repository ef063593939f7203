package disrupt

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// budgets counts how many nodes of each pool are being disrupted, those of this plan included.
type budgets struct {
	// active are, by pool, the budgets that hold now.
	active [][]model.DisruptionBudget
	// nodes are the pool's initialized nodes, disrupting those of them that are not ready or going away.
	nodes, disrupting []int
	// idle says of hosts whether they count as nodes, and not yet as disrupted.
	idle []bool
}

func newBudgets(v *view.View) *budgets {
	b := &budgets{nodes: make([]int, len(v.Pools)), disrupting: make([]int, len(v.Pools)), idle: make([]bool, len(v.Hosts))}
	for _, p := range v.Pools {
		active, _ := rules.ActiveBudgets(p.Budgets, v.Now)
		b.active = append(b.active, active)
	}
	for i, h := range v.Hosts {
		if h.Node == nil || h.Pool == nil || !h.Initialized || h.Claim.State >= model.ClaimTerminating {
			continue
		}
		b.nodes[h.Pool.Index]++
		if h.Leaving || !h.Node.Ready {
			b.disrupting[h.Pool.Index]++
		} else {
			b.idle[i] = true
		}
	}
	return b
}

// take counts a host that this plan disrupts. One that goes whatever budgets say counts once: those that are not ready
// have done so before.
func (b *budgets) take(host int, p *view.Pool, why model.DisruptionReason) {
	if b.idle[host] || (why != model.ReasonUnhealthy && why != model.ReasonSurplus) {
		b.disrupting[p.Index]++
	}
}

// reason says that a pool's budget is used up; zero when n more nodes may go.
func (b *budgets) reason(p *view.Pool, why model.DisruptionReason, n int) model.Reason {
	return rules.BudgetAllows(b.active[p.Index], why, rules.PoolNodes{
		Pool: p.Name, Nodes: b.nodes[p.Index], Disrupting: b.disrupting[p.Index], More: n,
	})
}

// pdbs counts the evictions that pod disruption budgets still allow.
type pdbs struct {
	v *view.View
	// of lists the budgets that cover a class, by its index; left is by budget, what it still allows.
	of   [][]int
	left []int
}

func newPDBs(v *view.View) *pdbs {
	out := &pdbs{v: v, of: make([][]int, len(v.Classes))}
	for i := range v.Snapshot.PodDisruptionBudgets {
		b := &v.Snapshot.PodDisruptionBudgets[i]
		out.left = append(out.left, int(b.DisruptionsAllowed))
		for _, c := range v.Classes {
			if c.Namespace == b.Namespace && b.Selector.Matches(c.Labels) {
				out.of[c.Index] = append(out.of[c.Index], i)
			}
		}
	}
	return out
}

// need is what some evictions ask of a budget.
type need struct {
	pods int
	// node is where the first of them is; several says that others are elsewhere.
	node    model.NodeName
	several bool
}

// reason says why pods can't be evicted now; zero when they can. All together they must stay within each budget; but a
// budget that allows any, and that no other node of this plan uses, lets one node go whatever it has: the drain takes its pods
// one after the other.
func (p *pdbs) reason(pods []int) model.Reason {
	needs := make(map[int]need)
	for _, i := range pods {
		pod := p.v.Pods[i]
		covering := p.of[pod.Class.Index]
		if len(covering) > 1 {
			ids := [2]string{p.v.Snapshot.PodDisruptionBudgets[covering[0]].ID, p.v.Snapshot.PodDisruptionBudgets[covering[1]].ID}
			return model.Reason{
				Code: model.CodePDB, Subject: "pod/" + string(pod.ID),
				Message: fmt.Sprintf("pod %s is covered by several disruption budgets (%s, %s), so that it can't be evicted", pod.ID, ids[0], ids[1]),
				Remedy:  "let one disruption budget cover the pod",
			}
		}
		for _, b := range covering {
			if r := p.one(b, pod, needs); !r.OK() {
				return r
			}
		}
	}
	return model.Reason{}
}

// one counts one eviction against a budget.
func (p *pdbs) one(budget int, pod view.Pod, needs map[int]need) model.Reason {
	b := &p.v.Snapshot.PodDisruptionBudgets[budget]
	if b.AlwaysAllowUnhealthy && !pod.Ready {
		return model.Reason{}
	}
	n := needs[budget]
	n.pods++
	if n.pods == 1 {
		n.node = pod.Node
	}
	n.several = n.several || n.node != pod.Node
	needs[budget] = n
	untouched := p.left[budget] > 0 && p.left[budget] == int(b.DisruptionsAllowed)
	r := model.Reason{Code: model.CodePDB, Subject: "pod/" + string(pod.ID)}
	switch {
	case b.NeverAllows:
		r.Message = fmt.Sprintf("the disruption budget %s of pod %s never allows an eviction", b.ID, pod.ID)
		r.Remedy = "let " + b.ID + " allow at least one disruption"
	case n.pods <= p.left[budget] || untouched && !n.several:
		return model.Reason{}
	default:
		r.Message = fmt.Sprintf("the disruption budget %s of pod %s allows %s now; this plan has taken, or would need, more",
			b.ID, pod.ID, fit.Count(int(max(0, b.DisruptionsAllowed)), "eviction"))
		r.Remedy = "wait, or let " + b.ID + " allow more disruptions"
	}
	return r
}

// take counts the evictions that this plan decides.
func (p *pdbs) take(pods []int) {
	for _, i := range pods {
		pod := p.v.Pods[i]
		for _, b := range p.of[pod.Class.Index] {
			if !p.v.Snapshot.PodDisruptionBudgets[b].AlwaysAllowUnhealthy || pod.Ready {
				p.left[b]--
			}
		}
	}
}

// NeverEvictable says for each class, by index, whether a disruption budget never lets its pods be evicted.
func NeverEvictable(v *view.View) []bool {
	p := newPDBs(v)
	out := make([]bool, len(v.Classes))
	for i, covering := range p.of {
		out[i] = len(covering) > 1 || slices.ContainsFunc(covering, func(b int) bool {
			return v.Snapshot.PodDisruptionBudgets[b].NeverAllows
		})
	}
	return out
}

// blocked is what a disruption budget holds up.
type blocked struct {
	pods, nodes int
	// last is the last host that was counted, plus one.
	last int
	// with is another budget that covers the same pods; "" where there is none.
	with string
}

// Blockers tells of pod disruption budgets that will hold up every drain, before they do: those that never allow an
// eviction, and those that share a pod with another one, which the API server then refuses to evict at all.
func Blockers(v *view.View) []model.Reason {
	p := newPDBs(v)
	by := make([]blocked, len(p.left))
	for _, h := range v.Hosts {
		if h.Node == nil || h.Claim == nil {
			continue
		}
		for _, i := range movable(v, h.Index) {
			p.blame(by, p.of[v.Pods[i].Class.Index], h.Index)
		}
	}
	var out []model.Reason
	for i, x := range by {
		if x.pods > 0 {
			out = append(out, x.reason(&v.Snapshot.PodDisruptionBudgets[i]))
		}
	}
	return out
}

// blame counts a pod on a host for those of the budgets that cover it that hold it up.
func (p *pdbs) blame(by []blocked, covering []int, host int) {
	for k, b := range covering {
		if !p.v.Snapshot.PodDisruptionBudgets[b].NeverAllows && len(covering) == 1 {
			continue
		}
		x := &by[b]
		x.pods++
		if x.last != host+1 {
			x.last = host + 1
			x.nodes++
		}
		if len(covering) > 1 {
			x.with = p.v.Snapshot.PodDisruptionBudgets[covering[(k+1)%len(covering)]].ID
		}
	}
}

func (x *blocked) reason(b *model.PodDisruptionBudget) model.Reason {
	holds := fmt.Sprintf("it holds %s on %s", fit.Count(x.pods, "pod"), fit.Count(x.nodes, "node"))
	if b.NeverAllows {
		return model.Reason{
			Code: model.CodePDB, Subject: "poddisruptionbudget/" + b.ID,
			Message: "it never allows an eviction: " + holds, Remedy: "let it allow at least one disruption",
		}
	}
	return model.Reason{
		Code: model.CodePDB, Subject: "poddisruptionbudget/" + b.ID,
		Message: fmt.Sprintf("it shares pods with %s, and pods of two budgets can't be evicted: %s", x.with, holds),
		Remedy:  "let one disruption budget cover a pod",
	}
}
