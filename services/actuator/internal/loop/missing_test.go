package loop

import (
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// take takes Node objects out of the cluster, finalizers and all, while their instances run; kubelets do not notice.
func (r *rig) take(ids ...model.ClaimID) {
	r.kube.change(func() { r.kube.stuck = true })
	r.kube.Edit(func(s *cluster.State) {
		s.Nodes = slices.DeleteFunc(s.Nodes, func(n *cluster.Node) bool { return slices.Contains(ids, model.ClaimID(n.Labels[labels.Claim])) })
	})
}

func TestAnInstanceWhoseNodeWasTakenIsEnded(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1", "c2")
		r.take("c1")
		begun := time.Now()
		r.hasEvent("NodeClaim", "c1", "NodeMissing", "not in the cluster")
		r.reaches("c1", model.ClaimGone)
		if took := time.Since(begun); took < lifecycle.NodeMissingTimeout || took > lifecycle.NodeMissingTimeout+2*time.Minute {
			r.t.Errorf("gone after %s", took)
		}
		if c := r.claim("c2"); c.State != model.ClaimInitialized || len(r.alive()) != 1 {
			r.t.Errorf("c2 is %s, %d instances are alive, want it alone", c.State, len(r.alive()))
		}
	})
}

func TestANodeThatIsRegisteredAnewIsKept(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.take("c1")
		time.Sleep(lifecycle.NodeMissingTimeout - time.Minute)
		r.kube.change(func() { r.kube.stuck = false }) // as when the kubelet is started again
		time.Sleep(time.Hour)
		c := r.claim("c1")
		s, err := r.kube.Observe()
		if err != nil || c.State != model.ClaimInitialized || !c.Failure.OK() || len(s.Nodes) != 1 || !s.Nodes[0].Open() {
			r.t.Errorf("want the node in use again (%v)\n%s", err, r.dump())
		}
	})
}

func TestWhereManyNodesWereTakenNoInstanceIsEnded(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1", "c2", "c3", "c4")
		r.take("c1", "c2")
		r.hasEvent("NodeClaim", "c1", "NodeMissing", "not in the cluster")
		time.Sleep(time.Hour)
		r.hasEvent("NodeClaim", "c1", "NodeMissing", "2 of the cluster's 4 nodes are missing")
		if len(r.alive()) != 4 {
			r.t.Errorf("instances were ended\n%s", r.dump())
		}
		r.kube.Delete("NodeClaim", "c1")
		r.reaches("c1", model.ClaimGone)
	})
}

// A kubelet that is started again under another host name registers a second node; the first stays, because its
// instance is there.
func TestADrainGoesOnThoughTheKubeletRegisteredUnderASecondName(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.kube.run("c1", pod("web"))
		r.kube.Edit(func(s *cluster.State) {
			n := *s.Nodes[0]
			n.Name, n.UID, n.Pods = "zz-other-name", "uid-other", nil
			s.Nodes = append(s.Nodes, &n)
		})
		time.Sleep(time.Minute)
		if _, err := r.loop.Delete(r.t.Context(), "c1"); err != nil {
			r.t.Fatal(err)
		}
		r.reaches("c1", model.ClaimTerminating)
		if got := r.kube.evictions(); len(got) != 1 {
			r.t.Errorf("evicted %v, want the pod", got)
		}
	})
}

func TestAClaimOfAPoolThatIsDeletedMeanwhileLeavesNoInstance(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c0")
		r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.kube.Edit(func(s *cluster.State) { s.Pools = nil })
		r.reaches("c1", model.ClaimGone)
		if c := r.claim("c0"); c.State != model.ClaimInitialized || len(r.alive()) != 1 {
			r.t.Errorf("c0 is %s, %d instances are alive: want it alone, as its object is for its owner's end to delete", c.State, len(r.alive()))
		}
	})
}
