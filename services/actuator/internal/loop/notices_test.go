package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// stateChange is what EventBridge says of an instance that has another state.
func stateChange(id, instance, state string, at time.Time) string {
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"EC2 Instance State-change Notification","source":"aws.ec2",
		"account":"1","time":%q,"region":"us-east-1","resources":[],"detail":{"instance-id":%q,"state":%q}}`,
		id, at.UTC().Format(time.RFC3339), instance, state)
}

func rebalance(instance string, at time.Time) string {
	return fmt.Sprintf(`{"version":"0","id":"e-rebalance","detail-type":"EC2 Instance Rebalance Recommendation","source":"aws.ec2",
		"account":"1","time":%q,"region":"us-east-1","resources":[],"detail":{"instance-id":%q}}`, at.UTC().Format(time.RFC3339), instance)
}

// logged keeps what a loop logs.
func (r *rig) logged() *bytes.Buffer {
	var out bytes.Buffer
	before := r.cfg
	r.cfg = func(c *Config) {
		if before != nil {
			before(c)
		}
		c.Log = slog.New(slog.NewTextHandler(&out, nil))
	}
	return &out
}

// drained waits until nothing is in the queue, hidden or not.
func (r *rig) drained() {
	r.t.Helper()
	r.until("the queue is empty", 5*time.Minute, func() bool { return r.ec2.Queued() == 0 })
}

func (r *rig) notices() []model.Notice {
	c, err := r.store.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return c.Notices
}

func TestAMessageThatComesTwiceDrainsOnce(t *testing.T) {
	leads(t, func(r *rig) {
		r.grow("c1")
		r.kube.run("c1", pod("web"))
		at := time.Now()
		for range 3 {
			r.ec2.Send(interruption(at, r.claim("c1").InstanceID))
		}
		r.reaches("c1", model.ClaimGone)
		r.ec2.Send(interruption(at, r.claim("c1").InstanceID))
		r.drained()
		if got := r.kube.evictions(); !slices.Equal(got, []string{"web force=false"}) {
			r.t.Errorf("evicted %v, want the pod once", got)
		}
		told := 0
		for _, e := range r.kube.Events("NodeClaim", "c1") {
			if e.Reason == "SpotInterrupted" {
				told++
			}
		}
		if told != 1 {
			r.t.Errorf("told %d times, want once", told)
		}
	})
}

func TestMessagesThatAreNoneOfKerfsAreTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		log := r.logged()
		r.start()
		r.grow("c1")
		r.ec2.Send("hello")
		r.ec2.Send(interruption(time.Now(), "i-of-another-cluster"))
		r.ec2.Send(stateChange("e-1", "i-of-another-cluster", "stopped", time.Now()))
		r.drained()
		if n := r.notices(); len(n) > 0 {
			t.Errorf("stored %v", n)
		}
		if c := r.claim("c1"); c.State != model.ClaimInitialized || len(r.alive()) != 1 {
			t.Errorf("claim is %s with instances %v", c.State, r.alive())
		}
		if text := log.String(); strings.Count(text, "unreadable notice") != 1 || !strings.Contains(text, "no EventBridge event") {
			t.Errorf("want one line about the message that can't be read:\n%s", text)
		}
	})
}

// TestWhatIsNotStoredComesAgain ends the leader before it has stored a notice, and before it has deleted a message: the
// next one gets it again.
func TestWhatIsNotStoredComesAgain(t *testing.T) {
	for name, after := range map[string]bool{"before it is stored": false, "after it is stored": true} {
		t.Run(name, func(t *testing.T) {
			leads(t, func(r *rig) {
				r.grow("c1")
				r.kube.run("c1", pod("web"))
				r.ec2.Hold(true)
				r.ec2.Send(interruption(time.Now(), r.claim("c1").InstanceID))
				time.Sleep(time.Minute) // what went on is done
				r.crash.next(after)
				r.ec2.Hold(false)
				r.until("the leader is gone", time.Minute, r.crash.happened)
				if stored := len(r.notices()) > 0; stored != after {
					r.t.Fatalf("stored: %v, want %v", stored, after)
				}
				if r.ec2.Queued() != 1 {
					r.t.Fatalf("%d messages are in the queue, want that it is there", r.ec2.Queued())
				}
				r.reaches("c1", model.ClaimGone)
				r.drained()
				if got := r.kube.evictions(); len(got) != 1 {
					r.t.Errorf("evicted %v, want the pod once", got)
				}
			})
		})
	}
}

func TestARecommendationDrainsWhereItIsAskedTo(t *testing.T) {
	for name, drains := range map[string]bool{"it is an event": false, "it drains": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.DrainRebalanced = drains }
				r.start()
				r.grow("c1")
				r.kube.run("c1", pod("web"))
				r.ec2.Send(rebalance(r.claim("c1").InstanceID, time.Now()))
				r.drained()
				time.Sleep(10 * time.Minute)
				want := model.ClaimInitialized
				if drains {
					want = model.ClaimGone
				}
				if got := r.claim("c1").State; got != want {
					t.Errorf("claim is %s, want %s", got, want)
				}
				if !slices.ContainsFunc(r.kube.Events("NodeClaim", "c1"), func(e clustertest.Event) bool { return e.Reason == "SpotRebalanceRecommendation" }) {
					t.Error("no event tells of it")
				}
			})
		})
	}
}

// TestImpairedInstancesAreGivenUp has status checks of instances fail, as EC2 tells where it is asked.
func TestImpairedInstancesAreGivenUp(t *testing.T) {
	for name, tc := range map[string]struct {
		claims, impaired int
		failed           time.Duration // how long before it is looked
		apart            time.Duration // how long one fails after the other
		recovers         bool
		want             model.ClaimState
	}{
		"checks that have failed for two minutes":                {1, 1, interrupt.ImpairedFor, 0, false, model.ClaimGone},
		"checks that fail and pass again":                        {1, 1, 0, 0, true, model.ClaimInitialized},
		"checks of many of a pool's nodes at once":               {4, 2, interrupt.ImpairedFor, 0, false, model.ClaimInitialized},
		"checks of many of a pool's nodes, one before the other": {4, 2, interrupt.ImpairedFor, time.Minute, false, model.ClaimInitialized},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.Checks = r.ec2 }
				r.start()
				for i := range tc.claims {
					r.grow(model.ClaimID(fmt.Sprint("c", i+1)))
				}
				stays := pod("web")
				stays.DoNotDisrupt = true
				r.kube.run("c1", stays)
				r.kube.change(func() { r.kube.budget = true })
				for i := range tc.impaired {
					r.ec2.Report(cloud.Status{
						InstanceID: r.claim(model.ClaimID(fmt.Sprint("c", i+1))).InstanceID, Impaired: true,
						ImpairedSince: time.Now().Add(time.Duration(i)*tc.apart - tc.failed),
					})
				}
				if tc.recovers {
					time.Sleep(interrupt.ImpairedFor - time.Second)
					r.ec2.Report(cloud.Status{InstanceID: r.claim("c1").InstanceID})
				}
				time.Sleep(10 * time.Minute)
				if got := r.claim("c1").State; got != tc.want {
					t.Errorf("claim is %s, want %s\n%s", got, tc.want, r.dump())
				}
				if got := r.kube.evictions(); tc.want == model.ClaimGone && !slices.Equal(got, []string{"web force=true"}) {
					t.Errorf("evicted %v, want the pod by force", got)
				}
			})
		})
	}
}

// TestEventsOfTheStatusChecksAreMaintenance has EC2 list scheduled events, one of them until it calls it off.
func TestEventsOfTheStatusChecksAreMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Checks = r.ec2 }
		r.start()
		r.grow("c1")
		r.grow("c2")
		at := time.Now().Add(3 * time.Hour)
		for _, id := range []model.ClaimID{"c1", "c2"} {
			e := cloud.ScheduledEvent{ID: "event-" + string(id), Code: "instance-retirement", NotBefore: at}
			r.ec2.Report(cloud.Status{InstanceID: r.claim(id).InstanceID, Events: []cloud.ScheduledEvent{e}})
		}
		r.until("both are stored", 5*time.Minute, func() bool { return len(r.notices()) == 2 })
		r.ec2.Report(cloud.Status{InstanceID: r.claim("c2").InstanceID, Events: []cloud.ScheduledEvent{
			{ID: "event-c2", Code: "instance-retirement", NotBefore: at, Description: "[Canceled] no more"},
		}})
		r.until("c1 is gone", 4*time.Hour, func() bool { return r.claim("c1").State == model.ClaimGone })
		if before := time.Until(at); before < 30*time.Minute {
			t.Errorf("gone %s before the event", before)
		}
		time.Sleep(3 * time.Hour)
		if c := r.claim("c2"); c.State != model.ClaimInitialized {
			t.Errorf("%s, though nothing is to happen any more", c.State)
		}
	})
}

// slowQueue answers after as long as SQS takes.
type slowQueue struct {
	cloud.Queue

	mu        sync.Mutex
	now, most int // receivers
}

func (q *slowQueue) Receive(ctx context.Context) ([]cloud.Message, error) {
	q.count(1)
	defer q.count(-1)
	time.Sleep(20 * time.Millisecond)
	return q.Queue.Receive(ctx)
}

func (q *slowQueue) Delete(ctx context.Context, receipts []string) error {
	time.Sleep(10 * time.Millisecond)
	return q.Queue.Delete(ctx, receipts)
}

func (q *slowQueue) count(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.now += n
	q.most = max(q.most, q.now)
}

// TestTenThousandMessages puts the messages of a large account on the queue while a launch goes on, and behind them one
// about an instance of this cluster.
func TestTenThousandMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var queue *slowQueue
		r.cfg = func(c *Config) {
			queue = &slowQueue{Queue: c.Queue}
			c.Queue = queue
		}
		r.start()
		r.grow("c1")
		r.kube.change(func() { r.kube.stuck = true })
		r.ec2.OnLaunch = func(cloud.Request) error { return cloud.ErrThrottled } // c2 goes on launching
		r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{nodeClaim("c2", "m5.large")}})
		r.reaches("c2", model.ClaimLaunching)
		at := time.Now()
		for i := range 10_000 {
			instance, id := fmt.Sprint("i-foreign-", i), fmt.Sprint("e-", i)
			switch i % 3 {
			case 0:
				r.ec2.Send(stateChange(id, instance, "terminated", at))
			case 1:
				r.ec2.Send(stateChange(id, instance, "running", at))
			default:
				r.ec2.Send(interruption(at.Add(-time.Hour), instance)) // from before the launch
			}
		}
		r.ec2.Send(interruption(at, r.claim("c1").InstanceID))
		r.until("c1 goes", time.Minute, func() bool { return r.claim("c1").State >= model.ClaimDraining })
		r.drained()
		if took := time.Since(at); took > 30*time.Second {
			t.Errorf("the queue was empty after %s", took)
		}
		if n := len(r.notices()); n > 1 {
			t.Errorf("%d notices were stored, want the one", n)
		}
		queue.mu.Lock()
		defer queue.mu.Unlock()
		if queue.most < 2 || queue.most > 10 {
			t.Errorf("%d received at once at most", queue.most)
		}
	})
}

// TestNoticesOfUnknownInstancesAreBounded sends more notices than are stored of instances that may be of a launch.
func TestNoticesOfUnknownInstancesAreBounded(t *testing.T) {
	leads(t, func(r *rig) {
		r.ec2.OnLaunch = func(cloud.Request) error { return cloud.ErrThrottled }
		r.accepted(model.Plan{ID: "p-1", NodeClaims: []model.NodeClaim{nodeClaim("c1", "m5.large")}})
		r.reaches("c1", model.ClaimLaunching)
		for i := range 600 {
			r.ec2.Send(interruption(time.Now(), fmt.Sprint("i-unknown-", i)))
		}
		time.Sleep(time.Minute)
		if stored, queued := len(r.notices()), r.ec2.Queued(); stored < 500 || stored > 510 || stored+queued != 600 {
			r.t.Errorf("%d are stored and %d are in the queue", stored, queued)
		}
	})
}

// untaintable is a cluster in which a webhook that is down lets no node be kept from new pods, up to a time; zero for ever.
type untaintable struct {
	cluster.Cluster
	until time.Time
}

func (u untaintable) UpdateNode(ctx context.Context, c cluster.NodeChange) error {
	down := u.until.IsZero() || time.Now().Before(u.until)
	if down && slices.ContainsFunc(c.AddTaints, func(t model.Taint) bool { return t.Key == labels.TaintDisrupted }) {
		return errors.New("failed calling webhook: no endpoints available")
	}
	return u.Cluster.UpdateNode(ctx, c)
}

func TestAnInterruptedNodeThatCannotBeTaintedIsDrainedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg = func(c *Config) { c.Kube = untaintable{Cluster: c.Kube} }
		r.start()
		r.grow("c1")
		r.kube.run("c1", pod("web"))
		r.ec2.Send(interruption(time.Now(), r.claim("c1").InstanceID))
		time.Sleep(50 * time.Second)
		if got := r.kube.evictions(); len(got) > 0 {
			t.Errorf("evicted %v while the node may be tainted yet", got)
		}
		time.Sleep(time.Minute)
		if got := r.kube.evictions(); len(got) != 1 {
			t.Errorf("evicted %v before EC2 takes the instance, want the pod", got)
		}
	})
}

// TestPodsWaitForTheirNextNodeWhereThereIsTime has AWS announce what ends no instance soon, and a plan buy a node for
// what runs there.
func TestPodsWaitForTheirNextNodeWhereThereIsTime(t *testing.T) {
	for name, c := range map[string]struct {
		body  func(instance string) string
		waits bool
	}{
		"a recommendation": {func(i string) string { return rebalance(i, time.Now()) }, true},
		"a reboot": {func(i string) string {
			return maintenance(time.Now(), i, reboot, "upcoming", time.Now().Add(time.Hour))
		}, true},
		"an instance that stops already": {func(i string) string { return stateChange("e-1", i, "stopping", time.Now()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg = func(c *Config) { c.DrainRebalanced = true }
				r.start()
				r.grow("c1")
				r.kube.run("c1", pod("web"))
				r.ec2.Send(c.body(r.claim("c1").InstanceID))
				r.reaches("c1", model.ClaimDraining)
				next := nodeClaim("c2", "m5.large")
				next.Pods = []model.PodID{"default/web"}
				r.accepted(model.Plan{ID: "p-2", NodeClaims: []model.NodeClaim{next}})
				r.until("the pod is evicted", 5*time.Minute, func() bool { return len(r.kube.evictions()) > 0 })
				if s := r.claim("c2").State; (s == model.ClaimInitialized) != c.waits {
					t.Errorf("the pod left while its next node was %s", s)
				}
				r.reaches("c1", model.ClaimGone)
			})
		})
	}
}

// TestAnInstanceThatHasStoppedIsGivenUp stops an instance on which there is a pod that nothing may evict: it does not
// run any more.
func TestAnInstanceThatHasStoppedIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.grow("c1")
		stays := pod("web")
		stays.DoNotDisrupt = true
		r.kube.run("c1", stays)
		instance := r.claim("c1").InstanceID
		r.ec2.Send(stateChange("e-1", instance, "stopping", time.Now()))
		time.Sleep(time.Minute)
		if got := r.kube.evictions(); len(got) > 0 {
			t.Errorf("evicted %v from an instance that stops, and may give its pods their time", got)
		}
		r.kube.silence("c1", true)
		r.ec2.Send(stateChange("e-2", instance, "stopped", time.Now()))
		r.until("the claim is gone", 3*time.Minute, func() bool { return r.claim("c1").State == model.ClaimGone })
		if got := r.kube.evictions(); !slices.Equal(got, []string{"web force=true"}) {
			t.Errorf("evicted %v, want the pod by force", got)
		}
	})
}

// TestAnInstanceThatIsStartedAgainKeepsItsPods hears that an instance has stopped when it runs again already.
func TestAnInstanceThatIsStartedAgainKeepsItsPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.grow("c1")
		stays := pod("web")
		stays.DoNotDisrupt = true
		r.kube.run("c1", stays)
		r.ec2.Send(stateChange("e-1", r.claim("c1").InstanceID, "stopped", time.Now()))
		time.Sleep(3 * time.Minute)
		if got := r.kube.evictions(); len(got) > 0 || r.claim("c1").State == model.ClaimGone {
			t.Errorf("evicted %v from a node that is ready; its claim is %s", got, r.claim("c1").State)
		}
	})
}

// TestTheEndThatKerfBringsAboutIsNoNotice sends what EC2 says of each instance that ends.
func TestTheEndThatKerfBringsAboutIsNoNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		r.grow("c1")
		instance := r.claim("c1").InstanceID
		r.kube.Delete("NodeClaim", "c1")
		r.reaches("c1", model.ClaimTerminating)
		r.ec2.Send(stateChange("e-1", instance, "shutting-down", time.Now()))
		r.drained()
		if n := r.notices(); len(n) > 0 {
			t.Errorf("stored %v", n)
		}
		for _, e := range r.kube.Events("NodeClaim", "c1") {
			if e.Reason == "InstanceStopping" {
				t.Errorf("told %s: %s", e.Reason, e.Message)
			}
		}
		r.reaches("c1", model.ClaimGone)
	})
}
