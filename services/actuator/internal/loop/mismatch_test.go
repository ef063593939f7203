package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// otherwise is an AWS that does not take the repetition of a launch for the same: a leader that has ended has asked with
// other subnets, and did not hear the answer. Instances are shown late.
type otherwise struct {
	cloud.Cloud
	makes bool // the first launch makes its instances
	late  time.Duration

	mu    sync.Mutex
	first string // its token
	begun time.Time
}

func (o *otherwise) Launch(ctx context.Context, r cloud.Request) ([]cloud.Instance, error) {
	o.mu.Lock()
	first := o.first == ""
	if first {
		o.first, o.begun = r.Token, time.Now()
	}
	known := r.Token == o.first
	o.mu.Unlock()
	switch {
	case first && o.makes:
		_, _ = o.Cloud.Launch(ctx, r)
		fallthrough
	case first:
		return nil, errors.New("the connection was reset")
	case known:
		return nil, fmt.Errorf("create fleet: %w", cloud.ErrTokenMismatch)
	}
	return o.Cloud.Launch(ctx, r)
}

func (o *otherwise) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	list, err := o.Cloud.Instances(ctx, some...)
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.begun) < o.late {
		list = nil
	}
	return list, err
}

// TestALaunchThatEC2TakesForAnotherIsLookedFor has one claim, and three that are launched together.
func TestALaunchThatEC2TakesForAnotherIsLookedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		claims int
		makes  bool
		tries  int
	}{
		"one that made an instance": {1, true, 1},
		"one that made nothing":     {1, false, 2},
		"three that made theirs":    {3, true, 1},
		"three that made nothing":   {3, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				o := &otherwise{makes: tt.makes, late: 40 * time.Second}
				r.cfg = func(c *Config) { o.Cloud = c.Cloud; c.Cloud = o }
				r.start()
				p := model.Plan{ID: "p-1"}
				for i := range tt.claims {
					p.NodeClaims = append(p.NodeClaims, nodeClaim(fmt.Sprint("c", i), "m5.large"))
				}
				begun := time.Now()
				r.accepted(p)
				for _, w := range p.NodeClaims {
					r.reaches(w.ID, model.ClaimInitialized)
					if c := r.claim(w.ID); c.Attempt != tt.tries {
						t.Errorf("claim %s was launched by attempt %d, want %d", w.ID, c.Attempt, tt.tries)
					}
				}
				if took := time.Since(begun); took > 3*time.Minute {
					t.Errorf("it took %s", took)
				}
				time.Sleep(5 * time.Minute)
				if n := r.ec2.Made(); n != tt.claims || len(r.alive()) != tt.claims {
					t.Errorf("%d instances were made, and %d are there; want %d", n, len(r.alive()), tt.claims)
				}
			})
		})
	}
}
