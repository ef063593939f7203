package loop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cloudtest"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/clustertest"
	"github.com/kerf-dev/kerf/services/actuator/instancetype"
	"github.com/kerf-dev/kerf/services/actuator/interrupt"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/actuator/store"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// fakeKube is a cluster in memory whose kubelets follow a fake EC2. Safe for concurrent use.
type fakeKube struct {
	*clustertest.Fake

	mu         sync.Mutex                      // taken under the fake's own, never the other way round
	launch     map[model.ClaimID]cloud.Request // the last one, by claim
	tokens     map[string]cloud.Request
	budget     bool                        // evictions are refused while it is set
	stuck      bool                        // kubelets do not join
	pace       time.Duration               // how long kubelets do nothing at a time; for tests of many
	silent     map[model.ClaimID]time.Time // whose kubelets say nothing since when
	late       map[model.ClaimID]time.Time // before when kubelets do not join
	neverReady bool                        // kubelets that join now never become ready
	pubs       map[string]cluster.PoolStatus
	// launches counts the instances that were ever there, by claim.
	launches map[model.ClaimID]map[string]bool
}

func newFakeKube() *fakeKube {
	k := &fakeKube{
		Fake: clustertest.New(time.Now), silent: map[model.ClaimID]time.Time{}, launch: map[model.ClaimID]cloud.Request{}, tokens: map[string]cloud.Request{}, pubs: map[string]cluster.PoolStatus{},
		launches: map[model.ClaimID]map[string]bool{},
	}
	k.OnEvict = func(e cluster.Eviction) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.budget && !e.Force {
			return cluster.ErrBlocked
		}
		return nil
	}
	k.OnPublish = func(p cluster.Publication) {
		k.change(func() {
			for _, s := range p.Pools {
				k.pubs[string(s.Name)] = s
			}
		})
	}
	k.Edit(func(s *cluster.State) {
		s.Pools = []cluster.Pool{{NodePool: model.NodePool{
			Name: "default", NodeClass: "default", Hash: "pool-1", ExpireAfter: new(720 * time.Hour),
			Labels: model.Labels{{Key: "type", Value: "karpenter"}},
			Limits: model.Amounts{{Resource: "cpu", Value: 10_000_000}},
		}}}
		s.Classes = []cluster.Class{{Spec: cloud.ClassSpec{Name: "default", UID: "u-1", Generation: 1, Hash: "class-1", AMIFamily: "AL2023"}}}
	})
	return k
}

// change turns the levers.
func (k *fakeKube) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// kubelets lets instances join and their nodes become ready, until ctx ends. While nothing happens they are quiet, or
// hours would take long even in virtual time.
func (k *fakeKube) kubelets(ctx context.Context, ec2 *cloudtest.Fake) {
	type moment struct{ instances, alive, evicted, silent, stuck, neverReady int }
	var seen moment
	since := time.Now()
	number := map[bool]int{true: 1}
	for ctx.Err() == nil {
		instances, _ := ec2.Instances(ctx)
		now := moment{instances: len(instances), evicted: len(k.Evictions())}
		for _, i := range instances {
			now.alive += number[i.State.Alive()] + number[i.State == cloud.Running]
		}
		pace := 100 * time.Millisecond
		k.change(func() {
			pace = max(pace, k.pace)
			now.silent, now.stuck, now.neverReady = len(k.silent), number[k.stuck], number[k.neverReady]
		})
		if now != seen {
			seen, since = now, time.Now()
		}
		if time.Since(since) < 10*time.Second {
			k.Edit(func(s *cluster.State) {
				k.change(func() {
					for _, i := range instances {
						k.follow(s, i)
					}
				})
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
}

func (k *fakeKube) follow(s *cluster.State, i cloud.Instance) {
	if k.launches[i.Claim] == nil {
		k.launches[i.Claim] = map[string]bool{}
	}
	if i.Claim != "" {
		k.launches[i.Claim][i.ID] = true
	}
	at := slices.IndexFunc(s.Nodes, func(n *cluster.Node) bool { return string(n.Name) == i.ID })
	switch {
	case at < 0 && i.State == cloud.Running && !k.stuck && !time.Now().Before(k.late[i.Claim]):
		r := k.tokens[i.Launch]
		n := &cluster.Node{
			Name: model.NodeName(i.ID), ProviderID: i.ProviderID, Labels: map[string]string{labels.Zone: i.Zone}, CreateTime: time.Now(),
			Annotations: map[string]string{},
			Allocatable: model.Amounts{{Resource: "cpu", Value: 1900}, {Resource: "memory", Value: 7 << 30}},
			Capacity:    model.Amounts{{Resource: "cpu", Value: 2000}, {Resource: "memory", Value: 8 << 30}},
			Taints:      slices.Clone(r.Taints),
		}
		for _, l := range r.Labels {
			n.Labels[l.Key] = l.Value
		}
		if k.neverReady {
			n.Annotations["neverReady"] = ""
		}
		s.Nodes = append(s.Nodes, n)
	case at >= 0:
		n := s.Nodes[at]
		since, silent := k.silent[i.Claim]
		if _, neverReady := n.Annotations["neverReady"]; neverReady {
			since, silent = n.CreateTime, true
		}
		n.Ready = !silent && i.State == cloud.Running && time.Since(n.CreateTime) > time.Second
		ready := model.NodeCondition{Type: "Ready", Status: "True", TransitionTime: n.CreateTime}
		if silent {
			ready.Status, ready.TransitionTime = "Unknown", since
		}
		n.Conditions = []model.NodeCondition{ready}
	}
}

// evictions lists which pods were evicted, and how.
func (k *fakeKube) evictions() []string {
	var out []string
	for _, e := range k.Evictions() {
		out = append(out, fmt.Sprintf("%s force=%v", e.Name, e.Force))
	}
	return out
}

// run puts a pod on the claim's node.
func (k *fakeKube) run(claim model.ClaimID, p cluster.Pod) {
	k.Edit(func(s *cluster.State) {
		for i := range s.Nodes {
			if n := s.Nodes[i]; n.Labels["kerf.dev/claim"] == string(claim) {
				n.Pods = append(n.Pods, p)
			}
		}
	})
}

// silence ends a kubelet's words for good, or lets it speak again.
func (k *fakeKube) silence(claim model.ClaimID, silent bool) {
	k.change(func() {
		if silent {
			k.silent[claim] = time.Now()
		} else {
			delete(k.silent, claim)
		}
	})
}

// has says whether the claim's object is there.
func (k *fakeKube) has(claim model.ClaimID) bool {
	s, err := k.Observe()
	return err == nil && slices.Contains(s.ClaimObjects, claim)
}

func pod(name string) cluster.Pod {
	return cluster.Pod{Namespace: "default", Name: name, UID: "uid-" + name, GracePeriod: time.Second, Owner: "rs"}
}

// rig is a whole actuator on fakes, in a bubble of virtual time.
type rig struct {
	t     *testing.T
	store *storetest.Memory
	ec2   *cloudtest.Fake
	kube  *fakeKube
	crash *crash
	cfg   func(*Config)
	// recalled is what every process recalls of the market, whatever is kept; nil for what is kept.
	recalled []byte

	loop *Loop
	stop func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, store: storetest.New(), kube: newFakeKube(), crash: &crash{at: -1}}
	r.ec2 = cloudtest.New(smallCatalog(t), time.Now, time.Second)
	r.ec2.OnLaunch = func(q cloud.Request) error {
		r.kube.change(func() { r.kube.launch[q.Claim], r.kube.tokens[q.Token] = q, q })
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.kube.kubelets(ctx, r.ec2)
	}()
	t.Cleanup(func() {
		if r.stop != nil {
			r.stop()
		}
		cancel()
		<-done
	})
	return r
}

// leads runs a test in a bubble, with time of its own and a loop that runs from the start.
func leads(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		test(r)
	})
}

// start runs a loop as a process of its own.
func (r *rig) start() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.crash.kill = cancel
	p := process{crash: r.crash, rig: r}
	c := Config{
		Cluster: "c", Region: "us-east-1", Name: "me", Store: p, Election: p, Cloud: p, Classes: p, Market: r.ec2, Queue: p, Kube: p,
		Settings: func(s cloud.ClassSpec) instancetype.Settings { return instancetype.Settings{AMIFamily: s.AMIFamily} },
		Parse:    interrupt.Parse, Log: slog.New(slog.DiscardHandler), Tracer: tracer(), passedOver: r.passedOver,
	}
	if r.cfg != nil {
		r.cfg(&c)
	}
	l, err := New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.loop = l
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("run: %v", err)
		}
		r.store.Depose() // a process that crashed can't resign: its lease ends
	})
}

// passedOver wants of each pass that it is as if it had looked at all claims.
func (r *rig) passedOver(c *model.Claim, would lifecycle.Result, wake time.Time) {
	// Each claim of each quiet pass comes here: what differs is only worked out where something does.
	if !reflect.DeepEqual(*c, would.Claim) || len(would.Effects) > 0 {
		if d := cmp.Diff(*c, would.Claim); d != "" || len(would.Effects) > 0 {
			r.t.Errorf("a pass left claim %s out that asks for %v and would be another (-is +would):\n%s", c.ID, would.Effects, d)
		}
	}
	if !would.Wake.IsZero() && (wake.IsZero() || wake.After(would.Wake)) {
		r.t.Errorf("a pass left claim %s out, which is looked at again at %s, want %s", c.ID, wake, would.Wake)
	}
}

func tracer() trace.Tracer { return noop.NewTracerProvider().Tracer("test") }

// until waits, in virtual time, for a condition; what says what it waits for.
func (r *rig) until(what string, d time.Duration, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(d); !ok(); time.Sleep(50 * time.Millisecond) {
		r.revive()
		if !time.Now().Before(end) {
			r.t.Fatalf("after %s still not: %s\n%s", d, what, r.dump())
		}
	}
}

// revive starts the process again once it has crashed.
func (r *rig) revive() {
	if !r.crash.happened() {
		return
	}
	r.stop()
	r.crash = &crash{at: -1}
	r.start()
}

func (r *rig) dump() string {
	c, _ := r.store.Load(context.Background())
	out := ""
	for _, x := range c.Claims {
		out += fmt.Sprintf("claim %s %s reached %s attempt %d instance %s node %s why %q\n",
			x.ID, x.State, x.Reached, x.Attempt, x.InstanceID, x.Node, x.Failure.Message)
	}
	for _, x := range c.Disruptions {
		out += fmt.Sprintf("disruption %+v\n", x)
	}
	s, _ := r.kube.Observe()
	for _, n := range s.Nodes {
		out += fmt.Sprintf("node %s %s ready %v taints %v labels %v pods %v\n", n.Name, n.ProviderID, n.Ready, n.Taints, n.Labels, n.Pods)
	}
	instances, _ := r.ec2.Instances(context.Background())
	for _, i := range instances {
		out += fmt.Sprintf("instance %s claim %s %s\n", i.ID, i.Claim, i.State)
	}
	return out
}

func (r *rig) claim(id model.ClaimID) model.Claim {
	c, _ := r.store.Load(context.Background())
	for _, x := range c.Claims {
		if x.ID == id {
			return x
		}
	}
	return model.Claim{}
}

func (r *rig) reaches(id model.ClaimID, s model.ClaimState) {
	r.t.Helper()
	r.until(fmt.Sprintf("claim %s is %s", id, s), 30*time.Minute, func() bool { return r.claim(id).State >= s })
	if got := r.claim(id).State; got != s {
		r.t.Fatalf("claim %s is %s, want %s\n%s", id, got, s, r.dump())
	}
}

// apply hands a plan in, as often as it takes: the caller of a process that crashes asks the next one.
func (r *rig) apply(p model.Plan) []model.Verdict {
	r.t.Helper()
	var answer Answer
	r.until("the plan "+string(p.ID)+" is answered", 5*time.Minute, func() bool {
		ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
		defer cancel()
		if p.InventoryRevision == 0 {
			inv, err := r.loop.Inventory(ctx)
			if err != nil {
				return false
			}
			p.InventoryRevision = inv.Revision
		}
		p.Now = time.Now()
		var err error
		answer, err = r.loop.Apply(ctx, p, nil, false)
		return err == nil
	})
	return answer.Verdicts
}

func (r *rig) accepted(p model.Plan) {
	r.t.Helper()
	for _, v := range r.apply(p) {
		if !v.Accepted {
			r.t.Fatalf("decision %s rejected: %s\n%s", v.Decision, v.Reason.Message, r.dump())
		}
	}
}

func nodeClaim(id string, types ...string) model.NodeClaim {
	w := model.NodeClaim{ID: model.ClaimID(id), NodePool: "default", NodeClass: "default", Pods: []model.PodID{model.PodID("default/for-" + id)}}
	prices := map[string]int64{"c5.large": 85_000, "m5.large": 96_000, "m5.xlarge": 192_000}
	for _, name := range types {
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			w.Offerings = append(w.Offerings, model.RankedOffering{InstanceType: model.TypeName(name), Zone: zone, CapacityType: model.OnDemand, Price: prices[name]})
		}
	}
	return w
}

// instances lists what EC2 shows.
func (r *rig) instances() []cloud.Instance {
	list, _ := r.ec2.Instances(context.Background())
	return list
}

// alive lists the instances that cost money.
func (r *rig) alive() []string {
	var out []string
	for _, i := range r.instances() {
		if i.State.Alive() {
			out = append(out, i.ID)
		}
	}
	return out
}

// launchedOnce checks that no claim ever had two instances.
func (r *rig) launchedOnce() {
	r.t.Helper()
	r.kube.mu.Lock()
	defer r.kube.mu.Unlock()
	for id, ids := range r.kube.launches {
		if id != "" && len(ids) != 1 {
			r.t.Errorf("claim %s had %d instances: %v", id, len(ids), slices.Sorted(maps.Keys(ids)))
		}
	}
}

// crash ends a process at one of its calls to the world.
type crash struct {
	mu    sync.Mutex
	at    int  // the call, from 0; negative for never
	after bool // the call is carried out first
	calls int
	dead  bool
	kill  context.CancelFunc
}

func (c *crash) happened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// next lets the process die at its next call.
func (c *crash) next(after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.after = c.calls, after
}

// call makes one call to the world, unless the process is dead or dies here.
func (c *crash) call(ctx context.Context, f func() error) error {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	now := c.calls == c.at
	c.calls++
	c.dead = now
	c.mu.Unlock()
	if !now {
		return f()
	}
	if c.after {
		_ = f()
	}
	c.kill()
	<-ctx.Done()
	return ctx.Err()
}

// process is the world as one process sees it.
type process struct {
	crash *crash
	rig   *rig
}

func (p process) Prepare(ctx context.Context) error { return p.rig.store.Prepare(ctx) }

func (p process) Remember(ctx context.Context, f store.Fence, name string, data []byte) error {
	return p.rig.store.Remember(ctx, f, name, data)
}

func (p process) Recall(ctx context.Context, name string) ([]byte, error) {
	if p.rig.recalled != nil {
		return p.rig.recalled, nil
	}
	return p.rig.store.Recall(ctx, name)
}

func (p process) Load(ctx context.Context) (store.Contents, error) { return p.rig.store.Load(ctx) }

func (p process) Commit(ctx context.Context, f store.Fence, b store.Batch) (r store.Revision, err error) {
	if b.Writes() == 0 {
		return p.rig.store.Commit(ctx, f, b) // it only reads
	}
	// A caller's context may be one that never ends; the process's own end must be seen.
	err = p.crash.call(p.mortal(ctx), func() (err error) {
		r, err = p.rig.store.Commit(ctx, f, b)
		return err
	})
	return r, err
}

// mortal is a context that ends when the process has been killed, whatever it is derived from.
func (p process) mortal(ctx context.Context) context.Context {
	if ctx.Done() != nil {
		return ctx
	}
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	return dead
}

func (p process) Campaign(ctx context.Context, name string) (store.Term, error) {
	return p.rig.store.Campaign(ctx, name)
}
func (p process) Leader(ctx context.Context) (string, error) { return p.rig.store.Leader(ctx) }

func (p process) Launch(ctx context.Context, q cloud.Request) (i []cloud.Instance, err error) {
	err = p.crash.call(ctx, func() (err error) {
		i, err = p.rig.ec2.Launch(ctx, q)
		return err
	})
	return i, err
}

func (p process) Tag(ctx context.Context, i cloud.Instance) error {
	return p.crash.call(ctx, func() error { return p.rig.ec2.Tag(ctx, i) })
}

func (p process) Terminate(ctx context.Context, ids ...string) error {
	return p.crash.call(ctx, func() error { return p.rig.ec2.Terminate(ctx, ids...) })
}

func (p process) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	return p.rig.ec2.Instances(ctx, some...)
}

func (p process) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return p.rig.ec2.Resolve(ctx, s)
}

func (p process) Look(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return p.rig.ec2.Look(ctx, s)
}

func (p process) Release(ctx context.Context, s cloud.ClassSpec) error {
	return p.crash.call(ctx, func() error { return p.rig.ec2.Release(ctx, s) })
}

func (p process) Sweep(ctx context.Context, unused time.Duration) (names []string, err error) {
	err = p.crash.call(ctx, func() (err error) {
		names, err = p.rig.ec2.Sweep(ctx, unused)
		return err
	})
	return names, err
}

func (p process) Receive(ctx context.Context) ([]cloud.Message, error) { return p.rig.ec2.Receive(ctx) }

func (p process) Delete(ctx context.Context, receipts []string) error {
	return p.crash.call(ctx, func() error { return p.rig.ec2.Delete(ctx, receipts) })
}

func (p process) Observe() (cluster.State, error) { return p.rig.kube.Observe() }
func (p process) Changed() <-chan struct{}        { return p.rig.kube.Changed() }

func (p process) Claim(id model.ClaimID) (c model.Claim, there bool, err error) {
	return p.rig.kube.Claim(id)
}

func (p process) UpdateNode(ctx context.Context, c cluster.NodeChange) error {
	return p.crash.call(ctx, func() error { return p.rig.kube.UpdateNode(ctx, c) })
}

func (p process) Evict(ctx context.Context, e cluster.Eviction) error {
	return p.crash.call(ctx, func() error { return p.rig.kube.Evict(ctx, e) })
}

func (p process) Publish(ctx context.Context, x cluster.Publication) error {
	return p.crash.call(ctx, func() error { return p.rig.kube.Publish(ctx, x) })
}
