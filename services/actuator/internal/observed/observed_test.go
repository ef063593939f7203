package observed

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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
		DeletedClaims: []model.ClaimID{"c1", "c3"}, ClaimObjects: []model.ClaimID{"c1", "c3", "c4"},
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
	if n := c.Node(&model.Claim{ProviderID: "b", Node: "n3"}); n == nil || n.Name != "n3" {
		t.Errorf("%+v, want the node that the claim joined as", n)
	}
	if n := c.Node(&model.Claim{ProviderID: "b", Node: "n1"}); n != nil {
		t.Errorf("%s is another instance's", n.Name)
	}
	if c.Pool("c") == nil || c.Pool("b") != nil {
		t.Error("pools are not found by name")
	}
	for _, x := range []struct {
		claim   model.Claim
		deleted bool
	}{
		{model.Claim{ID: "c3", NodePool: "a"}, true},
		{model.Claim{ID: "c2", NodePool: "a", State: model.ClaimPlanned}, false},
		{model.Claim{ID: "c2", NodePool: "gone", State: model.ClaimPlanned}, true},
		{model.Claim{ID: "c4", NodePool: "gone", State: model.ClaimLaunching}, false}, // it has an object, which goes or stays as its user wants
		{model.Claim{ID: "c2", NodePool: "gone", State: model.ClaimInitialized}, false},
	} {
		if c.Deleted(&x.claim) != x.deleted {
			t.Errorf("%s of pool %s, %s: deleted %v", x.claim.ID, x.claim.NodePool, x.claim.State, !x.deleted)
		}
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
		expected := map[bool][]model.ClaimID{true: {"c1"}}
		next := func(expecting bool) time.Duration {
			begun := s.asked
			for s.asked.Equal(begun) {
				a.Begin(time.Now())
				s.Poll(t.Context(), expected[expecting])
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
			return s.asked.Sub(begun)
		}
		next(false)
		if d := next(false); d != 30*time.Second {
			t.Errorf("asked again after %s", d)
		}
		for _, want := range []time.Duration{1, 2, 4, 4} { // nothing changes
			if d := next(true); d > want*time.Second || d < want*time.Second/2 {
				t.Errorf("asked again after %s while an instance is expected, want %s", d, want*time.Second)
			}
		}
		s.PollNow("")
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

// lists is an EC2 that answers with what it has of the claims, and notes who was asked for.
type lists struct {
	cloud.Cloud
	has   []cloud.Instance
	asked [][]model.ClaimID
}

func (l *lists) Instances(_ context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	var claims []model.ClaimID
	for _, x := range some {
		claims = append(claims, x.Claim)
	}
	l.asked = append(l.asked, claims)
	return slices.DeleteFunc(slices.Clone(l.has), func(i cloud.Instance) bool { return len(claims) > 0 && !slices.Contains(claims, i.Claim) }), nil
}

func TestOnlyWhatIsExpectedIsAskedForBetweenTwoLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := func(claim model.ClaimID) cloud.Instance {
			return cloud.Instance{ID: "i-" + string(claim), Claim: claim, State: cloud.Running}
		}
		ec2 := &lists{has: []cloud.Instance{running("a"), running("b"), running("c")}}
		var a agenda.Agenda
		pool := jobs.New(&a, 1, 1)
		s := NewInstances(ec2, &a, pool, slog.New(slog.DiscardHandler), Intervals{Poll: 30 * time.Second, Fast: time.Second})
		poll := func(expecting ...model.ClaimID) {
			time.Sleep(2 * time.Second)
			a.Begin(time.Now())
			s.Poll(t.Context(), expecting)
			(<-pool.Results())()
		}
		poll()
		if got := slices.Sorted(maps.Keys(s.Touched())); !slices.Equal(got, []model.ClaimID{"a", "b", "c"}) {
			t.Errorf("%v have changed by the first list", got)
		}
		ec2.has = []cloud.Instance{running("b")}
		s.PollNow("c")
		poll("b")
		if got := ec2.asked[1]; !slices.Equal(got, []model.ClaimID{"b", "c"}) {
			t.Fatalf("asked for %v", got)
		}
		if got := slices.Sorted(maps.Keys(s.Touched())); !slices.Equal(got, []model.ClaimID{"c"}) {
			t.Errorf("%v have changed, want c: a was not asked for, and b is as before", got)
		}
		if len(s.All) != 2 || len(s.Of("a")) != 1 || len(s.Of("c")) != 0 || !s.AskedAt("c").After(s.AskedAt("a")) {
			t.Errorf("left are %v, of which a was asked for at %s and c at %s", s.All, s.AskedAt("a"), s.AskedAt("c"))
		}
		s.PollNow("")
		poll("b")
		if len(ec2.asked[2]) != 0 || len(s.All) != 1 || !slices.Equal(slices.Sorted(maps.Keys(s.Touched())), []model.ClaimID{"a"}) {
			t.Errorf("asked for %v, left are %v; want all, and b", ec2.asked[2], s.All)
		}
		pool.Wait()
	})
}
