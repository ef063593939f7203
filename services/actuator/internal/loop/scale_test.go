package loop

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// asking counts what a process asks of the world.
type asking struct {
	process
	mu    *sync.Mutex
	calls map[string]int
}

func (a asking) count(what string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[what] += n
}

func (a asking) Commit(ctx context.Context, f store.Fence, b store.Batch) (store.Revision, error) {
	if n := b.Writes(); n > 0 {
		a.count("transactions", 1)
		a.count("writes", n)
	} else {
		a.count("fences", 1)
	}
	return a.process.Commit(ctx, f, b)
}

func (a asking) Prepare(ctx context.Context) error {
	a.count("prepare", 1)
	return a.process.Prepare(ctx)
}

func (a asking) Remember(ctx context.Context, f store.Fence, name string, data []byte) error {
	a.count("remember", 1)
	return a.process.Remember(ctx, f, name, data)
}

func (a asking) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	if len(some) > 0 {
		a.count("some instances", 1)
	} else {
		a.count("all instances", 1)
	}
	return a.process.Instances(ctx, some...)
}

func (a asking) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	a.count("resolve", 1)
	return a.process.Resolve(ctx, s)
}

func (a asking) Look(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	a.count("look", 1)
	return a.process.Look(ctx, s)
}

func (a asking) Terminate(ctx context.Context, ids ...string) error {
	a.count("ends", 1)
	return a.process.Terminate(ctx, ids...)
}

func (a asking) Tag(ctx context.Context, i cloud.Instance) error {
	a.count("tags", 1)
	return a.process.Tag(ctx, i)
}

func (a asking) Launch(ctx context.Context, q cloud.Request) (i []cloud.Instance, err error) {
	a.count("launches", 1)
	return a.process.Launch(ctx, q)
}

func (a asking) Sweep(ctx context.Context, unused time.Duration) ([]string, error) {
	a.count("sweep", 1)
	return a.process.Sweep(ctx, unused)
}

func (a asking) Observe() (cluster.State, error) {
	a.count("passes", 1)
	return a.process.Observe()
}

func (a asking) UpdateNode(ctx context.Context, c cluster.NodeChange) error {
	a.count("node changes", 1)
	return a.process.UpdateNode(ctx, c)
}

func (a asking) Evict(ctx context.Context, e cluster.Eviction) error {
	a.count("evictions", 1)
	return a.process.Evict(ctx, e)
}

func (a asking) PodsOn(ctx context.Context, n model.NodeName) ([]cluster.Pod, error) {
	a.count("pods on", 1)
	return a.process.PodsOn(ctx, n)
}

func (a asking) Publish(ctx context.Context, x cluster.Publication) error {
	a.count("publications", 1)
	a.count("claims looked at", len(x.Claims))
	a.count("claims forgotten", len(x.ForgetClaims))
	a.count("statuses", len(x.Pools)+len(x.Classes)+len(x.States))
	a.count("events", len(x.Events))
	return a.process.Publish(ctx, x)
}

// calls are what was asked since it was called last.
func (a asking) asked() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := maps.Clone(a.calls)
	clear(a.calls)
	return out
}

// TestWhatIsAskedOfTheWorldAtRestDoesNotGrowWithTheCluster: neither while nothing happens, nor where another leader has
// begun, which changes nothing that is right already.
func TestWhatIsAskedOfTheWorldAtRestDoesNotGrowWithTheCluster(t *testing.T) {
	var rest, begun []map[string]int
	for _, claims := range []int{10, 60} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			a := asking{mu: &sync.Mutex{}, calls: map[string]int{}}
			r.cfg = func(c *Config) {
				a.process, _ = c.Kube.(process)
				c.Store, c.Cloud, c.Classes, c.Kube, c.passedOver = a, a, a, a, nil
			}
			r.start()
			p := model.Plan{ID: "p-1"}
			for i := range claims {
				p.NodeClaims = append(p.NodeClaims, nodeClaim(fmt.Sprintf("c%04d", i), "m5.large"))
			}
			r.accepted(p)
			r.reaches(p.NodeClaims[claims-1].ID, model.ClaimInitialized)
			time.Sleep(20 * time.Minute) // events, tags and templates
			a.asked()
			time.Sleep(10 * time.Minute)
			rest = append(rest, a.asked())
			r.stop()
			r.crash = &crash{at: -1}
			r.start()
			time.Sleep(time.Minute)
			begun = append(begun, a.asked())
		})
	}
	for _, each := range []string{"passes", "fences", "publications", "claims looked at"} { // objects that are right cost no request
		delete(begun[1], each)
	}
	for during, calls := range map[string][]map[string]int{"ten minutes of rest": rest, "a new leader's first minute": begun} {
		for what, n := range calls[1] {
			if few := calls[0][what]; n > few+3 { // what two goroutines do at one moment may come in any order, and be one more
				t.Errorf("in %s: %s %d with 10 claims, %d with 60", during, what, few, n)
			}
		}
	}
	for _, not := range []string{"node changes", "events", "claims forgotten", "ends", "launches", "tags", "evictions"} {
		if n := begun[1][not]; n > 0 {
			t.Errorf("a new leader in a cluster at rest: %d %s", n, not)
		}
	}
}
