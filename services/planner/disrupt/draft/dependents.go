package draft

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/pack/settled"
)

// dependents are the places that this plan has found for pods that rely on others to be where they are, by the counts that
// they rely on. A later decision must not take those others away.
type dependents map[int32][]pack.Assignment

func (d dependents) clone() dependents {
	out := make(dependents, len(d))
	for n, list := range d {
		out[n] = slices.Clone(list)
	}
	return out
}

// noteDependents notes the places of pods that depend on others.
func (dr *Draft) noteDependents(assigned []pack.Assignment) {
	for _, a := range assigned {
		for _, n := range dr.Scheduler.Tally().Rules().DependsOn(dr.View.Pods[a.Pod].Class) {
			alike := func(x pack.Assignment) bool {
				return x.Host == a.Host && x.Claim == a.Claim && dr.View.Pods[x.Pod].Class == dr.View.Pods[a.Pod].Class
			}
			if !slices.ContainsFunc(dr.dependents[n], alike) {
				dr.dependents[n] = append(dr.dependents[n], a)
			}
		}
	}
}

// assignmentsOf are the places that a decision finds for pods.
func assignmentsOf(d *Decision) []pack.Assignment {
	out := slices.Clone(d.Destinations)
	for _, b := range d.Replacements {
		for _, it := range b.Items {
			for _, p := range it.Pods {
				out = append(out, pack.Assignment{Pod: p, Claim: b})
			}
		}
	}
	return out
}

// DependentsStay says whether pods that this plan has placed may still be there once the nodes of some more decisions
// are gone, whose pods have moved already; and whether the pods of all nodes that go may come back then, none waiting
// for another. What takes the place of those nodes joins before the first pod is bound: its pods of DaemonSets keep
// none from its turn. No pod was placed as if a static pool's replacement could be bought, so that all are asked about
// one.
func (dr *Draft) DependentsStay(more ...Decision) model.Reason {
	for _, n := range dr.countsOf(more) {
		for _, a := range dr.dependents[n] {
			if !settled.StillAllowed(dr.Scheduler.Tally(), pack.PlacedAs(dr.Scheduler, a)) {
				return dr.relied(a, "relies on its pods to be where they are")
			}
		}
	}
	back := newComeback(dr, more)
	if slices.ContainsFunc(more, func(d Decision) bool { return len(d.Replacements) > 0 }) {
		if a, some := back.firstRefused(); some {
			return dr.relied(a, "may not be bound there beside what would take its place")
		}
	}
	if a, some := back.stuck(); some {
		return dr.relied(a, "relies on its pods to be where they are")
	}
	return model.Reason{}
}

// replacesStatic says whether some decisions buy for a static pool.
func (dr *Draft) replacesStatic(decisions []Decision) bool {
	return slices.ContainsFunc(decisions, func(d Decision) bool {
		return slices.ContainsFunc(d.Replacements, func(b *purchase.NewClaim) bool { return b.Base.Pool.Replicas != nil })
	})
}

func (dr *Draft) relied(a pack.Assignment, how string) model.Reason {
	return model.Reason{
		Code:    model.CodeSuperseded,
		Message: fmt.Sprintf("pod %s, for which this plan finds a place, %s", dr.View.Pods[a.Pod].ID, how),
		Remedy:  "wait for the next plan",
	}
}

// countsOf are the counts that decisions change, by pods that leave, pods that end with their nodes, and those that new
// nodes bring.
func (dr *Draft) countsOf(decisions []Decision) (changed []int32) {
	rules := dr.Scheduler.Tally().Rules()
	for _, d := range decisions {
		for _, p := range d.Evicted {
			changed = append(changed, rules.CountedBy(dr.View.Pods[p].Class)...)
		}
		for _, h := range d.Hosts {
			for _, p := range dr.View.Hosts[h].Pods {
				if pod := &dr.View.Pods[p]; !pod.Movable() {
					changed = append(changed, rules.CountedBy(pod.Class)...)
				}
			}
		}
		for i := 0; i < len(rules.Daemons) && len(d.Replacements) > 0; i++ {
			changed = append(changed, rules.CountedBy(rules.Daemons[i])...)
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}
