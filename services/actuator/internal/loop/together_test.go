package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// counted counts the calls to EC2.
type counted struct {
	cloud.Cloud
	mu       sync.Mutex
	launches []int // how many instances each asked for
	tags     int
}

func (c *counted) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	c.mu.Lock()
	c.launches = append(c.launches, r.Asked())
	c.mu.Unlock()
	return c.Cloud.Launch(ctx, r)
}

func (c *counted) Tag(ctx context.Context, i cloud.Instance) error {
	c.mu.Lock()
	c.tags++
	c.mu.Unlock()
	return c.Cloud.Tag(ctx, i)
}

func counts(r *rig) *counted {
	c := &counted{}
	r.cfg = func(cfg *Config) { c.Cloud, cfg.Cloud = cfg.Cloud, c }
	return c
}

// equal is a plan of so many claims that ask for the same.
func equal(n int, types ...string) model.Plan {
	p := model.Plan{ID: "p-1"}
	for i := range n {
		p.NodeClaims = append(p.NodeClaims, nodeClaim(fmt.Sprintf("c%02d", i), types...))
	}
	return p
}

func TestEqualClaimsAreLaunchedByOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := counts(r)
		r.start()
		p := equal(10, "m5.large")
		r.accepted(p)
		instances := map[string]bool{}
		for _, w := range p.NodeClaims {
			r.reaches(w.ID, model.ClaimInitialized)
			instances[r.claim(w.ID).InstanceID] = true
		}
		if !slices.Equal(ec2.launches, []int{10}) || len(instances) != 10 {
			t.Errorf("launches of %v instances, %d distinct ones; want one of ten", ec2.launches, len(instances))
		}
		r.until("each instance has its claim's tag", time.Minute, func() bool {
			list, _ := r.ec2.Instances(t.Context())
			return !slices.ContainsFunc(list, func(i cloud.Instance) bool { return i.Claim == "" || r.claim(i.Claim).InstanceID != i.ID })
		})
		if ec2.tags != 10 {
			t.Errorf("%d calls for ten tags", ec2.tags)
		}
	})
}

// few has claims of which EC2 has less than is asked for: those that it has instances for get one each, the others fail.
func (r *rig) few(want, has int) {
	r.t.Helper()
	p := equal(want, "m5.large")
	for k := range p.NodeClaims {
		p.NodeClaims[k].Offerings = p.NodeClaims[k].Offerings[:1]
	}
	r.ec2.Limit(p.NodeClaims[0].Offerings[0], has)
	r.accepted(p)
	ends := map[model.ClaimState]int{}
	for _, w := range p.NodeClaims {
		r.until("claim "+string(w.ID)+" is settled", 30*time.Minute, func() bool {
			s := r.claim(w.ID).State
			return s == model.ClaimInitialized || s == model.ClaimFailed
		})
		c := r.claim(w.ID)
		ends[c.State]++
		if c.State == model.ClaimFailed && c.Failure.Code != model.CodeInsufficientCapacity {
			r.t.Errorf("claim %s failed: %s", c.ID, c.Failure.Message)
		}
	}
	time.Sleep(5 * time.Minute)
	if ends[model.ClaimInitialized] != has || ends[model.ClaimFailed] != want-has || len(r.alive()) != has {
		r.t.Errorf("%v, %d instances; want %d and %d\n%s", ends, len(r.alive()), has, want-has, r.dump())
	}
	r.launchedOnce()
}

func TestOfALaunchThatIsFilledInPartNoneIsLostOrDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := counts(r)
		r.start()
		r.few(10, 6)
		if !slices.Equal(ec2.launches, []int{10}) {
			t.Errorf("launches of %v instances", ec2.launches)
		}
	})
}

func TestCrashAnywhereInALaunchOfSeveral(t *testing.T) {
	calls := 0
	leads(t, func(r *rig) {
		r.few(3, 2)
		calls = r.crash.calls
	})
	for at := range calls {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, after it %v", at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					r.crash = &crash{at: at, after: after}
					r.start()
					r.few(3, 2)
				})
			})
		}
	}
}

// TestWhatIsDeletedWhileItIsLaunchedIsEnded deletes a claim before the answer to the call that launches it with others.
func TestWhatIsDeletedWhileItIsLaunchedIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := &slow{takes: time.Minute}
		r.cfg = func(c *Config) { ec2.Cloud, c.Cloud = c.Cloud, ec2 }
		r.start()
		p := equal(3, "m5.large")
		r.accepted(p)
		time.Sleep(10 * time.Second)
		r.kube.Delete("NodeClaim", "c01")
		r.reaches("c00", model.ClaimInitialized)
		r.reaches("c02", model.ClaimInitialized)
		r.reaches("c01", model.ClaimGone)
		r.until("the third instance is ended", 10*time.Minute, func() bool { return len(r.alive()) == 2 })
	})
}
