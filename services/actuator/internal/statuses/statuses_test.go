package statuses

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/internal/agenda"
	"github.com/kerf-dev/kerf/services/actuator/internal/market"
	"github.com/kerf-dev/kerf/services/actuator/internal/observed"
	"github.com/kerf-dev/kerf/services/core/model"
)

// ago is a time so many minutes before the tests' present one.
func ago(minutes int) time.Time {
	return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC).Add(-time.Duration(minutes) * time.Minute)
}

// claims makes the claims of a pool, the oldest first: r registered, f never joined, c found no capacity, l is on its
// way, o never joined under an older form of the pool.
func claims(life string) []*model.Claim {
	var out []*model.Claim
	for i, kind := range life {
		c := &model.Claim{
			ID: model.ClaimID(fmt.Sprint("c", i)), NodePool: "default", PoolHash: "1", ClassHash: "2", CreateTime: ago(100 - i),
			State: model.ClaimFailed, Reached: model.ClaimLaunched,
		}
		switch kind {
		case 'r':
			c.State, c.Reached = model.ClaimInitialized, model.ClaimInitialized
			c.Capacity = model.Amounts{{Resource: model.CPU, Value: 2000}}
		case 'l':
			c.State = model.ClaimLaunching
		case 'c':
			c.Failure = model.Reason{Code: model.CodeInsufficientCapacity, Message: "EC2 has none"}
		case 'o':
			c.PoolHash = "0"
			fallthrough
		case 'f':
			c.Failure = model.Reason{Code: model.CodeRegistrationTimeout, Message: "it did not join"}
		}
		out = append(out, c)
	}
	return out
}

func status(life string) cluster.PoolStatus {
	pools := []cluster.Pool{{NodePool: model.NodePool{Name: "default", NodeClass: "default", Hash: "1"}}}
	class := &market.Class{Spec: cloud.ClassSpec{Name: "default", Hash: "2"}}
	return Pools(pools, claims(life), func(model.NodeClassName) *market.Class { return class })[0]
}

func TestWhetherLaunchesBecomeNodes(t *testing.T) {
	healthy := cluster.Registration{Known: true, Healthy: true}
	unhealthy := func(n, of int, last string) cluster.Registration {
		return cluster.Registration{Known: true, Message: fmt.Sprintf(
			"%d of the last %d launches did not become nodes; of claim %s: it did not join", n, of, last)}
	}
	for life, want := range map[string]cluster.Registration{
		"":       {},
		"l":      {},
		"f":      {}, // one may be chance
		"r":      healthy,
		"rf":     healthy,
		"ff":     unhealthy(2, 2, "c1"),
		"rfrf":   unhealthy(2, 4, "c3"),
		"ffrrr":  healthy, // of the last four
		"ffll":   unhealthy(2, 2, "c1"),
		"rcccc":  healthy,
		"oor":    healthy,
		"oo":     {},
		"rrrrff": unhealthy(2, 4, "c5"),
	} {
		t.Run(life, func(t *testing.T) {
			if diff := cmp.Diff(want, status(life).Registration); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAPoolHas(t *testing.T) {
	want := model.Amounts{{Resource: model.CPU, Value: 4000}, {Resource: model.Nodes, Value: 2}}
	if diff := cmp.Diff(want, status("rlrf").Resources); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(model.Amounts{{Resource: model.Nodes}}, status("").Resources); diff != "" {
		t.Error(diff)
	}
	pools := []cluster.Pool{{NodePool: model.NodePool{Name: "default", NodeClass: "gone"}}}
	if got := Pools(pools, nil, func(model.NodeClassName) *market.Class { return nil })[0].NotReady.Code; got != model.CodeNodeClassNotFound {
		t.Errorf("%v, want that its class is not found", got)
	}
}

// fakeKube shows a cluster of one node and one pool.
type fakeKube struct {
	cluster.Cluster
	state cluster.State
}

func (k *fakeKube) Observe() (cluster.State, error) { return k.state, nil }

// yard is a node, its claim and pool at a time.
type yard struct {
	kube   *fakeKube
	agenda *agenda.Agenda
	look   *observed.Cluster
	quiet  Quiet
	claim  model.Claim
	pool   *cluster.Pool
}

func newYard() *yard {
	after := 10 * time.Minute
	y := &yard{kube: &fakeKube{}, agenda: &agenda.Agenda{}}
	y.look = observed.NewCluster(y.kube, y.agenda, nil)
	y.claim = model.Claim{ID: "c1", Node: "n1", NodePool: "default", State: model.ClaimInitialized, InitializeTime: ago(60)}
	y.pool = &cluster.Pool{NodePool: model.NodePool{Name: "default", ConsolidateAfter: &after}}
	return y
}

// at shows the node with these pods, and says whether it may be consolidated, and in how many minutes that may change.
func (y *yard) at(t *testing.T, now time.Time, pods ...cluster.Pod) (yes bool, wake float64) {
	t.Helper()
	y.kube.state = cluster.State{Nodes: []*cluster.Node{{Name: "n1", Pods: pods}}, Pools: []cluster.Pool{*y.pool}}
	y.agenda.Begin(now)
	y.look.Look(t.Context())
	claim := y.claim
	y.quiet.Update(y.agenda, y.look, []*model.Claim{&claim}, now)
	if at, _ := y.agenda.Next(); !at.IsZero() {
		wake = at.Sub(now).Minutes()
	}
	return y.quiet.Consolidatable()["c1"], wake
}

func TestANodeIsQuiet(t *testing.T) {
	web := cluster.Pod{Namespace: "default", Name: "web", UID: "1", StartTime: ago(30)}
	daemon := cluster.Pod{Namespace: "default", Name: "agent", UID: "2", Daemon: true, StartTime: ago(1)}
	young := web
	young.StartTime = ago(4)
	ended := web
	ended.Finished = true
	tests := map[string]struct {
		change      func(*yard)
		first, then []cluster.Pod
		yes         bool
		wake        float64
	}{
		"for long enough": {yes: true, first: []cluster.Pod{web}, then: []cluster.Pod{web}},
		"not yet, since its pod began, before this actuator looked": {first: []cluster.Pod{young}, then: []cluster.Pod{young}, wake: 6},
		"a DaemonSet's pod does not count":                          {yes: true, then: []cluster.Pod{daemon}},
		"a pod has come":                                            {then: []cluster.Pod{web}, wake: 10},
		"a pod has gone":                                            {first: []cluster.Pod{daemon, web}, then: []cluster.Pod{daemon}, wake: 10},
		"a pod has ended":                                           {first: []cluster.Pod{web}, then: []cluster.Pod{ended}, wake: 10},
		"it is new":                                                 {change: func(y *yard) { y.claim.InitializeTime = ago(7) }, wake: 3},
		"it goes already":                                           {change: func(y *yard) { y.claim.Disruption = "d1" }},
		"it is not ready":                                           {change: func(y *yard) { y.claim.State = model.ClaimRegistered }},
		"its pool never consolidates":                               {change: func(y *yard) { y.pool.ConsolidateAfter = nil }},
		"its pool is static":                                        {change: func(y *yard) { y.pool.Replicas = new(int64) }},
		"its pool is gone":                                          {change: func(y *yard) { y.pool.Name = "another" }},
		"its pool does not wait":                                    {change: func(y *yard) { y.pool.ConsolidateAfter = new(time.Duration) }, then: []cluster.Pod{web}, yes: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			y := newYard()
			if tt.change != nil {
				tt.change(y)
			}
			y.at(t, ago(0).Add(-2*time.Second), tt.first...)
			yes, wake := y.at(t, ago(0), tt.then...)
			if yes != tt.yes || wake != tt.wake {
				t.Errorf("%t, another look in %v minutes; want %t and %v", yes, wake, tt.yes, tt.wake)
			}
		})
	}
}

func TestTimeAloneMakesANodeQuiet(t *testing.T) {
	y := newYard()
	y.claim.InitializeTime = ago(7)
	if yes, _ := y.at(t, ago(0)); yes {
		t.Fatal("at once")
	}
	before := y.quiet.Version()
	y.kube.state.Nodes = nil
	if yes, _ := y.at(t, ago(-3)); !yes || y.quiet.Version() == before {
		t.Error("not when its time has come")
	}
}
