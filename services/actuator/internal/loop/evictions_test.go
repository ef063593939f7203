package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// holding is a cluster in which an eviction takes a second, and budgets let no pod go whose name begins with held.
type holding struct{ cluster.Cluster }

func (h holding) Evict(ctx context.Context, e cluster.Eviction) error {
	time.Sleep(time.Second)
	if strings.HasPrefix(e.Name, "held") {
		return cluster.ErrBlocked
	}
	return h.Cluster.Evict(ctx, e)
}

func TestPodsThatBudgetsHoldDoNotKeepAnInterruptedNodeFromItsEvictions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Kube, c.Evictions = holding{c.Kube}, 4 }
		r.start()
		r.grow("a", "z")
		for i := range 100 { // with four at once they take 25 s, and each is due again after 10
			r.kube.run("a", pod(fmt.Sprint("held-", i)))
		}
		r.kube.run("z", pod("web"))
		if _, err := r.loop.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.ec2.Send(interruption(time.Now(), r.claim("z").InstanceID))
		r.until("the pod of the interrupted node is evicted", 30*time.Second, func() bool { return len(r.kube.evictions()) > 0 })
	})
}

// refusing is a cluster that refuses each eviction in the same words. It counts those that say, and those that do not
// say that they were refused before.
type refusing struct {
	cluster.Cluster
	err   error
	tries map[bool]*atomic.Int64
}

func (x refusing) Evict(_ context.Context, e cluster.Eviction) error {
	x.tries[e.Refused].Add(1)
	return x.err
}

func TestADrainSaysInTheServersWordsWhatRefusesAnEviction(t *testing.T) {
	for want, err := range map[string]error{
		"The disruption budget web needs 3 healthy pods": fmt.Errorf("evict pod default/web: %w", &cluster.Blocked{Says: "The disruption budget web needs 3 healthy pods"}),
		"its PodDisruptionBudget allows no eviction now": fmt.Errorf("evict pod default/web: %w", cluster.ErrBlocked),
		`failed calling webhook "vms.example.com"`:       errors.New(`failed calling webhook "vms.example.com"`),
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			tries := map[bool]*atomic.Int64{false: {}, true: {}}
			r.cfg = func(c *Config) { c.Kube = refusing{c.Kube, err, tries} }
			r.start()
			r.grow("a")
			r.kube.run("a", pod("web"))
			if _, err := r.loop.Delete(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if got := r.claim("a").Failure; got.Code != model.CodeDrainBlocked || !strings.Contains(got.Message, "default/web") || !strings.Contains(got.Message, want) {
				t.Errorf("%+v, want %q", got, want)
			}
			if first, again := tries[false].Load(), tries[true].Load(); first != 1 || again < 3 {
				t.Errorf("%d tries were new, and %d said that they were refused before", first, again)
			}
		})
	}
}

// large is a cluster of which a look takes a quarter of a second, as each pass does in which thousands of pods are to
// go, and an eviction ten milliseconds. It counts the looks between the first eviction and the last.
type large struct {
	cluster.Cluster
	looks, evictions, of *atomic.Int64
}

func (x large) Observe() (cluster.State, error) {
	time.Sleep(250 * time.Millisecond)
	if n := x.evictions.Load(); n > 0 && n < x.of.Load() {
		x.looks.Add(1)
	}
	return x.Cluster.Observe()
}

func (x large) Evict(ctx context.Context, e cluster.Eviction) error {
	time.Sleep(10 * time.Millisecond)
	defer x.evictions.Add(1)
	return x.Cluster.Evict(ctx, e)
}

// TestEvictionsDoNotWaitForPasses: of 1,000 interrupted nodes with 25 pods each a pass takes long, and they have two
// minutes.
func TestEvictionsDoNotWaitForPasses(t *testing.T) {
	const pods = 400
	synctest.Test(t, func(t *testing.T) {
		r, x := newRig(t), large{looks: new(atomic.Int64), evictions: new(atomic.Int64), of: new(atomic.Int64)}
		x.of.Store(pods)
		r.cfg = func(c *Config) {
			x.Cluster = c.Kube
			c.Kube, c.passedOver = x, nil
		}
		r.start()
		r.grow("a", "b")
		for i := range pods {
			r.kube.run([]model.ClaimID{"a", "b"}[i%2], pod(fmt.Sprint("web-", i)))
		}
		for _, id := range []model.ClaimID{"a", "b"} {
			r.ec2.Send(interruption(time.Now(), r.claim(id).InstanceID))
		}
		r.until("all pods are evicted", 2*time.Minute, func() bool { return x.evictions.Load() >= pods })
		if n := x.looks.Load(); n > 4 {
			t.Errorf("%d evictions, of which 20 go on at once, took %d passes; want as many as the evictions take time", pods, n)
		}
	})
}
