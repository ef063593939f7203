package observed

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/jobs"
	"github.com/kerf-dev/kerf/services/core/model"
)

// kube is a cluster with one state, or none yet.
type kube struct {
	cluster.Cluster
	state cluster.State
	err   error
}

func (k *kube) Observe() (cluster.State, error) { return k.state, k.err }

func TestNodesAndPools(t *testing.T) {
	k := &kube{err: cluster.ErrNotReady}
	var a agenda.Agenda
	c := NewCluster(k, &a, slog.New(slog.DiscardHandler))
	a.Begin(time.Unix(0, 0))
	c.Look(t.Context())
	if next, _ := a.Next(); c.Known || !next.Equal(time.Unix(1, 0)) {
		t.Fatalf("known %v before the caches have filled; looked at again at %s", c.Known, next)
	}
	k.err = nil
	k.state = cluster.State{
		Nodes:         []*cluster.Node{{Name: "n1", ProviderID: "a"}, {Name: "n2", ProviderID: "b"}, {Name: "n3", ProviderID: "b"}, {Name: "n4"}},
		Pools:         []cluster.Pool{{NodePool: model.NodePool{Name: "a"}}, {NodePool: model.NodePool{Name: "c"}}},
		DeletedClaims: []model.ClaimID{"c1", "c3"},
	}
	c.Look(t.Context())
	if n := c.Node(&model.Claim{ProviderID: "a"}); n == nil || n.Name != "n1" {
		t.Errorf("%+v, want n1", n)
	}
	for _, id := range []string{"b", "", "other"} {
		if n := c.Node(&model.Claim{ProviderID: id}); n != nil {
			t.Errorf("provider id %q: %s, want none", id, n.Name)
		}
	}
	if c.Pool("c") == nil || c.Pool("b") != nil || !c.Deleted("c3") || c.Deleted("c2") {
		t.Error("pools or deleted claims are not found by name")
	}
	k.err = cluster.ErrNotReady
	if c.Look(t.Context()); !c.Known || c.Node(&model.Claim{ProviderID: "a"}) == nil {
		t.Error("a look that failed has thrown the last one away")
	}
}

func TestInstancesAreAskedForMoreOftenWhileOneIsExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ec2 := cloudtest.New(&catalog.Catalog{}, time.Now, 0)
		var a agenda.Agenda
		pool := jobs.New(&a, 1, 1)
		s := NewInstances(ec2, &a, pool, slog.New(slog.DiscardHandler), Intervals{Poll: 30 * time.Second, Fast: time.Second})
		next := func(expecting bool) time.Duration {
			begun := s.Listed
			for s.Listed.Equal(begun) {
				a.Begin(time.Now())
				s.Poll(t.Context(), expecting)
				at, _ := a.Next()
				if at.IsZero() {
					at = time.Now().Add(time.Millisecond)
				}
				select {
				case f := <-pool.Results():
					f()
				case <-time.After(time.Until(at)):
				}
			}
			return s.Listed.Sub(begun)
		}
		next(false)
		if d := next(false); d != 30*time.Second {
			t.Errorf("asked again after %s", d)
		}
		if d := next(true); d != time.Second {
			t.Errorf("asked again after %s while an instance is expected", d)
		}
		s.PollNow()
		if d := next(false); d > 2*time.Second {
			t.Errorf("asked again after %s when it was to be at once", d)
		}
		pool.Wait()
	})
}

func TestAliveInstance(t *testing.T) {
	s := &Instances{byClaim: map[model.ClaimID][]cloud.Instance{"c1": {{ID: "i-1", State: cloud.Terminated}, {ID: "i-2", State: cloud.Running}}}}
	if s.Alive(&model.Claim{ID: "c1", InstanceID: "i-1"}) != nil || s.Alive(&model.Claim{ID: "c1", InstanceID: "i-2"}) == nil {
		t.Error("want i-2 and not i-1, which has ended")
	}
}
