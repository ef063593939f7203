package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

var update = flag.Bool("update", false, "write the golden files anew")

func at(minutes float64) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes * float64(time.Minute)))
}

func inState(s model.ClaimState) model.Claim {
	c := model.Claim{
		ID: "c1", State: s, Reached: min(s, model.ClaimInitialized), CreateTime: at(0), StateTime: at(0),
		Offerings: []model.RankedOffering{{InstanceType: "m5.large", Zone: "a", CapacityType: model.OnDemand}},
		Requests:  model.Amounts{{Resource: "cpu", Value: 250}},
	}
	if s >= model.ClaimLaunching {
		c.Attempt = 1
	}
	if s >= model.ClaimLaunched {
		c.InstanceID, c.ProviderID, c.LaunchTime = "i-1", "aws:///a/i-1", at(0)
	}
	if s >= model.ClaimRegistered {
		c.Node = "n1"
	}
	return c
}

func syncedNode(edit func(*cluster.Node)) cluster.Node {
	n := cluster.Node{
		Name: "n1", ProviderID: "aws:///a/i-1", Ready: true, Allocatable: model.Amounts{{Resource: "cpu", Value: 1900}},
		Labels: map[string]string{labels.Registered: "true", labels.Claim: "c1", labels.Initialized: "true"},
	}
	if edit != nil {
		edit(&n)
	}
	return n
}

// gated is a node whose kubelet works, and that still waits for something.
func gated() cluster.Node {
	return syncedNode(func(n *cluster.Node) {
		n.Taints = []model.Taint{{Key: "readiness.k8s.io/driver", Effect: model.NoSchedule}}
	})
}

func disrupted(n *cluster.Node) {
	n.Taints = []model.Taint{{Key: labels.TaintDisrupted, Effect: model.NoSchedule}}
}

// leaving is a node that nothing new comes to, from load balancers neither.
func leaving(n *cluster.Node) {
	disrupted(n)
	n.Labels[labels.ExcludeBalancers] = labels.ExcludeBalancersValue
}

// example is one way in which an event happens.
type example struct {
	name  string
	event Event
	now   time.Time
}

// examples are the ways that the golden table prints; every event has one at least.
func examples() []example {
	offering := []model.RankedOffering{{InstanceType: "m5.large", Zone: "b"}}
	plain := cluster.Pod{Namespace: "d", Name: "p", UID: "u"}
	return []example{
		{"something is available", Event{Kind: EventStart, Offerings: offering}, at(1)},
		{"nothing is available", Event{Kind: EventStart}, at(1)},
		{"in time", Event{Kind: EventTick}, at(1)},
		{"after 20 minutes", Event{Kind: EventTick}, at(20)},
		{"after 40 minutes, its node is silent", Event{Kind: EventTick, NodeThere: true}, at(40)},
		{"after 40 minutes, its node is gated", Event{Kind: EventTick, NodeThere: true, Node: gated()}, at(40)},
		{"after 40 minutes, its node is ready", Event{Kind: EventTick, NodeThere: true, Node: syncedNode(nil)}, at(40)},
		{"after 40 minutes, its node is gone", Event{Kind: EventTick}, at(40)},
		{"", Event{Kind: EventLaunched, Instance: Instance{ID: "i-1"}}, at(1)},
		{"may work later", Event{Kind: EventLaunchFailed, Failure: FailureRetry, Reason: model.Reason{Message: "x"}}, at(1)},
		{"made nothing, may work later", Event{Kind: EventLaunchFailed, Failure: FailureLater, Reason: model.Reason{Message: "x"}, Offerings: offering}, at(1)},
		{"made nothing, none is left", Event{Kind: EventLaunchFailed, Failure: FailureLater, Reason: model.Reason{Message: "x"}}, at(1)},
		{"no capacity, more to try", Event{Kind: EventLaunchFailed, Failure: FailureCapacity, Offerings: offering}, at(1)},
		{"no capacity at all", Event{Kind: EventLaunchFailed, Failure: FailureCapacity, Reason: model.Reason{Message: "x"}}, at(1)},
		{"refused", Event{Kind: EventLaunchFailed, Failure: FailureRefused, Reason: model.Reason{Message: "x"}}, at(1)},
		{"its node is open", Event{Kind: EventDrain, NodeThere: true, Node: syncedNode(nil)}, at(1)},
		{"", Event{Kind: EventInstanceSeen, Instance: Instance{ID: "i-1"}}, at(1)},
		{"", Event{Kind: EventInstanceEnding}, at(1)},
		{"", Event{Kind: EventInstanceEnded}, at(1)},
		{"its node is there", Event{Kind: EventInstanceEnded, NodeThere: true}, at(1)},
		{"half a minute after the launch", Event{Kind: EventInstanceAbsent, Time: at(.5)}, at(1)},
		{"two minutes after the launch", Event{Kind: EventInstanceAbsent, Time: at(2)}, at(2)},
		{"its node is ready", Event{Kind: EventInstanceAbsent, Time: at(2), Node: syncedNode(nil), NodeThere: true}, at(2)},
		{"as the kubelet made it", Event{Kind: EventNodeSeen, Node: cluster.Node{Name: "n1"}}, at(1)},
		{"synced, not ready", Event{Kind: EventNodeSeen, Node: syncedNode(func(n *cluster.Node) { n.Ready = false; delete(n.Labels, labels.Initialized) })}, at(1)},
		{"synced and ready", Event{Kind: EventNodeSeen, Node: syncedNode(func(n *cluster.Node) { delete(n.Labels, labels.Initialized) })}, at(1)},
		{"initialized", Event{Kind: EventNodeSeen, Node: syncedNode(nil)}, at(1)},
		{"tainted, with a pod", Event{Kind: EventNodeSeen, Node: syncedNode(func(n *cluster.Node) { leaving(n); n.Pods = []cluster.Pod{plain} })}, at(1)},
		{"tainted, without pods", Event{Kind: EventNodeSeen, Node: syncedNode(leaving)}, at(1)},
		{"tainted, load balancers not told", Event{Kind: EventNodeSeen, Node: syncedNode(disrupted)}, at(0)},
		{"the same, a minute on", Event{Kind: EventNodeSeen, Node: syncedNode(disrupted)}, at(1)},
		{"for a minute", Event{Kind: EventNodeAbsent, Time: at(0)}, at(1)},
		{"for six minutes", Event{Kind: EventNodeAbsent, Time: at(0)}, at(6)},
		{"for six minutes, with many others", Event{Kind: EventNodeAbsent, Time: at(0), Reason: model.Reason{Code: model.CodeRepairGuard}}, at(6)},
		{"", Event{Kind: EventDrain, DisruptionReason: model.ReasonDeleted}, at(1)},
		{"", Event{Kind: EventDisrupt, Disruption: "d1", DisruptionReason: model.ReasonEmpty}, at(1)},
		{"", Event{Kind: EventRollBack, Disruption: "d1"}, at(1)},
		{"", Event{Kind: EventDefer, Deferred: true}, at(1)},
	}
}

// TestTable prints what every claim does about everything; docs and diagrams are written from it.
func TestTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("The life of a claim: what it does about what happens or is seen. Pairs that are not here change nothing.\n")
	for s := model.ClaimPlanned; s <= model.ClaimFailed; s++ {
		fmt.Fprintf(&b, "\n%s\n", s)
		for _, x := range examples() {
			c := inState(s)
			r := Step(c, x.event, x.now)
			if r.Ignored != (model.Reason{}) {
				continue
			}
			name := x.event.Kind.String()
			if x.name != "" {
				name += ": " + x.name
			}
			fmt.Fprintf(&b, "  %-46s → %s\n", name, describe(c, r))
		}
	}
	const golden = "testdata/table.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the table has changed; if it should have, run go test ./lifecycle -update (-want +got):\n%s", d)
	}
}

func describe(before model.Claim, r Result) string {
	out := r.Claim.State.String()
	if r.Claim.State == before.State {
		out = "stays"
	}
	var effects []string
	for _, e := range r.Effects {
		effects = append(effects, e.Kind.String())
	}
	if len(effects) > 0 {
		out += "; " + strings.Join(effects, ", ")
	}
	if code := r.Claim.Failure.Code; code != 0 {
		out += fmt.Sprintf("  (reason %s)", strings.TrimPrefix(clusterpb.ReasonCode(code).String(), "REASON_CODE_"))
	}
	if !r.Wake.IsZero() {
		out += "  (looks again)"
	}
	return out
}

func TestUnknownPairsAnswerWithAReason(t *testing.T) {
	for s := model.ClaimPlanned; s <= model.ClaimFailed; s++ {
		for k := EventStart; k <= EventRollBack; k++ {
			c := inState(s)
			r := Step(c, Event{Kind: k}, at(0))
			if table(s)[k] != nil {
				continue
			}
			if r.Ignored == (model.Reason{}) || len(r.Effects) > 0 || cmp.Diff(c, r.Claim) != "" {
				t.Errorf("%s, %s: %+v, want a reason and nothing else", s, k, r)
			}
		}
	}
}

func TestNotInitialized(t *testing.T) {
	for name, c := range map[string]struct {
		claim model.Claim
		node  func(*cluster.Node)
		wait  bool
	}{
		"a ready node is enough":              {claim: inState(model.ClaimRegistered)},
		"a node that is not ready":            {claim: inState(model.ClaimRegistered), node: func(n *cluster.Node) { n.Ready = false }, wait: true},
		"an ephemeral taint":                  {claim: inState(model.ClaimRegistered), node: func(n *cluster.Node) { n.Taints = []model.Taint{{Key: "node.kubernetes.io/not-ready"}} }, wait: true},
		"a readiness gate":                    {claim: inState(model.ClaimRegistered), node: func(n *cluster.Node) { n.Taints = []model.Taint{{Key: "readiness.k8s.io/net"}} }, wait: true},
		"a taint of the pool's":               {claim: inState(model.ClaimRegistered), node: func(n *cluster.Node) { n.Taints = []model.Taint{{Key: "team"}} }},
		"a resource that is asked for is nil": {claim: inState(model.ClaimRegistered), node: func(n *cluster.Node) { n.Allocatable = nil }, wait: true},
		"a resource that is asked for is nil, and a pod has devices for it": {
			claim: func() model.Claim {
				c := inState(model.ClaimRegistered)
				c.Requests = model.Amounts{{Resource: "example.com/gpu", Value: 1}}
				return c
			}(),
			node: func(n *cluster.Node) { n.Pods = []cluster.Pod{{ByDevices: "example.com/nic,example.com/gpu"}} },
		},
		"a resource that is asked for is nil, and a pod has devices for another": {
			claim: func() model.Claim {
				c := inState(model.ClaimRegistered)
				c.Requests = model.Amounts{{Resource: "example.com/gpu", Value: 1}}
				return c
			}(),
			node: func(n *cluster.Node) { n.Pods = []cluster.Pod{{ByDevices: "example.com/nic"}} }, wait: true,
		},
		"a startup taint that is still there": {
			claim: func() model.Claim {
				c := inState(model.ClaimRegistered)
				c.StartupTaints = []model.Taint{{Key: "cni", Effect: model.NoExecute}}
				return c
			}(),
			node: func(n *cluster.Node) { n.Taints = []model.Taint{{Key: "cni", Effect: model.NoExecute}} }, wait: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NotInitialized(c.claim, syncedNode(c.node)); (got != "") != c.wait {
				t.Errorf("%q, want that it waits: %v", got, c.wait)
			}
		})
	}
}

func TestNodeThatGoesLaterIsMarked(t *testing.T) {
	soft := model.Taint{Key: labels.TaintRemovalDeferred, Effect: model.PreferNoSchedule}
	hard := model.Taint{Key: labels.TaintRemovalDeferred, Effect: model.NoSchedule}
	goes := model.Taint{Key: labels.TaintDisrupted, Effect: model.NoSchedule}
	for _, x := range []struct {
		deferred, firm, disrupted bool
		has                       []model.Taint
		want                      EffectKind // unspecified for none
	}{
		{deferred: true, want: EffectDiscourageNode},
		{deferred: true, has: []model.Taint{soft}},
		{deferred: true, has: []model.Taint{hard}, want: EffectDiscourageNode},
		{deferred: true, firm: true, want: EffectShutNode},
		{deferred: true, firm: true, has: []model.Taint{soft}, want: EffectShutNode},
		{deferred: true, firm: true, has: []model.Taint{hard}},
		{deferred: true, firm: true, has: []model.Taint{hard, soft}, want: EffectShutNode},
		{firm: true},
		{has: []model.Taint{soft}, want: EffectEncourageNode},
		{has: []model.Taint{hard}, want: EffectEncourageNode},
		{disrupted: true, has: []model.Taint{hard}, want: EffectTaintNode}, // it is not open for a moment
		{disrupted: true, has: []model.Taint{hard, goes}, want: EffectEncourageNode},
	} {
		c := Step(inState(model.ClaimInitialized), Event{Kind: EventDefer, Deferred: x.deferred}, at(0)).Claim
		if x.disrupted {
			c.Disruption = "d"
		}
		node := syncedNode(func(n *cluster.Node) { n.Taints = x.has })
		var want []Effect
		if x.want != EffectUnspecified {
			want = []Effect{{Kind: x.want}}
		}
		if diff := cmp.Diff(want, Step(c, Event{Kind: EventNodeSeen, Node: node, Firm: x.firm}, at(1)).Effects); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", x, diff)
		}
	}
}

// A node that is kept for pods becomes Registered and Initialized while only Kerf's own taint keeps others off; else
// that is not so.
func TestANodeThatIsKeptIsInUseThoughItIsClosed(t *testing.T) {
	for _, x := range []struct {
		effect model.TaintEffect
		kept   bool
		sync   bool
	}{
		{model.NoSchedule, true, false},
		{model.NoExecute, true, true},
		{model.NoSchedule, false, true},
	} {
		for _, state := range []model.ClaimState{model.ClaimLaunched, model.ClaimRegistered, model.ClaimInitialized} {
			node := syncedNode(func(n *cluster.Node) { n.Taints = []model.Taint{{Key: labels.TaintUnregistered, Effect: x.effect}} })
			r := Step(inState(state), Event{Kind: EventNodeSeen, Node: node, Kept: x.kept}, at(1))
			sync := slices.Contains(r.Effects, Effect{Kind: EffectSyncNode})
			if sync != x.sync || (r.Claim.State == state) != (x.sync || state == model.ClaimInitialized) {
				t.Errorf("%+v: a claim that is %s becomes %s, with %v", x, state, r.Claim.State, r.Effects)
			}
		}
	}
}

func TestDrainDeadlines(t *testing.T) {
	claim := inState(model.ClaimInitialized)
	claim.TerminationGracePeriod = new(10 * time.Minute)
	r := Step(claim, Event{Kind: EventDrain, DisruptionReason: model.ReasonExpired}, at(0))
	if !r.Claim.DrainDeadline.Equal(at(10)) {
		t.Errorf("deadline %s, want the grace period's end", r.Claim.DrainDeadline)
	}
	r = Step(r.Claim, Event{Kind: EventDrain, DisruptionReason: model.ReasonInterrupted, Deadline: at(2)}, at(1))
	if !r.Claim.DrainDeadline.Equal(at(2)) || r.Claim.DisruptionReason != model.ReasonInterrupted {
		t.Errorf("deadline %s, want that the interruption shortens it", r.Claim.DrainDeadline)
	}
	r = Step(r.Claim, Event{Kind: EventDrain, DisruptionReason: model.ReasonDeleted}, at(1))
	if !r.Claim.DrainDeadline.Equal(at(2)) || r.Claim.DisruptionReason != model.ReasonInterrupted {
		t.Errorf("deadline %s, want that a deletion does not lengthen it", r.Claim.DrainDeadline)
	}
}

func TestUnhealthyNodeIsDrainedAtOnce(t *testing.T) {
	kept := p("kept", func(x *cluster.Pod) { x.DoNotDisrupt = true })
	for name, grace := range map[string]*time.Duration{
		"without a termination grace period": nil, "with a long one": new(time.Hour), "with none at all": new(time.Duration),
	} {
		t.Run(name, func(t *testing.T) {
			claim := inState(model.ClaimInitialized)
			claim.TerminationGracePeriod = grace
			unhealthy := Event{Kind: EventDrain, DisruptionReason: model.ReasonUnhealthy, Deadline: at(1)}
			r := Step(claim, unhealthy, at(1))
			if r.Claim.State != model.ClaimDraining || !r.Claim.DrainDeadline.Equal(at(1)) {
				t.Fatalf("%s with the deadline %s, want that it is drained and has no time left", r.Claim.State, r.Claim.DrainDeadline)
			}
			node := syncedNode(func(n *cluster.Node) {
				disrupted(n)
				n.Ready, n.Pods, n.Volumes = false, []cluster.Pod{kept}, []cluster.Volume{{Name: "pv"}}
			})
			r = Step(r.Claim, Event{Kind: EventNodeSeen, Node: node}, at(1))
			if len(r.Effects) != 1 || !r.Effects[0].Eviction.Force || r.Effects[0].Eviction.Grace != time.Second {
				t.Fatalf("%+v, want that the protected pod is deleted with a second's grace", r.Effects)
			}
			node.Pods[0].DeletionTime = at(1)
			if r = Step(r.Claim, Event{Kind: EventNodeSeen, Node: node}, at(1.5)); r.Claim.State != model.ClaimDraining {
				t.Errorf("%s before a kubelet that lives has had its minute", r.Claim.State)
			}
			if r = Step(r.Claim, Event{Kind: EventNodeSeen, Node: node}, at(2)); r.Claim.State != model.ClaimTerminating {
				t.Errorf("%s, though nothing will end the pod or let go of its volume", r.Claim.State)
			}
		})
	}
}

func TestNodeThatNeverComesUpIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		event    Event
		at       time.Time
		state    model.ClaimState
		deadline time.Time
	}{
		"not before its time":                 {Event{NodeThere: true}, at(29), model.ClaimRegistered, time.Time{}},
		"a silent node has no time left":      {Event{NodeThere: true}, at(30), model.ClaimDraining, at(30)},
		"a node that works is drained gently": {Event{NodeThere: true, Node: gated()}, at(30), model.ClaimDraining, time.Time{}},
		"a node that has just come up stays":  {Event{NodeThere: true, Node: syncedNode(nil)}, at(31), model.ClaimRegistered, time.Time{}},
		"without a node nothing is drained":   {Event{}, at(30), model.ClaimTerminating, time.Time{}},
		"the caller may have more patience":   {Event{Deadline: at(45)}, at(44), model.ClaimRegistered, time.Time{}},
		"or less":                             {Event{NodeThere: true, Deadline: at(5)}, at(5), model.ClaimDraining, at(5)},
	} {
		t.Run(name, func(t *testing.T) {
			c.event.Kind = EventTick
			r := Step(inState(model.ClaimRegistered), c.event, c.at)
			if r.Claim.State != c.state || !r.Claim.DrainDeadline.Equal(c.deadline) {
				t.Fatalf("%s with the deadline %s, want %s with %s", r.Claim.State, r.Claim.DrainDeadline, c.state, c.deadline)
			}
			if c.state == model.ClaimRegistered {
				if r.Wake.IsZero() && !c.event.Node.Ready {
					t.Error("it would not be looked at again")
				}
				return
			}
			if r.Claim.State == model.ClaimDraining {
				node := syncedNode(leaving)
				node.Ready = c.event.Node.Ready
				r = Step(r.Claim, Event{Kind: EventNodeSeen, Node: node}, c.at.Add(bindingTime))
			}
			r = Step(r.Claim, Event{Kind: EventInstanceEnded}, c.at.Add(bindingTime))
			if r.Claim.State != model.ClaimFailed || r.Claim.Failure.Code != model.CodeNotInitialized || r.Claim.DisruptionReason != model.ReasonUnhealthy {
				t.Errorf("it ends %s, %+v, want Failed for never being ready", r.Claim.State, r.Claim.Failure)
			}
		})
	}
}

func TestADrainEndsInTimeWithoutAKnownNode(t *testing.T) {
	for name, c := range map[string]struct {
		deadline, now time.Time
		there         bool
		state         model.ClaimState
		wake          time.Time
	}{
		"it waits up to its deadline":     {deadline: at(10), now: at(9), state: model.ClaimDraining, wake: at(10)},
		"and ends the instance then":      {deadline: at(10), now: at(10), state: model.ClaimTerminating},
		"without one it waits for a node": {now: at(600), state: model.ClaimDraining},
		"a node that is there is drained": {deadline: at(10), now: at(11), there: true, state: model.ClaimDraining},
	} {
		t.Run(name, func(t *testing.T) {
			claim := inState(model.ClaimDraining)
			claim.DrainDeadline = c.deadline
			r := Step(claim, Event{Kind: EventTick, NodeThere: c.there}, c.now)
			if r.Claim.State != c.state || !r.Wake.Equal(c.wake) {
				t.Errorf("%s, looked at again %s, want %s, %s", r.Claim.State, r.Wake, c.state, c.wake)
			}
		})
	}
}

func TestADrainInsistsOnTheTaintAsLongAsThereIsTime(t *testing.T) {
	for name, c := range map[string]struct {
		deadline, now time.Time
		evicts        bool
	}{
		"of two minutes half are left":              {at(2), at(.9), false},
		"and then its pods go":                      {at(2), at(1), true},
		"of a day two minutes and the pod's grace":  {at(24 * 60), at(24*60 - 3), false},
		"and then they go as well":                  {at(24 * 60), at(24*60 - 2.5), true},
		"without a deadline nothing goes untainted": {time.Time{}, at(24 * 60), false},
	} {
		t.Run(name, func(t *testing.T) {
			claim, node := inState(model.ClaimDraining), syncedNode(nil)
			claim.DrainDeadline, node.Pods = c.deadline, []cluster.Pod{p("a", nil)}
			r := Step(claim, Event{Kind: EventNodeSeen, Node: node}, c.now)
			evicts := slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Kind == EffectEvict })
			taints := slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Kind == EffectTaintNode })
			if evicts != c.evicts || !taints {
				t.Errorf("%+v, want evictions: %v, and the taint", r.Effects, c.evicts)
			}
		})
	}
}
