package loop

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// farAWS is an AWS that takes long to answer.
type farAWS struct {
	cloud.Cloud
	cloud.Classes
	cloud.Market
	takes time.Duration
}

// wait waits, and no longer than the caller does.
func (s farAWS) wait(ctx context.Context) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
	}
}

func (s farAWS) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	s.wait(ctx)
	return s.Cloud.Instances(ctx, some...)
}

func (s farAWS) Look(ctx context.Context, c cloud.ClassSpec) (cloud.Class, error) {
	s.wait(ctx)
	return s.Classes.Look(ctx, c)
}

func (s farAWS) Resolve(ctx context.Context, c cloud.ClassSpec) (cloud.Class, error) {
	s.wait(ctx)
	return s.Classes.Resolve(ctx, c)
}

func (s farAWS) InstanceTypes(ctx context.Context) ([]catalog.Type, error) {
	s.wait(ctx)
	return s.Market.InstanceTypes(ctx)
}

func (s farAWS) SpotPrices(ctx context.Context) (map[cloud.TypeZone]int64, error) {
	s.wait(ctx)
	return s.Market.SpotPrices(ctx)
}

// blind is a cluster whose caches don't fill, as where a right or a definition is missing, until it is told to see.
type blind struct {
	cluster.Cluster
	sees *atomic.Bool
}

func (b blind) Observe() (cluster.State, error) {
	if !b.sees.Load() {
		return cluster.State{}, cluster.ErrNotReady
	}
	return b.Cluster.Observe()
}

func tells(told *atomic.Int32) func(bool) {
	return func(ready bool) {
		told.Store(-1)
		if ready {
			told.Store(1)
		}
	}
}

func TestOnlyACandidateThatSeesTheClusterLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var sees atomic.Bool
		var told atomic.Int32 // 1 for ready, -1 for the contrary
		r.cfg = func(c *Config) { c.Kube, c.Ready = blind{c.Kube, &sees}, tells(&told) }
		r.start()
		first, stopFirst := r.loop, r.stop
		defer stopFirst()
		time.Sleep(time.Minute)
		r.cfg = nil
		r.start() // a second process, which sees all
		r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimInitialized)
		if _, _, leads := first.Shown(); leads || told.Load() != 0 {
			t.Errorf("the first candidate leads: %v, and was ready: %d", leads, told.Load())
		}
		sees.Store(true)
		time.Sleep(time.Second)
		if _, _, leads := first.Shown(); leads || told.Load() != 1 {
			t.Errorf("it leads: %v, ready: %d, want it to have seen the cluster and to stand by", leads, told.Load())
		}
		r.stop()
		r.loop, r.stop = first, stopFirst
		r.accepted(model.Plan{ID: "p2", NodeClaims: []model.NodeClaim{nodeClaim("c2", "m5.large")}})
		sees.Store(false) // who has seen the cluster leads on by what was seen last
		time.Sleep(time.Minute)
		r.accepted(model.Plan{ID: "p3", NodeClaims: []model.NodeClaim{nodeClaim("c3", "m5.large")}})
	})
}

func TestACandidateThatSeesNothingCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Kube = blind{c.Kube, &atomic.Bool{}} }
		r.start()
		time.Sleep(time.Minute)
		r.stop() // wants no error
	})
}

// A candidate that has stood by knows what AWS sells and runs: it takes plans as soon as it leads, and what the leader
// before had under way goes on once AWS was asked again.
func TestAStandbyTakesPlansAsSoonAsItLeads(t *testing.T) {
	for name, stopped := range map[string]bool{"the lease ends": false, "the leader is stopped": true} {
		t.Run(name, func(t *testing.T) { testTakeover(t, stopped) })
	}
}

func testTakeover(t *testing.T, stopped bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) {
			s := farAWS{c.Cloud, c.Classes, c.Market, 5 * time.Second}
			c.Cloud, c.Classes, c.Market = s, s, s
		}
		r.start()
		r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimInitialized)
		stop, end := r.stop, r.store.Depose
		if stopped {
			end = r.crash.kill
		}
		r.start() // a second process, behind the first
		defer stop()
		time.Sleep(5 * time.Minute)
		end()
		ended := time.Now()
		r.accepted(model.Plan{ID: "p2", NodeClaims: []model.NodeClaim{nodeClaim("c2", "m5.large")}})
		if took := time.Since(ended); took > time.Second {
			t.Errorf("the next leader took a plan after %s, and what it asks AWS for takes 5s each", took)
		}
		r.reaches("c2", model.ClaimInitialized)
		if got := r.claim("c1").State; got != model.ClaimInitialized {
			t.Errorf("claim c1 is %s", got)
		}
		r.launchedOnce()
	})
}

// A new leader that has not stood by begins with what the last one kept of what AWS sells: it waits for the instances
// alone.
func TestAFreshLeaderTakesPlansByWhatWasKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		slow := farAWS{takes: time.Second}
		r.cfg = func(c *Config) {
			slow.Cloud, slow.Classes, slow.Market = c.Cloud, c.Classes, c.Market
			c.Classes, c.Market = slow, slow
		}
		r.start()
		r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimInitialized)
		time.Sleep(5 * time.Minute) // it was kept by then
		was, _, _ := r.loop.Shown()
		r.stop()
		slow.takes = time.Minute
		r.start()
		begun := time.Now()
		r.accepted(model.Plan{ID: "p2", NodeClaims: []model.NodeClaim{nodeClaim("c2", "m5.large")}})
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("it took a plan after %s, and what it asks AWS for takes a minute", took)
		}
		if is, _, _ := r.loop.Shown(); len(is.Offerings) != len(was.Offerings) || len(is.Offerings) == 0 {
			t.Errorf("%d offerings, want the %d that there were", len(is.Offerings), len(was.Offerings))
		}
	})
}
