package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/core/model"
)

// protecting is an EC2 in which somebody protects all instances from being ended, while on is set. It counts calls.
type protecting struct {
	cloud.Cloud
	on          atomic.Bool
	ends, lists atomic.Int64
}

func (p *protecting) Terminate(ctx context.Context, ids ...string) error {
	p.ends.Add(1)
	if p.on.Load() {
		return fmt.Errorf("terminate: %w", cloud.ErrUnauthorized)
	}
	return p.Cloud.Terminate(ctx, ids...)
}

func (p *protecting) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	p.lists.Add(1)
	return p.Cloud.Instances(ctx, some...)
}

func TestAnInstanceThatIsProtectedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ec2 := newRig(t), &protecting{}
		ec2.on.Store(true)
		r.cfg = func(c *Config) { ec2.Cloud, c.Cloud = c.Cloud, ec2 }
		r.start()
		r.grow("c1")
		r.until("it has an object", time.Minute, func() bool { return r.kube.has("c1") })
		r.kube.Delete("NodeClaim", "c1")
		r.reaches("c1", model.ClaimTerminating)
		time.Sleep(time.Minute)
		ends, lists := ec2.ends.Load(), ec2.lists.Load()
		time.Sleep(time.Hour)
		if ends, lists := ec2.ends.Load()-ends, ec2.lists.Load()-lists; ends < 60 || ends > 150 || lists > 1000 {
			t.Errorf("in an hour it was to be ended %d times, and instances were listed %d times", ends, lists)
		}
		told := slices.DeleteFunc(r.kube.Events("NodeClaim", "c1"), func(e clustertest.Event) bool { return e.Reason != "FailedTerminating" })
		if len(told) != 1 || !strings.Contains(told[0].Message, r.claim("c1").InstanceID) {
			t.Errorf("events %+v, want one that names the instance", told)
		}
		ec2.on.Store(false)
		r.until("it has ended once it is not protected any more", time.Minute, func() bool { return len(r.alive()) == 0 })
	})
}
