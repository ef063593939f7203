package budget

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Pods counts the evictions that pod disruption budgets still allow.
type Pods struct {
	v *view.View
	// of lists the budgets that cover a class, by its index.
	of [][]int
	// going is by budget how many of its pods are yet to be evicted from nodes that went before this plan, and left what it
	// still allows beside them: their drains will ask for it, one after the other, so that what this plan takes would wait
	// for them, and its replacements stand empty.
	going, left []int
}

// NewPods reads the budgets of the snapshot.
func NewPods(v *view.View) *Pods {
	out := &Pods{v: v, of: make([][]int, len(v.Classes))}
	for i := range v.Snapshot.PodDisruptionBudgets {
		b := &v.Snapshot.PodDisruptionBudgets[i]
		out.left = append(out.left, int(b.DisruptionsAllowed))
		for _, c := range v.Classes {
			if c.Namespace == b.Namespace && b.Selector.Matches(c.Labels) {
				out.of[c.Index] = append(out.of[c.Index], i)
			}
		}
	}
	out.going = make([]int, len(out.left))
	for _, h := range v.Hosts {
		if h.Leaving {
			out.goes(h)
		}
	}
	return out
}

// goes counts the pods on a host that goes already, as long as nothing holds its drain up.
func (p *Pods) goes(h *view.Host) {
	for _, i := range h.Pods {
		if pod := p.v.Pods[i]; rules.HoldsDrain(pod.Pod, pod.Class.PodClass, p.covering(pod.Class), p.v.Now) {
			return
		}
	}
	for _, i := range h.Pods {
		pod := p.v.Pods[i]
		for _, b := range p.of[pod.Class.Index] {
			if p.counts(b, pod) && rules.ToBeEvicted(pod.Pod, pod.Class.PodClass) {
				p.going[b]++
				p.left[b]--
			}
		}
	}
}

func (p *Pods) covering(c *view.Class) []*model.PodDisruptionBudget {
	var out []*model.PodDisruptionBudget
	for _, b := range p.of[c.Index] {
		out = append(out, &p.v.Snapshot.PodDisruptionBudgets[b])
	}
	return out
}

// counts says whether a budget counts the eviction of a pod that it covers.
func (p *Pods) counts(budget int, pod view.Pod) bool {
	return rules.CountsEviction(&p.v.Snapshot.PodDisruptionBudgets[budget], pod.Pod)
}

// Clone is a copy to try things out on.
func (p *Pods) Clone() *Pods {
	return &Pods{v: p.v, of: p.of, going: p.going, left: slices.Clone(p.left)}
}

// Never says why a pod can't ever be evicted; zero when it can, now or later.
func (p *Pods) Never(pod view.Pod) model.Reason {
	covering := p.of[pod.Class.Index]
	if len(covering) > 1 {
		return p.shared(pod, covering)
	}
	for _, b := range covering {
		if p.v.Snapshot.PodDisruptionBudgets[b].NeverAllows {
			return p.one(b, pod, make(map[int]need))
		}
	}
	return model.Reason{}
}

// shared says that several budgets cover a pod, which the API server then refuses to evict.
func (p *Pods) shared(pod view.Pod, covering []int) model.Reason {
	ids := [2]string{p.v.Snapshot.PodDisruptionBudgets[covering[0]].ID, p.v.Snapshot.PodDisruptionBudgets[covering[1]].ID}
	return model.Reason{
		Code: model.CodePDB, Subject: "pod/" + string(pod.ID),
		Message: fmt.Sprintf("pod %s is covered by several PodDisruptionBudgets (%s, %s), so that it can't be evicted", pod.ID, ids[0], ids[1]),
		Remedy:  "let one PodDisruptionBudget cover the pod",
	}
}

// need is what some evictions ask of a budget.
type need struct {
	pods int
	// node is where the first of them is; several says that others are elsewhere.
	node    model.NodeName
	several bool
}

// Reason says why pods can't be evicted now; zero when they can. All together they must stay within each budget; but a
// budget that allows any, and that no other node uses which goes already or by this plan, lets one node go whatever it
// has: the drain takes its pods one after the other.
func (p *Pods) Reason(pods []int) model.Reason {
	needs := make(map[int]need)
	for _, i := range pods {
		pod := p.v.Pods[i]
		covering := p.of[pod.Class.Index]
		if len(covering) > 1 {
			return p.shared(pod, covering)
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
func (p *Pods) one(budget int, pod view.Pod, needs map[int]need) model.Reason {
	b := &p.v.Snapshot.PodDisruptionBudgets[budget]
	if !p.counts(budget, pod) {
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
		r.Message = fmt.Sprintf("PodDisruptionBudget %s of pod %s never allows an eviction", b.ID, pod.ID)
		r.Remedy = "let " + b.ID + " allow at least one disruption"
	case n.pods <= p.left[budget] || untouched && !n.several:
		return model.Reason{}
	default:
		others := ""
		if going := p.going[budget]; going > 0 {
			others = fmt.Sprintf(", and nodes that go already have %s of it", fit.Count(going, "pod"))
		}
		r.Message = fmt.Sprintf("PodDisruptionBudget %s of pod %s allows %s now%s; this plan has taken, or would need, more",
			b.ID, pod.ID, fit.Count(int(max(0, b.DisruptionsAllowed)), "eviction"), others)
		r.Remedy = "wait, or let " + b.ID + " allow more disruptions"
	}
	return r
}

// Take counts the evictions that this plan decides.
func (p *Pods) Take(pods []int) {
	for _, i := range pods {
		pod := p.v.Pods[i]
		for _, b := range p.of[pod.Class.Index] {
			if p.counts(b, pod) {
				p.left[b]--
			}
		}
	}
}
