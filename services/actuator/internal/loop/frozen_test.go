package loop

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// A driver whose caches of pods and nodes stand still finds the same pods pending each time that its claims have become
// nodes, which it does not see: it asks for new ones, for ever.
func TestADriverWhosePodsStandStillBuysOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withPods(t, "containers: [{name: main, resources: {requests: {cpu: 100m}}}]", "a", "b")
		pods := []model.PodID{"default/a", "default/b"}
		r.accepted(claimFor("c0", pods...))
		r.until("pods are bound", time.Minute, func() bool { return r.pods("c0") == 2 })
		r.reaches("c0", model.ClaimInitialized)
		for round := 1; round < 5; round++ {
			time.Sleep(2 * time.Minute)
			if round == 3 {
				r.kube.Edit(func(s *cluster.State) { s.Nodes[0].Pods = nil }) // they have ended, and others have come
			}
			for _, v := range r.apply(claimFor(fmt.Sprintf("c%d", round), pods...)) {
				if v.Accepted || v.Reason.Code != model.CodeStale {
					t.Errorf("round %d: %+v, want it stale", round, v)
				}
			}
		}
		if alive := r.alive(); len(alive) != 1 {
			t.Errorf("instances %v, want one", alive)
		}
		r.accepted(claimFor("new", "default/a", "default/new")) // one that is new here may be newer than what is known here
	})
}
