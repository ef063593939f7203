package loop

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/model"
)

// hung is an EC2 whose first list of instances never comes back.
type hung struct {
	cloud.Cloud
	once atomic.Bool
}

func (h *hung) Instances(ctx context.Context) ([]cloud.Instance, error) {
	if h.once.CompareAndSwap(false, true) {
		<-ctx.Done()

		return nil, ctx.Err()
	}

	return h.Cloud.Instances(ctx)
}

func TestCallThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Cloud = &hung{Cloud: c.Cloud} }
		r.start()
		r.until("the loop is ready", 5*time.Minute, func() bool { _, err := r.loop.Inventory(t.Context()); return err == nil })
	})
}

// slow is an EC2 that takes its time to launch.
type slow struct {
	cloud.Cloud
	takes    time.Duration
	launched atomic.Int32
}

func (s *slow) Launch(ctx context.Context, r cloud.Request) (cloud.Instance, error) {
	time.Sleep(s.takes)
	s.launched.Add(1)

	return s.Cloud.Launch(ctx, r)
}

func TestNothingIsLaunchedThatWasGivenUpInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := &slow{takes: time.Minute}
		r.cfg = func(c *Config) { ec2.Cloud, c.Cloud, c.Launches = c.Cloud, ec2, 1 }
		r.start()
		p := apply.Plan{ID: "p-1"}
		for i := range 9 {
			p.Wishes = append(p.Wishes, wish(fmt.Sprintf("c%d", i), "m5.large"))
		}
		r.accepted(p)
		time.Sleep(30 * time.Minute)
		if n := ec2.launched.Load(); n > 6 {
			t.Errorf("%d launches, though a claim waits for five minutes at most", n)
		}
		for _, w := range p.Wishes {
			if c := r.claim(w.ID); c.State != model.StateInitialized && c.State != model.StateFailed {
				t.Errorf("claim %s is %s", c.ID, c.State)
			}
		}
	})
}

func TestWorkIsForgottenOnceItIsOver(t *testing.T) {
	l := &leader{now: time.Unix(1000, 0), tasks: map[string]*task{}, blocked: map[string]string{"default/gone": "why"}}
	for i := range 100 {
		l.tasks[fmt.Sprint("evict/", i)] = &task{notYet: l.now}
	}
	l.tasks["running"] = &task{running: true}
	l.tasks["waiting"] = &task{notYet: l.now.Add(time.Hour)}
	l.now = l.now.Add(2 * taskMemory)
	l.tidy()
	if len(l.tasks) != 2 || len(l.blocked) != 0 {
		t.Errorf("%d tasks and %d refusals are remembered, want two tasks", len(l.tasks), len(l.blocked))
	}
}

func TestInvalidClassCanBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.kube.Edit(func(s *cluster.State) { s.Classes[0].Invalid = model.Reason{Code: 3, Message: "spec.role: required"} })
		r.start()
		time.Sleep(time.Minute)
		r.kube.Edit(func(s *cluster.State) { s.Classes[0].Terminating = true })
		r.until("the class is gone", 5*time.Minute, func() bool {
			s, _ := r.kube.Observe()

			return len(s.Classes) == 0
		})
	})
}

func TestPoolThatIsMadeAgainGetsItsStatusAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		told := func() (ok bool) {
			r.kube.change(func() { _, ok = r.kube.pubs["default"] })

			return ok
		}
		r.until("the pool has its status", time.Minute, told)
		var pools []cluster.Pool
		r.kube.Edit(func(s *cluster.State) { pools, s.Pools = s.Pools, nil })
		time.Sleep(time.Minute)
		r.kube.change(func() { clear(r.kube.pubs) })
		r.kube.Edit(func(s *cluster.State) { s.Pools = pools })
		r.until("the new pool has its status", time.Minute, told)
	})
}
