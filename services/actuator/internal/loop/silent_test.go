package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/model"
)

// silentEC2 is an EC2 that answers nothing up to a time, and to launches, if they are hung up, never.
type silentEC2 struct {
	cloud.Cloud
	until  time.Time
	hungUp bool
}

func (s *silentEC2) silent() bool { return time.Now().Before(s.until) }

func (s *silentEC2) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	if s.silent() || s.hungUp {
		return nil, errDown
	}
	return s.Cloud.Launch(ctx, r)
}

func (s *silentEC2) Terminate(ctx context.Context, ids ...string) error {
	if s.silent() {
		return errDown
	}
	return s.Cloud.Terminate(ctx, ids...)
}

func (s *silentEC2) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	if s.silent() {
		return nil, errDown
	}
	return s.Cloud.Instances(ctx, some...)
}

// TestWhileEC2IsSilentNothingIsBoughtAnew: a claim that is given up waits for EC2's word on its launch, and would be kept
// beside each of those that are bought for its pods after it.
func TestWhileEC2IsSilentNothingIsBoughtAnew(t *testing.T) {
	for name, hungUp := range map[string]bool{"and then launches work": false, "and launches do not work then either": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				ec2 := &silentEC2{Cloud: r.ec2, hungUp: hungUp}
				r.cfg = func(c *Config) { c.Cloud = ec2 }
				r.start()
				r.until("the loop is ready", time.Minute, func() bool { _, err := r.loop.Inventory(t.Context()); return err == nil })
				ec2.until = time.Now().Add(time.Hour)
				if n := r.planner(time.Second, time.Hour); n != 1 {
					t.Errorf("%d claims in an hour, want the one that waits for EC2", n)
				}
				c, err := r.store.Load(t.Context())
				if err != nil || len(c.Claims) == 0 || c.Claims[0].State != model.ClaimLaunching {
					t.Fatalf("want a claim that waits for its launch:\n%s", r.dump())
				}
				id, answers := c.Claims[0].ID, time.Now()
				if !hungUp {
					r.reaches(id, model.ClaimInitialized)
					r.launchedOnce()
					return
				}
				r.reaches(id, model.ClaimFailed)
				if took := time.Since(answers); took < lifecycle.LaunchTimeout-time.Minute || took > lifecycle.LaunchTimeout+2*lifecycle.VisibilityDelay {
					t.Errorf("given up %s after EC2 answered again", took)
				}
			})
		})
	}
}
