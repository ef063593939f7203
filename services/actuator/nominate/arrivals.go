package nominate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Arrivals are how many pods are to come to a claim, by the uid of the controller that makes them.
type Arrivals map[string]int

// ArrivalsOf are those in place of the pods that a claim is bought for, which run on nodes that go. Their names are not
// known before they are there. Those that nothing makes again are not counted.
func ArrivalsOf(bought []model.PodID, going []cluster.Node) []model.Arrivals {
	count := map[string]int{}
	for i := range going {
		for _, p := range going[i].Pods {
			if _, moves := slices.BinarySearch(bought, model.PodID(p.Namespace+"/"+p.Name)); moves && p.Owner != "" && !p.Daemon {
				count[p.Owner]++
			}
		}
	}
	var out []model.Arrivals
	for _, owner := range slices.Sorted(maps.Keys(count)) {
		out = append(out, model.Arrivals{OwnerUID: owner, Pods: count[owner]})
	}
	return out
}

// To are the arrivals of a claim.
func To(c *model.Claim) Arrivals {
	out := Arrivals{}
	for _, a := range c.Arrivals {
		out[a.OwnerUID] = a.Pods
	}
	return out
}

// Next are the pods to let in now: of those that wait, as many of each controller as are still to come after those that
// have. Waiting lists the pods of a controller that have no node, of which those that preemption has nominated stay
// where they are; came are those that have been let in, by id, with their controllers, and refused those that can't be.
func (a Arrivals) Next(waiting func(owner string) []cluster.UnboundPod, came map[model.PodID]string, refused map[model.PodID]bool) []cluster.UnboundPod {
	var out []cluster.UnboundPod
	for owner, n := range a.without(came) {
		for _, p := range waiting(owner) {
			if _, is := came[p.ID]; !is && !refused[p.ID] && n > 0 && (p.Nominated == "" || p.ByKerf) {
				out, n = append(out, p), n-1
			}
		}
	}
	slices.SortFunc(out, func(a, b cluster.UnboundPod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// without are those that are still to come.
func (a Arrivals) without(came map[model.PodID]string) Arrivals {
	left := maps.Clone(a)
	for _, owner := range came {
		if left[owner] > 0 {
			left[owner]--
		}
	}
	return left
}

// Missing is how many are still to come.
func (a Arrivals) Missing(came map[model.PodID]string) int {
	sum := 0
	for _, n := range a.without(came) {
		sum += n
	}
	return sum
}
