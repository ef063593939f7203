package apply

import (
	"slices"
	"testing"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// on is a node with pods of the namespace d.
func on(name string, pods ...string) *cluster.Node {
	n := &cluster.Node{Name: model.NodeName(name), Ready: true}
	for _, p := range pods {
		n.Pods = append(n.Pods, cluster.Pod{Namespace: "d", Name: p})
	}
	return n
}

// waits is a cache in which these pods wait for a node.
func waits(pods ...model.PodID) func(model.PodID) (cluster.UnboundPod, bool) {
	return func(id model.PodID) (cluster.UnboundPod, bool) {
		return cluster.UnboundPod{ID: id}, slices.Contains(pods, id)
	}
}

func TestClaimsThatNoPodNeeds(t *testing.T) {
	claimed := func(s *State, change func(c *model.Claim)) { // bought for d/a and d/b, an hour ago
		c := s.Claims["old"]
		c.ID, c.Pods, c.CreateTime = "before", []model.PodID{"d/a", "d/b"}, at(-60)
		if change != nil {
			change(&c)
		}
		s.Claims["before"], s.Created["before"] = c, 20
	}
	for name, c := range map[string]struct {
		claim func(*model.NodeClaim)
		state func(*State)
		want  model.Code
	}{
		"all pods run": {
			state: func(s *State) { s.AllNodes = []*cluster.Node{on("n1", "a"), on("n2", "x", "b")} }, want: model.CodeStale,
		},
		"all pods run, as was seen before pods were seen no more": {
			state: func(s *State) {
				s.AllNodes, s.PodsUnseen = []*cluster.Node{on("n1", "a"), on("n2", "x", "b")}, true
			},
		},
		"a pod has finished, and one is about to end": {
			state: func(s *State) {
				s.AllNodes = []*cluster.Node{on("n1", "a", "b")}
				s.AllNodes[0].Pods[0].Finished, s.AllNodes[0].Pods[1].DeletionTime = true, at(1)
			},
			want: model.CodeStale,
		},
		"one of them waits": {
			state: func(s *State) { s.AllNodes, s.Unbound = []*cluster.Node{on("n1", "a")}, waits("d/b") },
		},
		"one of them is new here": { // the watcher has seen it a moment earlier
			state: func(s *State) { s.AllNodes, s.Unbound = []*cluster.Node{on("n1", "a")}, waits() },
		},
		"both were seen an hour ago, and are gone": {
			state: func(s *State) { s.Unbound = waits(); claimed(s, nil) }, want: model.CodeStale,
		},
		"both are gone, as was seen before pods were seen no more": {
			state: func(s *State) { s.Unbound, s.PodsUnseen = waits(), true; claimed(s, nil) },
		},
		"one runs, and one is gone": {
			state: func(s *State) { s.AllNodes, s.Unbound = []*cluster.Node{on("n1", "a")}, waits(); claimed(s, nil) }, want: model.CodeStale,
		},
		"they are evicted from a node that goes": { // and what takes their place is not in the plan yet
			state: func(s *State) {
				s.Unbound = waits()
				claimed(s, func(c *model.Claim) { c.State = model.ClaimDraining })
			},
		},
		"they are gone from a node that goes": {
			state: func(s *State) {
				s.Unbound = waits()
				claimed(s, func(c *model.Claim) { c.Disruption = "d-1" })
			},
		},
		"they have a node that they do not go to": {
			state: func(s *State) { s.Unbound = waits("d/a", "d/b"); claimed(s, nil) },
		},
		"who waits is not known": {
			state: func(s *State) { claimed(s, nil) },
		},
		"the node that was for them never came": {
			state: func(s *State) {
				s.Unbound = waits()
				claimed(s, func(c *model.Claim) { c.State, c.Reached = model.ClaimFailed, model.ClaimLaunched })
			},
		},
		"they were seen a moment ago": {
			state: func(s *State) {
				s.Unbound = waits()
				claimed(s, func(c *model.Claim) { c.CreateTime = at(0).Add(-20 * time.Second) })
			},
		},
		"their node goes": {
			state: func(s *State) {
				s.AllNodes, s.Unbound = []*cluster.Node{on("n1", "a", "b")}, waits()
				s.AllNodes[0].Taints = []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}
				claimed(s, nil)
			},
		},
		"their node is deleted": {
			state: func(s *State) { s.AllNodes = []*cluster.Node{on("n1", "a", "b")}; s.AllNodes[0].Terminating = true },
		},
		"their claim goes": {
			state: func(s *State) {
				s.AllNodes = []*cluster.Node{on("n-old", "a", "b")}
				c := s.Claims["old"]
				c.Disruption = "d-1"
				s.Claims["old"] = c
			},
		},
		"AWS is about to take their node": {
			state: func(s *State) {
				s.AllNodes = []*cluster.Node{on("n-old", "a", "b")}
				s.Interrupted = rules.InterruptedBy(slices.Values([]model.Notice{{Kind: model.NoticeSpotInterruption, Claim: "old"}}))
			},
		},
		"one is a pod of a buffer, which never exists": {
			claim: func(w *model.NodeClaim) { w.Pods[1] = "buffer/d/spare/0" },
			state: func(s *State) {
				s.AllNodes, s.Unbound = []*cluster.Node{on("n1", "a")}, waits()
				claimed(s, func(c *model.Claim) { c.Pods[1] = "buffer/d/spare/0" })
			},
		},
		"the pool is static": {
			state: func(s *State) {
				s.AllNodes = []*cluster.Node{on("n1", "a", "b")}
				p := s.Pools["default"]
				p.Replicas = new(int64)
				*p.Replicas = 5
				s.Pools["default"] = p
			},
		},
		"no pod is named": {claim: func(w *model.NodeClaim) { w.Pods = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := one(), state()
			w.Pods = []model.PodID{"d/a", "d/b"}
			if c.claim != nil {
				c.claim(&w)
			}
			if c.state != nil {
				c.state(&s)
			}
			if got := code(t, Verify(plan(w), s), "new"); got != c.want {
				t.Errorf("code %v, want %v", got, c.want)
			}
		})
	}
}

// The pods that a replacement is for run on the nodes that go, and nothing says yet that these do.
func TestReplacementsAreForPodsThatRun(t *testing.T) {
	s, w := state(), one()
	w.Disruption, w.Pods = "d-1", []model.PodID{"d/web"}
	w.Offerings = []model.RankedOffering{offering("c5.large", "a", 85_000)}
	s.AllNodes = []*cluster.Node{on("n-old", "web")}
	p := plan(w)
	p.Disruptions = []model.Disruption{{
		ID: "d-1", Reason: model.ReasonUnderutilized, Candidates: []model.ClaimID{"old"}, Replacements: []model.ClaimID{"new"},
		Destinations: []model.Placement{{Pod: "d/web", Claim: "new"}}, Evictions: 1,
	}}
	if got := code(t, Verify(p, s), "new"); got != 0 {
		t.Errorf("code %v, want it accepted", got)
	}
}
