package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/catalog"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/shortage"
	"github.com/kerf-dev/kerf/services/core/model"
)

// fault is a way in which a call to AWS fails.
type fault struct {
	name string
	err  error
	// answered says that AWS has done nothing: it has refused, or had none.
	answered bool
	// fresh says that a launch is answered so only under a token that has made nothing: one that has is answered as it was.
	fresh bool
}

// faults are the classes of errors that a call can end with.
func faults() []fault {
	short := func(s ...model.Shortage) error { return &cloud.CapacityError{Offerings: s, Message: "there is none"} }
	return []fault{
		{"no answer", errors.New("the connection was reset"), false, false},
		{"throttled", cloud.ErrThrottled, false, false},
		{"out of time", context.DeadlineExceeded, false, false},
		{"unauthorized", cloud.ErrUnauthorized, true, false},
		{"unauthorized, by the fleet's answer", errors.Join(cloud.ErrNoInstance, cloud.ErrUnauthorized), true, true},
		{"invalid", cloud.ErrInvalid, true, false},
		{"what the class selects is gone", cloud.ErrClassNotReady, true, false},
		{"nothing was made", cloud.ErrNoInstance, true, true},
		{"the token is another request's", cloud.ErrTokenMismatch, true, false},
		{"no capacity", short(), true, true},
		{"no capacity of an offering", short(model.Shortage{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: model.OnDemand}), true, true},
		{"a quota is used up", short(model.Shortage{InstanceType: shortage.OfQuota("m5.large", 2), CapacityType: model.OnDemand}), true, true},
		{"the account can have none", short(model.Shortage{InstanceType: shortage.Everything, CapacityType: model.OnDemand}), true, true},
	}
}

// faulty is an AWS whose calls fail, before or after they have had their effect.
type faulty struct {
	cloud.Cloud
	cloud.Classes
	cloud.Market
	cloud.Queue

	mu sync.Mutex
	// next is what a call fails with, nil for nothing, and whether it has its effect.
	next   func(call string) (f *fault, after bool)
	failed int
	made   map[string]bool // tokens of launches
}

// attach has the processes that start from now on call AWS through this.
func (x *faulty) attach(r *rig) {
	r.cfg = func(c *Config) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.Cloud, x.Classes, x.Market, x.Queue = c.Cloud, c.Classes, c.Market, c.Queue
		c.Cloud, c.Classes, c.Market, c.Queue = x, x, x, x
	}
}

// well ends all faults.
func (x *faulty) well() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next = func(string) (*fault, bool) { return nil, false }
}

// count is how many calls have failed.
func (x *faulty) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failed
}

// draw says what the next call fails with.
func (x *faulty) draw(name, token string) (f *fault, after bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, after = x.next(name)
	if f == nil || f.fresh && x.made[token] {
		return nil, false
	}
	x.failed++
	return f, after
}

func (x *faulty) call(name string, do func() error) error {
	f, after := x.draw(name, "")
	return f.around(after, do)
}

// around makes a call that fails so; nil fails in no way.
func (f *fault) around(after bool, do func() error) error {
	switch {
	case f == nil:
		return do()
	case after && !f.answered:
		_ = do()
	}
	return fmt.Errorf("call: %w", f.err)
}

func ask[T any](x *faulty, name string, do func() (T, error)) (out T, err error) {
	err = x.call(name, func() error {
		got, err := do()
		if err == nil {
			out = got
		}
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

func (x *faulty) Launch(ctx context.Context, r cloud.Request) (made []cloud.Instance, err error) {
	var answer []cloud.Instance
	var why error
	f, after := x.draw("Launch", r.Token)
	err = f.around(after, func() error {
		answer, why = x.Cloud.Launch(ctx, r)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.made[r.Token] = x.made[r.Token] || len(answer) > 0
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, why // what was made of a part beside why it is no more
}

func (x *faulty) Terminate(ctx context.Context, ids ...string) error {
	return x.call("Terminate", func() error { return x.Cloud.Terminate(ctx, ids...) })
}

func (x *faulty) Tag(ctx context.Context, i cloud.Instance) error {
	return x.call("Tag", func() error { return x.Cloud.Tag(ctx, i) })
}

func (x *faulty) Instances(ctx context.Context, some ...cloud.Some) ([]cloud.Instance, error) {
	return ask(x, "Instances", func() ([]cloud.Instance, error) { return x.Cloud.Instances(ctx, some...) })
}

func (x *faulty) Resolve(ctx context.Context, s cloud.ClassSpec) (cloud.Class, error) {
	return ask(x, "Resolve", func() (cloud.Class, error) { return x.Classes.Resolve(ctx, s) })
}

func (x *faulty) Release(ctx context.Context, s cloud.ClassSpec) error {
	return x.call("Release", func() error { return x.Classes.Release(ctx, s) })
}

func (x *faulty) Sweep(ctx context.Context, unused time.Duration) ([]string, error) {
	return ask(x, "Sweep", func() ([]string, error) { return x.Classes.Sweep(ctx, unused) })
}

func (x *faulty) InstanceTypes(ctx context.Context) ([]catalog.Type, error) {
	return ask(x, "InstanceTypes", func() ([]catalog.Type, error) { return x.Market.InstanceTypes(ctx) })
}

func (x *faulty) OnDemandPrices(ctx context.Context) (map[model.TypeName]int64, error) {
	return ask(x, "OnDemandPrices", func() (map[model.TypeName]int64, error) { return x.Market.OnDemandPrices(ctx) })
}

func (x *faulty) SpotPrices(ctx context.Context) (map[cloud.TypeZone]int64, error) {
	return ask(x, "SpotPrices", func() (map[cloud.TypeZone]int64, error) { return x.Market.SpotPrices(ctx) })
}

func (x *faulty) Receive(ctx context.Context) ([]cloud.Message, error) {
	return ask(x, "Receive", func() ([]cloud.Message, error) { return x.Queue.Receive(ctx) })
}

func (x *faulty) Delete(ctx context.Context, receipts []string) error {
	return x.call("Delete", func() error { return x.Queue.Delete(ctx, receipts) })
}

// calls are those to AWS that a leader makes.
func calls() []string {
	return []string{
		"Launch", "Terminate", "Tag", "Instances", "Resolve", "Release", "Sweep", "InstanceTypes", "OnDemandPrices", "SpotPrices", "Receive", "Delete",
	}
}

// figures are what came of a test's worlds.
type figures struct{ worlds, claims, made, failed, crashes, leaked, doubled int }

func (f *figures) log(t *testing.T) {
	t.Helper()
	t.Logf("%d worlds, %d claims, %d instances, %d calls that failed, %d crashes: %d instances leaked, %d doubled",
		f.worlds, f.claims, f.made, f.failed, f.crashes, f.leaked, f.doubled)
}

// TestEachErrorOfEachCall has each call to AWS fail in each way three times in a row, before its effect and after it;
// with -short calls other than launches are not answered, and no more.
func TestEachErrorOfEachCall(t *testing.T) {
	var sum figures
	for _, name := range calls() {
		for k := range faults() {
			f := faults()[k]
			for _, after := range []bool{false, true} {
				if after && f.answered || testing.Short() && name != "Launch" && k > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, after it %v", name, f.name, after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { sum.errorOf(t, name, f, after) })
				})
			}
		}
	}
	sum.log(t)
}

// errorOf runs three claims while a call fails: two that are launched together, one of which is deleted, and one whose
// instance goes.
func (f *figures) errorOf(t *testing.T, name string, what fault, after bool) {
	t.Helper()
	r := newRig(t)
	left := 3
	bad := &faulty{made: map[string]bool{}, next: func(call string) (*fault, bool) {
		if call != name || left == 0 {
			return nil, false
		}
		left--
		return &what, after
	}}
	bad.attach(r)
	r.start()
	p := equal(2, "m5.large")
	p.NodeClaims = append(p.NodeClaims, nodeClaim("c02", "m5.xlarge"))
	r.apply(p)
	r.ec2.Send("no notice")
	time.Sleep(time.Minute)
	r.kube.Delete("NodeClaim", "c00")
	for _, i := range r.instances() {
		if i.Claim == "c02" {
			r.ec2.Kill(i.ID)
		}
	}
	time.Sleep(25 * time.Minute)
	f.settled(r, len(p.NodeClaims))
	f.failed += bad.count()
	if bad.count() == 0 && name != "Release" {
		t.Errorf("%s was never called", name)
	}
}

// TestWhateverFailsNothingIsLeakedOrDoubled runs claims under faults, crashes and losses until all is well again: then
// each instance that is alive is the one instance of a claim, and there were never more than claims. KERF_SEEDS=1000
// runs as many worlds.
func TestWhateverFailsNothingIsLeakedOrDoubled(t *testing.T) {
	seeds := 40
	if n, err := strconv.Atoi(os.Getenv("KERF_SEEDS")); err == nil {
		seeds = n
	}
	var sum figures
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sum.storm(t, uint64(seed)) })
		})
	}
	sum.log(t)
}

func (f *figures) storm(t *testing.T, seed uint64) {
	t.Helper()
	random, chance := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	r := newRig(t)
	kinds := faults()
	bad := &faulty{made: map[string]bool{}, next: func(string) (*fault, bool) {
		if chance.IntN(3) > 0 {
			return nil, false
		}
		return &kinds[chance.IntN(len(kinds))], chance.IntN(2) == 0
	}}
	bad.attach(r)
	r.crash = &crash{at: random.IntN(40), after: random.IntN(2) == 0}
	f.crashes++
	r.start()
	p := equal(2+random.IntN(4), "m5.large")
	if random.IntN(2) == 0 {
		r.ec2.Limit(p.NodeClaims[0].Offerings[0], random.IntN(4))
	}
	r.apply(p)
	for range 8 {
		time.Sleep(time.Duration(random.IntN(60)) * time.Second)
		r.revive()
		alive := r.alive()
		switch x := random.IntN(6); {
		case x == 0:
			r.kube.Delete("NodeClaim", string(p.NodeClaims[random.IntN(len(p.NodeClaims))].ID))
		case x == 1 && len(alive) > 0:
			r.ec2.Kill(alive[random.IntN(len(alive))])
		case x == 2:
			r.stop()
			r.crash = &crash{at: random.IntN(40), after: random.IntN(2) == 0}
			f.crashes++
			r.start()
		}
	}
	bad.well()
	for range 60 {
		time.Sleep(time.Minute)
		r.revive()
	}
	f.failed += bad.count()
	f.settled(r, len(p.NodeClaims))
}

// settled wants each instance that is alive to be the one of a claim, no claim under way, and no more instances ever
// than claims.
func (f *figures) settled(r *rig, claims int) {
	r.t.Helper()
	owned := map[string]model.ClaimID{}
	c, _ := r.store.Load(context.Background())
	for _, x := range c.Claims {
		switch {
		case x.State == model.ClaimInitialized && owned[x.InstanceID] != "":
			f.doubled++
			r.t.Errorf("claims %s and %s have instance %s", x.ID, owned[x.InstanceID], x.InstanceID)
		case x.State == model.ClaimInitialized:
			owned[x.InstanceID] = x.ID
		case !x.State.Ended():
			r.t.Errorf("claim %s is %s in the end: %s", x.ID, x.State, x.Failure.Message)
		}
	}
	alive := r.alive()
	for _, id := range alive {
		if owned[id] == "" {
			f.leaked++
			r.t.Errorf("instance %s is leaked", id)
		}
	}
	if len(alive) != len(owned) {
		r.t.Errorf("%d instances for %d claims", len(alive), len(owned))
	}
	made := r.ec2.Made()
	if more := made - claims; more > 0 {
		f.doubled += more
		r.t.Errorf("%d instances were made for %d claims", made, claims)
	}
	f.worlds++
	f.claims += claims
	f.made += made
	if r.t.Failed() {
		r.t.Log(r.dump())
	}
}
