package draft

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
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
		for _, n := range dr.Scheduler.DependsOn(dr.View.Pods[a.Pod].Class) {
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

// DependentsStay says whether pods that this plan has placed may still be there once some pods, which have left already,
// are gone.
func (dr *Draft) DependentsStay(evicted []int) model.Reason {
	if len(dr.dependents) == 0 {
		return model.Reason{}
	}
	var counts []int32
	for _, p := range evicted {
		counts = append(counts, dr.Scheduler.CountedBy(dr.View.Pods[p].Class)...)
	}
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		for _, a := range dr.dependents[n] {
			if !dr.Scheduler.StillAllowed(a) {
				return model.Reason{
					Code:    model.CodeSuperseded,
					Message: fmt.Sprintf("pod %s, for which this plan finds a place, relies on its pods to be where they are", dr.View.Pods[a.Pod].ID),
					Remedy:  "wait for the next plan",
				}
			}
		}
	}
	return model.Reason{}
}
