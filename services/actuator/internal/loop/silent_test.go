package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
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

// hears lets the API server fall silent, or answer again.
func (r *rig) hears(answers bool) {
	r.kube.Edit(func(s *cluster.State) {
		if s.Silent = time.Now(); answers {
			s.Silent = time.Time{}
		}
	})
}

// TestNoNodeIsLateWhileTheAPIServerIsSilent: what joins is not seen then, and nothing can be done for it.
func TestNoNodeIsLateWhileTheAPIServerIsSilent(t *testing.T) {
	t.Run("that has not joined", func(t *testing.T) {
		leads(t, func(r *rig) {
			r.kube.change(func() { r.kube.stuck = true })
			for i, joins := range []bool{true, false} {
				id := model.ClaimID([]string{"c1", "c2"}[i])
				r.accepted(model.Plan{ID: model.PlanID("p-" + id), NodeClaims: []model.NodeClaim{nodeClaim(string(id), "m5.large")}})
				r.reaches(id, model.ClaimLaunched)
				time.Sleep(5 * time.Minute)
				r.hears(false)
				time.Sleep(2 * time.Hour)
				r.hears(true)
				if s := r.claim(id).State; s != model.ClaimLaunched {
					r.t.Fatalf("%s is %s after two hours without a word", id, s)
				}
				if joins {
					r.kube.change(func() { r.kube.stuck = false })
					r.reaches(id, model.ClaimInitialized)
					r.kube.change(func() { r.kube.stuck = true })
					continue
				}
				answers := time.Now()
				r.reaches(id, model.ClaimFailed)
				if took := time.Since(answers); took < 9*time.Minute || took > lifecycle.RegistrationTimeout {
					r.t.Errorf("%s is given up %s after the API server has answered again, want the ten minutes that it had left", id, took)
				}
			}
			r.launchedOnce()
		})
	})
	t.Run("that is not ready", func(t *testing.T) {
		leads(t, func(r *rig) {
			r.kube.change(func() { r.kube.neverReady = true })
			r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
			r.reaches("c1", model.ClaimRegistered)
			r.hears(false)
			time.Sleep(2 * time.Hour)
			r.hears(true)
			if s := r.claim("c1").State; s != model.ClaimRegistered {
				r.t.Fatalf("it is %s after two hours without a word", s)
			}
			answers := time.Now()
			r.until("it is given up", time.Hour, func() bool { return r.claim("c1").State > model.ClaimInitialized })
			if took := time.Since(answers); took < lifecycle.InitializationTimeout-time.Minute {
				r.t.Errorf("it is given up %s after the API server has answered again", took)
			}
		})
	})
}
