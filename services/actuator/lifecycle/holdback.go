package lifecycle

import (
	"iter"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// planWindow is how long a plan for the pods of an interrupted node is waited for.
	planWindow = 10 * time.Second
	// evictSlack is what the evictions of an interrupted node need beside the pods' own grace, at least.
	evictSlack = 45 * time.Second
)

// heldBack lists pods of an interrupted node that should wait a little: a claim for them is on its way, or a plan has not
// been made yet. No pod waits past the time that the evictions need: the pod's own grace and a slack, or half of what the
// notice leaves, whichever ends earlier. It says when the answer changes by itself, zero for never.
func heldBack(c model.Claim, n cluster.Node, claims iter.Seq[*model.Claim], now time.Time) (map[string]bool, time.Time) {
	if c.State != model.ClaimDraining || c.DisruptionReason != model.ReasonInterrupted || c.DrainDeadline.IsZero() {
		return nil, time.Time{}
	}
	coming, ready := placesOf(c.ID, claims)
	half := c.StateTime.Add(c.DrainDeadline.Sub(c.StateTime) / 2)
	planned := c.StateTime.Add(planWindow)
	held := map[string]bool{}
	var wake time.Time
	for _, p := range n.Pods {
		name := p.Namespace + "/" + p.Name
		until := earlier(half, c.DrainDeadline.Add(-p.GracePeriod-evictSlack))
		if !coming[model.PodID(name)] {
			until = earlier(until, planned)
		}
		if now.Before(until) && (coming[model.PodID(name)] || !ready[model.PodID(name)]) {
			held[name] = true
			wake = earlier(wake, until)
		}
	}
	return held, wake
}

// placesOf says for which pods a claim is on its way, and for which another than the given one is ready.
func placesOf(id model.ClaimID, claims iter.Seq[*model.Claim]) (coming, ready map[model.PodID]bool) {
	coming, ready = map[model.PodID]bool{}, map[model.PodID]bool{}
	for other := range claims {
		for _, p := range other.Pods {
			coming[p] = coming[p] || other.State.InFlight()
			ready[p] = ready[p] || (other.State == model.ClaimInitialized && other.ID != id)
		}
	}
	return coming, ready
}
