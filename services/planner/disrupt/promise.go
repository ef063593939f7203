package disrupt

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/pack"
)

// promises are the places that this plan has found for pods that rely on others to be where they are, by the counts that
// they rely on. A later decision must not take those others away.
type promises map[int32][]pack.Assignment

// promise notes the seats of pods that rely on others.
func (s *search) promise(seats []pack.Assignment) {
	for _, seat := range seats {
		for _, n := range s.Scheduler.DependsOn(s.v.Pods[seat.Pod].Class) {
			alike := func(x pack.Assignment) bool {
				return x.Host == seat.Host && x.Claim == seat.Claim && s.v.Pods[x.Pod].Class == s.v.Pods[seat.Pod].Class
			}
			if !slices.ContainsFunc(s.promises[n], alike) {
				s.promises[n] = append(s.promises[n], seat)
			}
		}
	}
}

// seatsOf are the places that a decision finds for pods.
func seatsOf(d *Decision) []pack.Assignment {
	out := slices.Clone(d.Spots)
	for _, b := range d.Replacements {
		for _, it := range b.Items {
			for _, p := range it.Pods {
				out = append(out, pack.Assignment{Pod: p, Claim: b})
			}
		}
	}
	return out
}

// kept says whether what was promised before still holds once some pods, who have left already, are gone.
func (s *search) kept(evicted []int) model.Reason {
	if len(s.promises) == 0 {
		return model.Reason{}
	}
	var counts []int32
	for _, p := range evicted {
		counts = append(counts, s.Scheduler.CountedBy(s.v.Pods[p].Class)...)
	}
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		for _, seat := range s.promises[n] {
			if !s.Scheduler.StillAllowed(seat) {
				return model.Reason{
					Code:    model.CodeSuperseded,
					Message: fmt.Sprintf("pod %s, for which this plan finds a place, relies on its pods to be where they are", s.v.Pods[seat.Pod].ID),
					Remedy:  "wait for the next plan",
				}
			}
		}
	}
	return model.Reason{}
}
