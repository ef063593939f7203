package view

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Arriving are those of some pods that were made in place of pods which a disruption moves, by the host that those were
// to be moved to. To plan for them as for any other would take the capacity that is kept for the next, and buy for
// these once more.
func Arriving(v *View, pods []int) map[*Host][]model.PodID {
	moves := replacing(v, func(r *model.DisruptionRecord) bool { return rules.Arriving(r, v.Now) })
	if len(moves) == 0 {
		return nil
	}
	waiting := make(map[string][]model.PodID)
	for _, p := range pods {
		if pod := v.Pods[p]; pod.Node == "" && pod.ExpectedNode == "" && pod.Class.OwnerUID != "" {
			waiting[pod.Class.OwnerUID] = append(waiting[pod.Class.OwnerUID], pod.ID)
		}
	}
	out := make(map[*Host][]model.PodID)
	for _, h := range v.Hosts {
		if h.Claim == nil || len(h.Claim.Arrivals) == 0 || !moves[h.Claim.Replaces] {
			continue
		}
		there := arrived(v, h)
		for _, a := range h.Claim.Arrivals {
			n := min(max(a.Pods-there[a.OwnerUID], 0), len(waiting[a.OwnerUID]))
			out[h] = append(out[h], waiting[a.OwnerUID][:n]...)
			waiting[a.OwnerUID] = waiting[a.OwnerUID][n:]
		}
	}
	return out
}

// Unmade is how many pods are still to come to a host in place of those that were moved to it, by what they will be
// most likely: one that is known of the same controller.
type Unmade struct {
	Host  int
	Class *Class
	Pods  int
}

// StillToCome lists the pods that are still to be made in place of those that a disruption has evicted, as long as it
// goes on: its replacements are open to all then. A controller takes a moment for that, and longer where it waits until
// the old pod has ended. placed says how many of a controller's pods that have no node, or end on theirs, the plan has
// on a host. Of a controller that has no pod left nothing is known, and one that makes none, because it was scaled down
// or its pods came elsewhere, is waited for all the same.
func StillToCome(v *View, placed func(host int, ownerUID string) int) []Unmade {
	ongoing := replacing(v, func(r *model.DisruptionRecord) bool { return r.EndTime.IsZero() && rules.Arriving(r, v.Now) })
	if len(ongoing) == 0 {
		return nil
	}
	alike := make(map[string]*Class)
	for _, c := range v.Classes {
		if alike[c.OwnerUID] == nil {
			alike[c.OwnerUID] = c
		}
	}
	var out []Unmade
	for i, h := range v.Hosts {
		if h.Claim == nil || len(h.Claim.Arrivals) == 0 || !ongoing[h.Claim.Replaces] || !v.Open(i) {
			continue
		}
		there := arrived(v, h)
		for _, a := range h.Claim.Arrivals {
			if n := a.Pods - there[a.OwnerUID] - placed(i, a.OwnerUID); n > 0 && alike[a.OwnerUID] != nil {
				out = append(out, Unmade{Host: i, Class: alike[a.OwnerUID], Pods: n})
			}
		}
	}
	return out
}

// replacing are the disruptions with replacements of which is says so.
func replacing(v *View, is func(*model.DisruptionRecord) bool) map[model.DisruptionID]bool {
	out := make(map[model.DisruptionID]bool)
	for i := range v.Snapshot.Disruptions {
		if r := &v.Snapshot.Disruptions[i]; len(r.Replacements) > 0 && is(r) {
			out[r.ID] = true
		}
	}
	return out
}

// arrived counts, by the controller's uid, the pods that a host need not wait for: those that are there, and those that
// are still to be moved to it.
func arrived(v *View, h *Host) map[string]int {
	out := make(map[string]int)
	for _, p := range h.Pods {
		out[v.Pods[p].Class.OwnerUID]++
	}
	for _, id := range h.Claim.Pods {
		if p, known := v.Find(id); known && !v.Pods[p].Terminating && v.Pods[p].Node != "" && (h.Node == nil || v.Pods[p].Node != h.Node.Name) {
			out[v.Pods[p].Class.OwnerUID]++
		}
	}
	return out
}
