package budget

import (
	"fmt"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// NeverEvictable says for each class, by index, whether a disruption budget never lets its pods be evicted.
func NeverEvictable(v *view.View) []bool {
	p := NewPods(v)
	out := make([]bool, len(v.Classes))
	for i, c := range v.Classes {
		out[i] = rules.NeverEvicted(p.covering(c))
	}
	return out
}

// blocked is what a disruption budget blocks.
type blocked struct {
	pods, nodes int
	// waiting are those of its pods that run nowhere yet.
	waiting int
	// last is the last host that was counted, plus one.
	last int
	// with is another budget that covers the same pods; "" where there is none.
	with string
}

// Blockers tells of pod disruption budgets that will block every drain, before they do: those that never allow an
// eviction, and those that share a pod with another one, which the API server then refuses to evict at all.
func Blockers(v *view.View) []model.Reason {
	p := NewPods(v)
	by := make([]blocked, len(p.left))
	for _, h := range v.Hosts {
		if h.Node == nil || h.Claim == nil {
			continue
		}
		for _, i := range h.Pods {
			if v.Pods[i].Movable() {
				p.blame(by, i, h.Index)
			}
		}
	}
	for _, i := range v.Unbound {
		if v.Pods[i].Movable() {
			p.blame(by, i, nowhere)
		}
	}
	var out []model.Reason
	for i, x := range by {
		if x.pods+x.waiting > 0 {
			out = append(out, x.reason(&v.Snapshot.PodDisruptionBudgets[i]))
		}
	}
	return out
}

// nowhere is the host of pods that are bound to none.
const nowhere = -1

// blame counts a pod on a host for those of the budgets that cover it and block it.
func (p *Pods) blame(by []blocked, pod, host int) {
	covering, unready := p.of[p.v.Pods[pod].Class.Index], host != nowhere && !p.v.Pods[pod].Ready
	for k, b := range covering {
		budget := &p.v.Snapshot.PodDisruptionBudgets[b]
		if (!budget.NeverAllows || unready && budget.AllowsUnhealthy) && len(covering) == 1 {
			continue
		}
		x := &by[b]
		switch {
		case host == nowhere:
			x.waiting++
		case x.last != host+1:
			x.last = host + 1
			x.nodes++
			x.pods++
		default:
			x.pods++
		}
		if len(covering) > 1 {
			x.with = p.v.Snapshot.PodDisruptionBudgets[covering[(k+1)%len(covering)]].ID
		}
	}
}

func (x *blocked) reason(b *model.PodDisruptionBudget) model.Reason {
	affected := fmt.Sprintf("that affects %s on %s", fit.Count(x.pods, "pod"), fit.Count(x.nodes, "node"))
	if x.pods == 0 {
		affected = fmt.Sprintf("that will affect %s once they run", fit.Count(x.waiting, "pod"))
		if x.waiting == 1 {
			affected = "that will affect 1 pod once it runs"
		}
	}
	if b.NeverAllows {
		return model.Reason{
			Code: model.CodePDB, Subject: "poddisruptionbudget/" + b.ID,
			Message: "it never allows an eviction: " + affected, Remedy: "let it allow at least one disruption",
		}
	}
	return model.Reason{
		Code: model.CodePDB, Subject: "poddisruptionbudget/" + b.ID,
		Message: fmt.Sprintf("it shares pods with %s, and pods of two budgets can't be evicted: %s", x.with, affected),
		Remedy:  "let one PodDisruptionBudget cover a pod",
	}
}
