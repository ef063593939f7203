package nominating

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/nominate"
	"github.com/kerf-dev/kerf/services/core/model"
)

// TestANodeStaysClosedForAsLongAsTheStreamOfPodsIsLate has a binding come back after a while.
func TestANodeStaysClosedForAsLongAsTheStreamOfPodsIsLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bound      map[model.PodID]bool
		late, want time.Duration
	}{
		"no pod was bound":        {map[model.PodID]bool{"shop/a": false}, time.Hour, 0},
		"the stream is in time":   {map[model.PodID]bool{"shop/a": true}, 0, leastSettling},
		"the stream is late":      {map[model.PodID]bool{"shop/a": true, "shop/b": false}, 300 * time.Millisecond, 1200 * time.Millisecond},
		"the stream says nothing": {map[model.PodID]bool{"shop/a": true}, time.Hour, mostUnseen + mostSettling},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := &binding{bound: c.bound, opening: opening{world: nominate.World{
					Unbound: func(model.PodID) (cluster.UnboundPod, bool) { return cluster.UnboundPod{}, time.Since(began) < c.late },
				}}}
				b.settle(t.Context())
				if took := time.Since(began); took != c.want {
					t.Errorf("the node is open after %v, want %v", took, c.want)
				}
			})
		})
	}
}
