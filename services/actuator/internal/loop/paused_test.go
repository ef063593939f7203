package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// tried is a world that answers no change, and counts how often one was asked for.
type tried struct {
	cloud.Cloud
	cluster.Cluster
	launches, ends, evictions atomic.Int32
}

var errDown = errors.New("no answer")

func (w *tried) Launch(context.Context, cloud.Request) ([]cloud.Instance, error) {
	w.launches.Add(1)
	return nil, errDown
}

func (w *tried) Terminate(context.Context, ...string) error {
	w.ends.Add(1)
	return errDown
}

func (w *tried) Evict(context.Context, cluster.Eviction) error {
	w.evictions.Add(1)
	return cluster.ErrBlocked
}

// TestALeaderThatWasPausedDoesNothing lets a successor lead without the leader's notice. It repeats what it has not got an
// answer to, has nothing to write, and is not told to stop.
func TestALeaderThatWasPausedDoesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		state model.ClaimState
		does  func(*tried) *atomic.Int32
	}{
		"a launch":      {model.ClaimLaunching, func(w *tried) *atomic.Int32 { return &w.launches }},
		"an eviction":   {model.ClaimDraining, func(w *tried) *atomic.Int32 { return &w.evictions }},
		"a termination": {model.ClaimTerminating, func(w *tried) *atomic.Int32 { return &w.ends }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				if c.state > model.ClaimLaunching {
					r.start()
					r.grow("c1")
					r.kube.run("c1", pod("web"))
					r.stop()
				}
				w := &tried{Cloud: r.ec2, Cluster: r.kube}
				r.cfg = func(cfg *Config) { cfg.Cloud, cfg.Kube = w, w }
				r.start()
				switch c.state {
				case model.ClaimLaunching:
					r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
				case model.ClaimTerminating:
					r.kube.Edit(func(s *cluster.State) { s.Nodes[0].Pods = nil })
					r.kube.Delete("NodeClaim", "c1")
				default:
					r.kube.Delete("NodeClaim", "c1")
				}
				r.reaches("c1", c.state)
				r.until("it is tried again", time.Minute, func() bool { return c.does(w).Load() > 1 })
				r.store.Usurp()
				before := c.does(w).Load()
				time.Sleep(2 * time.Minute)
				if n := c.does(w).Load() - before; n > 0 {
					t.Errorf("%d times more by a leader that is none", n)
				}
			})
		})
	}
}

// TestALeaderThatLeadsNoLongerBindsNoPods: its successor may have decided to end the node.
func TestALeaderThatLeadsNoLongerBindsNoPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withPods(t, "containers: [{name: main, resources: {requests: {cpu: 100m}}}]", "a")
		r.accepted(claimFor("c1", "default/a"))
		r.until("its node is about to open", time.Minute, func() bool {
			s, err := r.kube.Observe()
			return err == nil && len(s.Nodes) == 1 && s.Nodes[0].Labels[labels.Registered] == "true"
		})
		if _, unbound := r.kube.Unbound("default/a"); !unbound {
			t.Fatal("the pod is bound already")
		}
		r.store.Usurp()
		time.Sleep(10 * time.Second)
		if _, unbound := r.kube.Unbound("default/a"); !unbound {
			t.Error("the pod is bound by a leader that is none")
		}
	})
}
