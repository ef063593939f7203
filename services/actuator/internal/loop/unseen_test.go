package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// behind is a cluster whose watch of pods is behind that of nodes while it is set: caches show nodes without the pods that
// have come to them.
type behind struct {
	cluster.Cluster
	is, down atomic.Bool
	asked    atomic.Int32
}

func (b *behind) Observe() (cluster.State, error) {
	s, err := b.Cluster.Observe()
	if err != nil || !b.is.Load() {
		return s, err
	}
	nodes := make([]*cluster.Node, len(s.Nodes))
	for i, n := range s.Nodes {
		without := *n
		without.Pods = nil
		nodes[i] = &without
	}
	s.Nodes = nodes
	return s, nil
}

func (b *behind) PodsOn(ctx context.Context, n model.NodeName) ([]cluster.Pod, error) {
	b.asked.Add(1)
	if b.down.Load() {
		return nil, errors.New("no answer")
	}
	return b.Cluster.PodsOn(ctx, n)
}

func (p process) PodsOn(ctx context.Context, n model.NodeName) ([]cluster.Pod, error) {
	return p.rig.kube.PodsOn(ctx, n)
}

// TestPodsThatCachesDoNotShowYetAreDrained lets a pod come to a node just before it is shut. Each kind has a watch of
// its own, and when an API server is exchanged one may be well a minute before another.
func TestPodsThatCachesDoNotShowYetAreDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		late := &behind{}
		r.cfg = func(c *Config) { late.Cluster = c.Kube; c.Kube = late }
		r.start()
		r.grow("a")
		r.kube.run("a", pod("web"))
		late.is.Store(true)
		if _, err := r.loop.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if c := r.claim("a"); c.State != model.ClaimDraining {
			t.Fatalf("%s, with a pod on its node", c.State)
		}
		if n := late.asked.Load(); n > 35 {
			t.Errorf("the API server was asked %d times in a minute", n)
		}
		late.is.Store(false)
		r.reaches("a", model.ClaimGone)
		if list := r.kube.evictions(); len(list) != 1 || list[0] != "web force=false" {
			t.Errorf("evictions %v, want one of the pod", list)
		}
	})
}

// TestPodsThatAreBoundAfterTheTaintAreDrained has the scheduler choose an empty node before it sees the taint there, and
// bind the pod a second later, where the drain has put the taint there at once, and where it could only do so later.
func TestPodsThatAreBoundAfterTheTaintAreDrained(t *testing.T) {
	for name, late := range map[string]time.Duration{"at once": 0, "once a webhook is back": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.Kube = untaintable{c.Kube, time.Now().Add(late)} }
				r.start()
				r.grow("a")
				if _, err := r.loop.Delete(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				for s, _ := r.kube.Observe(); !s.Nodes[0].Disrupted(); s, _ = r.kube.Observe() {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(time.Second)
				r.kube.run("a", pod("web"))
				r.reaches("a", model.ClaimGone)
				if list := r.kube.evictions(); len(list) != 1 || list[0] != "web force=false" {
					t.Errorf("evictions %v, want one of the pod", list)
				}
			})
		})
	}
}

// hesitant is a cluster whose API server takes its time to say which pods are on a node.
type hesitant struct {
	cluster.Cluster
	takes time.Duration
}

func (s hesitant) PodsOn(ctx context.Context, n model.NodeName) ([]cluster.Pod, error) {
	select {
	case <-time.After(s.takes):
		return s.Cluster.PodsOn(ctx, n)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAnAPIServerThatAnswersSlowlyHoldsNoDrainForEver has no drain with an end.
func TestAnAPIServerThatAnswersSlowlyHoldsNoDrainForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Kube = hesitant{c.Kube, 30 * time.Second} }
		r.start()
		r.grow("a")
		if _, err := r.loop.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r.reaches("a", model.ClaimGone)
	})
}

// TestAnAPIServerThatDoesNotAnswerHoldsNoDrainPastItsEnd has a drain with an end, and one without.
func TestAnAPIServerThatDoesNotAnswerHoldsNoDrainPastItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		silent := &behind{}
		r.cfg = func(c *Config) { silent.Cluster = c.Kube; c.Kube = silent }
		r.start()
		r.grow("deleted", "interrupted")
		silent.down.Store(true)
		if _, err := r.loop.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		r.ec2.Send(interruption(time.Now(), r.claim("interrupted").InstanceID))
		time.Sleep(3 * time.Minute)
		if c := r.claim("deleted"); c.State != model.ClaimDraining || c.Failure.Code != model.CodeDrainBlocked {
			t.Errorf("%s: %+v", c.State, c.Failure)
		}
		if c := r.claim("interrupted"); c.State < model.ClaimTerminating {
			t.Errorf("%s past its end", c.State)
		}
		silent.down.Store(false)
		r.reaches("deleted", model.ClaimGone)
	})
}
