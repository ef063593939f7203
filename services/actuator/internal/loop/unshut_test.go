package loop

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// refusesTaints is a cluster in which a webhook refuses each change of a node's taints while it is set.
type refusesTaints struct {
	cluster.Cluster
	is atomic.Bool
}

func (x *refusesTaints) UpdateNode(ctx context.Context, c cluster.NodeChange) error {
	if x.is.Load() && len(c.AddTaints) > 0 {
		return errors.New(`failed calling webhook "nodes.example.com"`)
	}
	return x.Cluster.UpdateNode(ctx, c)
}

func TestADrainSaysWhyItsNodeCannotBeShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		refuses := &refusesTaints{}
		r.cfg = func(c *Config) { refuses.Cluster = c.Kube; c.Kube = refuses }
		r.start()
		r.grow("a")
		r.kube.run("a", pod("web"))
		refuses.is.Store(true)
		if _, err := r.loop.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if c := r.claim("a"); c.State != model.ClaimDraining || c.Failure.Code != model.CodeDrainBlocked || !strings.Contains(c.Failure.Message, "nodes.example.com") {
			t.Errorf("%s: %+v", c.State, c.Failure)
		}
		r.hasEvent("NodeClaim", "a", "FailedDraining", "nodes.example.com")
		refuses.is.Store(false)
		r.reaches("a", model.ClaimGone)
		if c := r.claim("a"); c.Failure.Message != "" {
			t.Errorf("it still says %q", c.Failure.Message)
		}
	})
}
