package loop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/model"
)

// limited is an EC2 that refuses what is over an account's limits, and counts the calls.
type limited struct {
	cloud.Cloud
	changes, tags, ends, reads *rate.Limiter

	mu      sync.Mutex
	calls   map[string]int
	refused int
}

func limits(next cloud.Cloud) *limited {
	return &limited{
		Cloud: next, changes: rate.NewLimiter(5, 50), tags: rate.NewLimiter(10, 100), ends: rate.NewLimiter(5, 100), reads: rate.NewLimiter(20, 100),
		calls: map[string]int{},
	}
}

func (l *limited) call(name string, of *rate.Limiter, f func() error) error {
	time.Sleep(500 * time.Millisecond)
	ok := of.Allow()
	l.mu.Lock()
	l.calls[name]++
	if !ok {
		l.refused++
	}
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("RequestLimitExceeded: %w", cloud.ErrThrottled)
	}
	return f()
}

func (l *limited) Launch(ctx context.Context, r cloud.Request) (made []cloud.Instance, err error) {
	err = l.call("CreateFleet", l.changes, func() (err error) {
		made, err = l.Cloud.Launch(ctx, r)
		return err
	})
	return made, err
}

func (l *limited) Tag(ctx context.Context, i cloud.Instance) error {
	return l.call("CreateTags", l.tags, func() error { return l.Cloud.Tag(ctx, i) })
}

func (l *limited) Terminate(ctx context.Context, ids ...string) error {
	return l.call("TerminateInstances", l.ends, func() error { return l.Cloud.Terminate(ctx, ids...) })
}

func (l *limited) Instances(ctx context.Context, some ...cloud.Some) (got []cloud.Instance, err error) {
	err = l.call("DescribeInstances", l.reads, func() (err error) {
		got, err = l.Cloud.Instances(ctx, some...)
		return err
	})
	return got, err
}

// TestTwoThousandLaunchesAtOnce launches 2,000 claims of 36 kinds within what AWS allows of calls. A fleet for each
// claim, a list and a tag would be three calls for each; the incumbent makes a fleet for each batch, and a list and a
// tag for each claim.
func TestTwoThousandLaunchesAtOnce(t *testing.T) {
	const claims, kinds, zones = 2000, 36, "abcd"
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ec2 := limits(nil)
		r.cfg = func(c *Config) { ec2.Cloud, c.Cloud, c.passedOver = c.Cloud, ec2, nil }
		r.kube.change(func() { r.kube.stuck, r.kube.pace = true, time.Second }) // that nodes join is another matter
		r.start()
		p := model.Plan{ID: "p-1"}
		for i := range claims {
			k := i % kinds
			w := nodeClaim(fmt.Sprintf("c%04d", i), []string{"c5.large", "m5.large", "m5.xlarge"}[k%3])
			w.Offerings[0].Zone, w.Offerings[1].Zone = "us-east-1"+zones[k/3%4:][:1], "us-east-1"+zones[(k/3+1+k/12)%4:][:1]
			p.NodeClaims = append(p.NodeClaims, w)
		}
		begun := time.Now()
		r.accepted(p)
		states := map[model.ClaimState]int{}
		r.until("all are launched", 10*time.Minute, func() bool {
			c, _ := r.store.Load(t.Context())
			clear(states)
			for _, x := range c.Claims {
				states[x.State]++
			}
			return states[model.ClaimLaunched] == claims
		})
		launched := time.Since(begun)
		if !testing.Short() { // it takes long, and tests no more
			r.until("all have their tags", 14*time.Minute, func() bool {
				ec2.mu.Lock()
				defer ec2.mu.Unlock()
				return ec2.calls["CreateTags"] >= claims
			})
		}
		ec2.mu.Lock()
		defer ec2.mu.Unlock()
		n := claims - ec2.calls["CreateTags"] // each is still to be tagged
		for _, k := range ec2.calls {
			n += k
		}
		each := float64(n) / claims
		t.Logf("%d launches in %s, after %s: %v calls, %d refused, %.2f for each launch, tags included",
			claims, launched, time.Since(begun), ec2.calls, ec2.refused, each)
		if each > 2 || states[model.ClaimFailed] > 0 || ec2.refused > 0 {
			t.Errorf("%.2f calls for each launch, %d claims failed, %d calls refused; want at most 2, and none", each, states[model.ClaimFailed], ec2.refused)
		}
	})
}
