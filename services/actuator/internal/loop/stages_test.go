package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// stages is a cluster of three nodes with a pod each, of which c1 and c2 are to go in stages, and budgets let one node
// go at a time. Pods are not let go yet.
func stages(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.start()
	r.grow("c1", "c2", "c3")
	r.kube.run("c1", pod("a"))
	r.kube.run("c2", pod("b"))
	r.kube.Edit(func(s *cluster.State) { s.Pools[0].Budgets = []model.DisruptionBudget{{Count: 1}} })
	r.kube.change(func() { r.kube.budget = true })
	p := removal("d", model.ReasonUnderutilized, []model.ClaimID{"c1", "c2"}, "c5.large")
	p.Disruptions[0].Staged, p.Disruptions[0].Saving = true, 1000
	r.accepted(p)
	r.reaches("c1", model.ClaimDraining)
	return r
}

func TestNodesOfAStagedDisruptionAreDrainedAsBudgetsLetThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stages(t)
		time.Sleep(time.Minute)
		if c := r.claim("c2"); c.State != model.ClaimInitialized || !r.hasTaint("c2") {
			t.Fatalf("c2 is %s, tainted %v, while c1 is being drained; want that it waits, closed to new pods", c.State, r.hasTaint("c2"))
		}
		r.rejected(removal("d2", model.ReasonUnderutilized, []model.ClaimID{"c3"}), model.CodeBudget)
		r.kube.change(func() { r.kube.budget = false })
		r.until("c2 is drained", time.Minute, func() bool { return r.claim("c2").State >= model.ClaimDraining })
		r.reaches("c2", model.ClaimGone)
		r.until("the disruption has ended", time.Minute, func() bool { return !r.record("d").EndTime.IsZero() })
	})
}

func TestABudgetOfNoneStopsAStagedDisruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stages(t)
		r.kube.Edit(func(s *cluster.State) { s.Pools[0].Budgets = []model.DisruptionBudget{{}} })
		r.kube.change(func() { r.kube.budget = false })
		r.reaches("c1", model.ClaimGone)
		time.Sleep(10 * time.Minute)
		if c := r.claim("c2"); c.State != model.ClaimInitialized {
			t.Fatalf("c2 is %s; want that it waits", c.State)
		}
		r.until("c2 is let stay", 30*time.Minute, func() bool { return r.claim("c2").Disruption == "" && !r.hasTaint("c2") })
		if d := r.record("d"); d.EndTime.IsZero() || d.RolledBack {
			t.Errorf("%+v, want that it has ended", d)
		}
		r.hasEvent("NodeClaim", "c2", "DisruptionRolledBack", "its turn did not come")
		r.kube.Edit(func(s *cluster.State) { s.Pools[0].Budgets = nil })
		r.accepted(removal("d3", model.ReasonUnderutilized, []model.ClaimID{"c2"}))
	})
}
