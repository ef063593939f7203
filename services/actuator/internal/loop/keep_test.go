package loop

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// moving is a plan that removes c1, whose pods go to a replacement, d-r0, but for those named.
func moving(pods []string, elsewhere ...string) model.Plan {
	p := removal("d", model.ReasonUnderutilized, []model.ClaimID{"c1"}, "c5.large")
	for _, name := range pods {
		id := model.PodID("default/" + name)
		to := model.Placement{Pod: id, Claim: "d-r0"}
		if slices.Contains(elsewhere, name) {
			to = model.Placement{Pod: id, Node: "elsewhere"}
		} else {
			p.NodeClaims[0].Pods = append(p.NodeClaims[0].Pods, id)
		}
		p.Disruptions[0].Destinations = append(p.Disruptions[0].Destinations, to)
	}
	p.NodeClaims[0].Requests = model.Amounts{{Resource: model.CPU, Value: 100 * int64(len(p.NodeClaims[0].Pods))}}
	p.Disruptions[0].Evictions, p.Disruptions[0].Saving = len(pods), 1000
	return p
}

// made applies a pod that a controller has made and that has no node.
func (r *rig) made(name, owner string) {
	r.t.Helper()
	if err := r.kube.Apply(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default, ownerReferences: [
  {apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: %s, controller: true}]}, spec: {containers: [{name: main, resources: {requests: {cpu: 100m}}}]}}`,
		name, owner, owner)); err != nil {
		r.t.Error(err)
	}
}

// remakes makes a pod anew as soon as it is evicted, as its controller does, under another name.
func (r *rig) remakes() {
	r.kube.OnEvict = func(e cluster.Eviction) error {
		go r.made(e.Name+"-again", "rs")
		return nil
	}
}

func (r *rig) evicted(names ...string) bool {
	var got []string
	for _, e := range r.kube.Evictions() {
		got = append(got, e.Name)
	}
	slices.Sort(got)
	return slices.Equal(slices.Compact(got), names)
}

func names(n *cluster.Node) []string {
	var out []string
	for _, p := range n.Pods {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

func shut(n *cluster.Node, e model.TaintEffect) bool {
	return slices.Contains(n.Taints, model.Taint{Key: labels.TaintRemovalDeferred, Effect: e})
}

func keeps(t *testing.T, pods ...string) *rig {
	t.Helper()
	r := newRig(t)
	r.cfg = func(c *Config) { c.Nominator = r.kube }
	r.start()
	r.grow("c1", "c2")
	for _, name := range pods {
		r.kube.run("c1", pod(name))
	}
	return r
}

func TestPodsThatAreMovedComeToTheReplacementThatIsKeptForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a", "b", "c")
		r.remakes()
		r.made("stranger", "another")
		r.accepted(moving([]string{"a", "b", "c"}))
		r.until("the replacement is in use", time.Minute, func() bool { return r.claim("d-r0").State == model.ClaimInitialized })
		if r.node("d-r0").Open() {
			t.Error("the replacement is open before the pods are there")
		}
		r.until("the replacement is open", time.Minute, func() bool { return r.node("d-r0").Open() })
		if got, want := names(r.node("d-r0")), []string{"a-again", "b-again", "c-again"}; !slices.Equal(got, want) {
			t.Errorf("pods %v are there when it opens, want %v", got, want)
		}
		if !r.claim("c1").State.Ended() && r.claim("c1").State < model.ClaimDraining {
			t.Errorf("c1 is %s", r.claim("c1").State)
		}
	})
}

func TestPodsThatGoElsewhereAreMovedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a", "b", "c")
		var order []string
		r.kube.OnEvict = func(e cluster.Eviction) error {
			order = append(order, e.Name)
			go r.made(e.Name+"-again", "rs")
			return nil
		}
		r.accepted(moving([]string{"a", "b", "c"}, "c"))
		r.until("all are evicted", time.Minute, func() bool { return r.evicted("a", "b", "c") })
		if order[0] != "c" {
			t.Errorf("evicted in the order %v, want c first, which goes to a node that is open", order)
		}
	})
}

func TestAReplacementIsNotKeptForLong(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig)
		most time.Duration // from when it is in use
	}{
		"no pods come":             {func(*rig) {}, 5 * time.Second}, // of which two are the drain's, which some may come to
		"a pod is not let go":      {func(r *rig) { r.kube.change(func() { r.kube.budget = true }) }, 11 * time.Second},
		"a pod is the scheduler's": {func(r *rig) { r.remakesWithPort() }, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := keeps(t, "a")
				c.do(r)
				r.accepted(moving([]string{"a"}))
				r.reaches("d-r0", model.ClaimInitialized)
				since := time.Now()
				r.until("it is open", time.Minute, func() bool { return r.node("d-r0").Open() })
				if took := time.Since(since); took > c.most {
					t.Errorf("it opened after %s, want %s at most", took, c.most)
				}
			})
		})
	}
}

// remakesWithPort makes pods anew that Kerf does not bind.
func (r *rig) remakesWithPort() {
	r.kube.OnEvict = func(e cluster.Eviction) error {
		go func() {
			if err := r.kube.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: again, namespace: default, ownerReferences: [
  {apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: rs, controller: true}]}, spec: {containers: [{name: main, ports: [{containerPort: 80, hostPort: 80}]}]}}`); err != nil {
				r.t.Error(err)
			}
		}()
		return nil
	}
}

func TestNodesThatGoLaterAreShutWhilePodsAreMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a")
		r.remakes()
		yes := true
		p := moving([]string{"a"})
		p.Nodes = []model.NodeVerdict{{Claim: "c2", Deferred: &yes}}
		r.accepted(p)
		r.until("c2 is shut", time.Minute, func() bool { return shut(r.node("c2"), model.NoSchedule) })
		if shut(r.node("c2"), model.PreferNoSchedule) {
			t.Error("it has the other taint as well")
		}
		r.until("c1 is gone", time.Minute, func() bool { return r.claim("c1").State == model.ClaimGone })
		r.until("c2 is to be avoided only", time.Minute, func() bool {
			return shut(r.node("c2"), model.PreferNoSchedule) && !shut(r.node("c2"), model.NoSchedule)
		})
	})
}

func TestANodeThatGoesLaterStaysOpenForPodsThatThePlanHasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a")
		r.made("waits", "another")
		yes := true
		p := moving([]string{"a"})
		p.Nodes = []model.NodeVerdict{{Claim: "c2", Deferred: &yes}}
		p.Placements = []model.Placement{{Pod: "default/waits", Node: r.node("c2").Name}}
		r.accepted(p)
		r.reaches("d-r0", model.ClaimInitialized)
		time.Sleep(time.Second)
		if n := r.node("c2"); shut(n, model.NoSchedule) || !shut(n, model.PreferNoSchedule) {
			t.Errorf("its taints are %v", n.Taints)
		}
	})
}

func TestAKeptReplacementTakesPodsThatTheNewestPlanHasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a", "b") // which find a place elsewhere, and take it from another
		r.made("another", "another")
		p := moving([]string{"a", "b"})
		p.NodeClaims[0].Requests = model.Amounts{{Resource: model.CPU, Value: 1900}} // nearly all that it has
		p.Placements = []model.Placement{{Pod: "default/another", Claim: "d-r0"}}
		r.accepted(p)
		r.until("the replacement is open", time.Minute, func() bool { return r.node("d-r0").Open() })
		if got := names(r.node("d-r0")); !slices.Equal(got, []string{"another"}) {
			t.Errorf("pods %v are there when it opens, want the other one", got)
		}
	})
}

func TestANewLeaderOpensWhatWasKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a")
		r.kube.change(func() { r.kube.budget = true })
		r.accepted(moving([]string{"a"}))
		r.reaches("d-r0", model.ClaimInitialized)
		if r.node("d-r0").Open() {
			t.Fatal("it is not kept")
		}
		r.stop()
		r.start()
		r.until("it is open", 5*time.Second, func() bool { return r.node("d-r0").Open() })
	})
}

// A device plugin that does not tolerate Kerf's taint comes to a node once it is open: until then the node does not
// offer the device.
func TestAReplacementForPodsWithDevicesIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a")
		p := moving([]string{"a"})
		p.NodeClaims[0].Requests = append(p.NodeClaims[0].Requests, model.Amount{Resource: "nvidia.com/gpu", Value: 1})
		r.accepted(p)
		r.until("the replacement joins", time.Minute, func() bool { return r.claim("d-r0").State == model.ClaimRegistered })
		if !r.node("d-r0").Open() {
			t.Error("it is closed")
		}
	})
}

func TestAReplacementThatDoesNotBecomeReadyOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a")
		r.kube.change(func() { r.kube.neverReady = true })
		r.accepted(moving([]string{"a"}))
		r.until("the replacement joins", time.Minute, func() bool { return r.claim("d-r0").State == model.ClaimRegistered })
		joined := time.Now()
		if r.node("d-r0").Open() {
			t.Error("it is open at once")
		}
		r.until("it is open", 2*time.Minute, func() bool { return r.node("d-r0").Open() })
		if took := time.Since(joined); took > time.Minute+time.Second {
			t.Errorf("it is closed for %s", took)
		}
		time.Sleep(time.Minute)
		if !r.node("d-r0").Open() {
			t.Error("it is closed again")
		}
	})
}

func TestADrainThatIsStuckShutsNoOtherNodeForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := keeps(t, "a")
		r.kube.change(func() { r.kube.budget = true })
		yes := true
		p := moving([]string{"a"})
		p.Nodes = []model.NodeVerdict{{Claim: "c2", Deferred: &yes}}
		r.accepted(p)
		r.until("c2 is shut", time.Minute, func() bool { return shut(r.node("c2"), model.NoSchedule) })
		since := time.Now()
		r.until("c2 is to be avoided only", 2*time.Minute, func() bool { return !shut(r.node("c2"), model.NoSchedule) })
		if took := time.Since(since); took > 40*time.Second || r.claim("c1").State != model.ClaimDraining {
			t.Errorf("it was shut for %s; c1 is %s", took, r.claim("c1").State)
		}
	})
}
