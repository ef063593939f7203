package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/core/model"
)

// cutOff is the cluster of a process that can be cut off from the API server: what it saw last stands.
type cutOff struct {
	cluster.Cluster
	since *atomic.Pointer[time.Time]
	last  *cluster.State
}

var errCutOff = errors.New("i/o timeout")

func (c cutOff) Observe() (cluster.State, error) {
	at := c.since.Load()
	if at != nil && c.last.Pools != nil {
		s := *c.last
		s.Silent, s.PodsUnseen = *at, true
		return s, nil
	}
	s, err := c.Cluster.Observe()
	if err == nil {
		*c.last = s
	}
	return s, err
}

func (c cutOff) UpdateNode(ctx context.Context, n cluster.NodeChange) error {
	if c.since.Load() != nil {
		return errCutOff
	}
	return c.Cluster.UpdateNode(ctx, n)
}

func (c cutOff) Publish(ctx context.Context, p cluster.Publication) error {
	if c.since.Load() != nil {
		return errCutOff
	}
	return c.Cluster.Publish(ctx, p)
}

// actuatorProcess is one of several processes.
type actuatorProcess struct {
	loop  *Loop
	stop  func()
	since atomic.Pointer[time.Time]
	ready atomic.Int32
	asked atomic.Int32
}

// begin starts a process that can be cut off. They are stopped in the end.
func (r *rig) begin(name string) *actuatorProcess {
	r.t.Helper()
	p := &actuatorProcess{}
	r.cfg = func(c *Config) {
		c.passedOver = nil // what it would see otherwise is not what it sees
		c.Name, c.Kube, c.Ready = name, cutOff{c.Kube, &p.since, &cluster.State{}}, tells(&p.ready)
		c.Ask = func(context.Context) error { p.asked.Add(1); return nil }
	}
	r.start()
	p.loop, p.stop = r.loop, r.stop
	time.Sleep(time.Second)
	return p
}

func (p *actuatorProcess) cut()  { p.since.Store(new(time.Now())) }
func (p *actuatorProcess) mend() { p.since.Store(nil) }

func (p *actuatorProcess) leads() bool {
	_, _, leads := p.loop.Shown()
	return leads
}

// passes lets time pass. At no moment do two lead.
func (r *rig) passes(d time.Duration, a, b *actuatorProcess) {
	r.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		if a.leads() && b.leads() {
			r.t.Fatal("two lead")
		}
	}
}

// pair are two processes, of which the first leads.
func pair(t *testing.T, test func(r *rig, a, b *actuatorProcess)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.begin("a")
		b := r.begin("b")
		r.loop = a.loop
		r.accepted(model.Plan{ID: "p0", NodeClaims: []model.NodeClaim{nodeClaim("c0", "m5.large")}})
		r.reaches("c0", model.ClaimInitialized)
		r.passes(time.Minute, a, b)
		if !a.leads() || a.ready.Load() != 1 || b.ready.Load() != 1 {
			t.Fatalf("a leads: %v, ready: %d and %d", a.leads(), a.ready.Load(), b.ready.Load())
		}
		test(r, a, b)
		a.stop()
		b.stop()
	})
}

func TestALeaderThatSeesNothingMakesWayForOneThatSees(t *testing.T) {
	pair(t, func(r *rig, a, b *actuatorProcess) {
		a.cut()
		r.passes(85*time.Second, a, b)
		if !a.leads() {
			t.Error("it does not wait")
		}
		r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.passes(time.Minute, a, b)
		if a.leads() || !b.leads() || a.ready.Load() != -1 || b.ready.Load() != 1 {
			t.Errorf("the one that is cut off leads: %v, the other: %v; ready: %d and %d", a.leads(), b.leads(), a.ready.Load(), b.ready.Load())
		}
		r.loop = b.loop
		r.reaches("c1", model.ClaimInitialized)
		r.launchedOnce()
		a.mend()
		r.passes(20*time.Second, a, b)
		if a.ready.Load() != -1 {
			t.Error("it stands by at once")
		}
		r.passes(10*time.Minute, a, b)
		if !b.leads() || a.ready.Load() != 1 {
			t.Errorf("the one that led leads on: %v; the one that sees again is ready: %d", b.leads(), a.ready.Load())
		}
		b.cut()
		r.passes(3*time.Minute, a, b)
		if !a.leads() || b.ready.Load() != -1 {
			t.Errorf("the one that stands by has taken over: %v; ready: %d", a.leads(), b.ready.Load())
		}
	})
}

func TestWhereNoOneSeesTheLeaderLeadsOn(t *testing.T) {
	for name, later := range map[string]time.Duration{"both at once": 0, "the leader notices first": 30 * time.Second, "the leader notices last": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			pair(t, func(r *rig, a, b *actuatorProcess) {
				first, second := a, b
				if later < 0 {
					first, second, later = b, a, -later
				}
				first.cut()
				r.passes(later, a, b)
				second.cut()
				r.passes(time.Hour, a, b)
				if !a.leads() || b.ready.Load() != -1 {
					t.Errorf("the leader leads on: %v; the other is ready: %d", a.leads(), b.ready.Load())
				}
				r.accepted(model.Plan{ID: "p1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
				a.mend()
				b.mend()
				r.reaches("c1", model.ClaimInitialized)
				r.passes(time.Minute, a, b)
				if !a.leads() || b.ready.Load() != 1 {
					t.Errorf("once they see again, the leader leads on: %v; the other is ready: %d", a.leads(), b.ready.Load())
				}
			})
		})
	}
}

func TestACandidateThatIsCutOffLeavesTheLine(t *testing.T) {
	pair(t, func(r *rig, a, b *actuatorProcess) {
		asked := b.asked.Load()
		r.passes(time.Minute, a, b)
		if n := b.asked.Load() - asked; n < 4 || n > 7 {
			t.Errorf("it has asked the API server %d times within a minute", n)
		}
		b.cut()
		r.passes(time.Minute, a, b)
		a.stop()
		time.Sleep(10 * time.Minute)
		if b.leads() {
			t.Error("one that is cut off leads")
		}
		c := r.begin("c")
		if !c.leads() {
			t.Error("one that sees does not lead")
		}
		c.stop()
		b.mend()
		time.Sleep(time.Minute)
		if !b.leads() {
			t.Error("one that sees again does not lead")
		}
	})
}

// Of two that see now and then, each while the other does not, and never for long, one leads on.
func TestTheLeadDoesNotGoToAndFro(t *testing.T) {
	pair(t, func(r *rig, a, b *actuatorProcess) {
		b.cut()
		r.passes(20*time.Second, a, b)
		for range 30 {
			for second := 0; second < 120; second += 20 {
				switch second {
				case 0:
					a.cut()
				case 40:
					b.mend()
				case 60:
					b.cut()
				case 100:
					a.mend()
				}
				r.passes(20*time.Second, a, b)
				if b.leads() {
					t.Error("the lead has gone to one that sees no more than the other")
				}
			}
		}
	})
}

// unprepared is a store that does not answer those who stand by until it is told to.
type unprepared struct {
	store.Store
	answers *atomic.Bool
}

func (u unprepared) Prepare(ctx context.Context) error {
	if !u.answers.Load() {
		return context.DeadlineExceeded
	}
	return u.Store.Prepare(ctx)
}

// A rollout whose etcd is misspelled, or whose EKS does not answer, stands still: those who lead know more than they would.
func TestACandidateIsReadyOnceAllHasAnsweredThatItNeeds(t *testing.T) {
	for what, silence := range map[string]func(*Config, *atomic.Bool){
		"the store": func(c *Config, answers *atomic.Bool) { c.Store = unprepared{c.Store, answers} },
		"EKS": func(c *Config, answers *atomic.Bool) {
			c.Prepared = func(context.Context) error {
				if !answers.Load() {
					return context.DeadlineExceeded
				}
				return nil
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				a := r.begin("a")
				var answers atomic.Bool
				var told atomic.Int32
				r.cfg = func(c *Config) {
					c.Name, c.Ready = "b", tells(&told)
					silence(c, &answers)
				}
				r.start()
				stop := r.stop
				time.Sleep(10 * time.Minute)
				if told.Load() != 0 {
					t.Errorf("it is ready, though %s has not answered", what)
				}
				answers.Store(true)
				time.Sleep(time.Minute)
				if told.Load() != 1 {
					t.Errorf("it is not ready, though %s has answered", what)
				}
				answers.Store(false)
				time.Sleep(time.Minute)
				if told.Load() != 1 {
					t.Errorf("it is ready no more, as %s is away for all", what)
				}
				stop()
				a.stop()
			})
		})
	}
}
