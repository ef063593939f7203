package loop

import (
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// memoryOf is how much memory a node of the type is shown to have, in MiB.
func (r *rig) memoryOf(name model.TypeName) int64 {
	inv, _, _ := r.loop.Shown()
	if inv == nil {
		return 0
	}
	for _, c := range inv.Catalogs {
		for _, t := range c.InstanceTypes {
			if t.Name == name {
				return t.Capacity.Value("memory") >> 20
			}
		}
	}
	return 0
}

// A node that has less memory than its type was thought to have is not bought again for the pod that does not fit it:
// planners are shown what such nodes have as soon as it has told, the next leader's as well.
func TestWhatNodesLackIsShownToPlanners(t *testing.T) {
	leads(t, func(r *rig) {
		r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.xlarge")}})
		before := r.memoryOf("m5.xlarge")
		r.reaches("c1", model.ClaimInitialized)
		const reported = 8192
		r.until("less memory is shown", 2*time.Second, func() bool { return r.memoryOf("m5.xlarge") == reported })
		if before <= reported || r.memoryOf("m5.large") >= reported {
			r.t.Errorf("m5.xlarge was thought to have %d MiB; m5.large has %d", before, r.memoryOf("m5.large"))
		}
		time.Sleep(2 * time.Minute) // it was kept by then
		r.apply(model.Plan{ID: "p2", Disruptions: []model.Disruption{{ID: "d1", Reason: model.ReasonEmpty, Candidates: []model.ClaimID{"c1"}}}})
		r.reaches("c1", model.ClaimGone)
		r.stop()
		r.start()
		r.until("the next leader shows it", time.Minute, func() bool { return r.memoryOf("m5.xlarge") > 0 })
		if got := r.memoryOf("m5.xlarge"); got != reported {
			r.t.Errorf("the next leader takes m5.xlarge to have %d MiB, want %d", got, reported)
		}
	})
}
