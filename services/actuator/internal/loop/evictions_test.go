package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
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
