package due_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/internal/due"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

// now is a Wednesday, at ten past nine.
func now() time.Time { return time.Date(2026, 7, 15, 9, 10, 0, 0, time.UTC) }

// in is a time so many minutes from now.
func in(minutes float64) *timestamppb.Timestamp {
	return timestamppb.New(now().Add(time.Duration(minutes * float64(time.Minute))))
}

func lasting(minutes float64) *durationpb.Duration {
	return durationpb.New(time.Duration(minutes * float64(time.Minute)))
}

// of folds messages into a snapshot; a pod's class is found among them by its id.
func of(t *testing.T, messages ...proto.Message) snapshot.Snapshot {
	t.Helper()
	classes := map[string]*snapshot.Object{}
	for _, m := range messages {
		if c, ok := m.(*clusterpb.PodClass); ok {
			classes[c.GetId()] = &snapshot.Object{Kind: snapshot.PodClass, ID: c.GetId(), Payload: c}
		}
	}
	var events []snapshot.Event
	for i, m := range messages {
		o := snapshot.Object{ID: fmt.Sprint(i), Payload: m}
		switch m := m.(type) {
		case *clusterpb.Pod:
			o.Kind, o.Class = snapshot.Pod, classes[m.GetClassId()]
		case *clusterpb.Node:
			o.Kind = snapshot.Node
		case *clusterpb.Claim:
			o.Kind, o.ID = snapshot.Claim, m.GetId()
		case *clusterpb.NodePool:
			o.Kind = snapshot.NodePool
		case *clusterpb.DisruptionRecord:
			o.Kind = snapshot.Disruption
		case *clusterpb.Offering:
			o.Kind = snapshot.Offering
		case *clusterpb.CapacityBuffer:
			o.Kind = snapshot.CapacityBuffer
		case *clusterpb.PodClass:
			continue
		default:
			t.Fatalf("%T is not known here", m)
		}
		events = append(events, snapshot.Put(now(), o))
	}
	return snapshot.Fold(snapshot.Snapshot{}, events)
}

func TestNext(t *testing.T) {
	pool := func(after *durationpb.Duration, budgets ...*clusterpb.DisruptionBudget) *clusterpb.NodePool {
		return &clusterpb.NodePool{Name: "default", ConsolidateAfter: after, Budgets: budgets}
	}
	claim := func(edit func(*clusterpb.Claim)) *clusterpb.Claim {
		c := &clusterpb.Claim{
			Id: "c", NodePool: "default", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED, CreateTime: in(-60), InitializeTime: in(-50),
		}
		if edit != nil {
			edit(c)
		}
		return c
	}
	node := &clusterpb.Node{Claim: "c", LastPodEventTime: in(-20)}
	sick := func(kind, status string, since float64) *clusterpb.Node {
		return &clusterpb.Node{Claim: "c", Conditions: []*clusterpb.NodeCondition{{Type: kind, Status: status, TransitionTime: in(since)}}}
	}
	class := func(id, revision string) *clusterpb.PodClass {
		return &clusterpb.PodClass{Id: id, Namespace: "shop", OwnerKind: "Deployment", OwnerName: "web", OwnerRevision: revision}
	}
	pod := func(class string, bound float64) *clusterpb.Pod {
		return &clusterpb.Pod{ClassId: class, Node: "n", BindTime: in(bound)}
	}
	moved := func(accepted float64) *clusterpb.DisruptionRecord {
		return &clusterpb.DisruptionRecord{
			AcceptTime: in(accepted), Workloads: []*clusterpb.WorkloadEvictions{{Namespace: "shop", Kind: "Deployment", Name: "web", Pods: 1}},
		}
	}
	failed := func(ended float64) *clusterpb.DisruptionRecord {
		return &clusterpb.DisruptionRecord{
			DisruptionReason: clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED, RolledBack: true, AcceptTime: in(ended - 5), EndTime: in(ended),
		}
	}
	patient := &clusterpb.Policy{
		PodRest: lasting(5),
		Repair:  &clusterpb.RepairPolicy{Conditions: []*clusterpb.RepairCondition{{Type: "Disk", Status: "True", After: lasting(7)}}},
	}
	for name, tc := range map[string]struct {
		has    []proto.Message
		policy *clusterpb.Policy
		want   float64 // in minutes, 0 for never
	}{
		"an empty cluster": {nil, nil, 0},

		"a node that will have been quiet": {[]proto.Message{pool(lasting(30)), claim(nil), node}, nil, 10},
		"a node that has been quiet":       {[]proto.Message{pool(lasting(5)), claim(nil), node}, nil, 0},
		"a node without pods, since it was ready": {
			[]proto.Message{pool(lasting(55)), claim(nil), &clusterpb.Node{Claim: "c"}}, nil, 5,
		},
		"a node of a pool that never consolidates": {[]proto.Message{pool(nil), claim(nil), node}, nil, 0},
		"a node that is not ready to be relied on": {
			[]proto.Message{pool(lasting(30)), claim(func(c *clusterpb.Claim) { c.InitializeTime = nil }), node}, nil, 0,
		},
		"a node that nobody owns": {[]proto.Message{pool(lasting(30)), node}, nil, 0},

		"the last hour of a long life":  {[]proto.Message{claim(func(c *clusterpb.Claim) { c.CreateTime, c.ExpireTime = in(-6000), in(90) })}, nil, 30},
		"the last tenth of a short one": {[]proto.Message{claim(func(c *clusterpb.Claim) { c.CreateTime, c.ExpireTime = in(-60), in(40) })}, nil, 30},
		"the end of a life":             {[]proto.Message{claim(func(c *clusterpb.Claim) { c.CreateTime, c.ExpireTime = in(-99), in(1) })}, nil, 1},
		"a life that is over":           {[]proto.Message{claim(func(c *clusterpb.Claim) { c.ExpireTime = in(-1) })}, nil, 0},
		"a claim that goes already": {
			[]proto.Message{pool(lasting(30)), node, claim(func(c *clusterpb.Claim) {
				c.State, c.ExpireTime = clusterpb.ClaimState_CLAIM_STATE_DRAINING, in(1)
			})}, nil, 0,
		},

		"a node that is not ready":        {[]proto.Message{claim(nil), sick("Ready", "Unknown", -10)}, nil, 20},
		"a broken accelerator":            {[]proto.Message{claim(nil), sick("AcceleratedHardwareReady", "False", -4)}, nil, 6},
		"a condition of the policy's":     {[]proto.Message{claim(nil), sick("Disk", "True", -4)}, patient, 3},
		"one that it does not name":       {[]proto.Message{claim(nil), sick("Ready", "False", -4)}, patient, 0},
		"one that it calls well":          {[]proto.Message{claim(nil), sick("Disk", "False", -4)}, patient, 0},
		"a sick node that nobody repairs": {[]proto.Message{claim(nil), sick("Ready", "False", -4)}, &clusterpb.Policy{Repair: &clusterpb.RepairPolicy{Off: true}}, 0},

		"pods that were moved rest":           {[]proto.Message{class("a", "1"), pod("a", -10), moved(-11)}, nil, 20},
		"pods that rest as the policy says":   {[]proto.Message{class("a", "1"), pod("a", -4), moved(-11)}, patient, 1},
		"pods that were there before":         {[]proto.Message{class("a", "1"), pod("a", -12), moved(-11)}, nil, 0},
		"pods whose move was taken back":      {[]proto.Message{class("a", "1"), pod("a", -10), func() proto.Message { d := moved(-11); d.RolledBack = true; return d }()}, nil, 0},
		"a rollout, by its newest pod":        {[]proto.Message{class("a", "1"), class("b", "2"), pod("a", -90), pod("b", -7), pod("b", -3)}, nil, 7},
		"a workload of one revision":          {[]proto.Message{class("a", "1"), class("b", "1"), pod("a", -90), pod("b", -3)}, nil, 0},
		"a pod that is protected for a while": {[]proto.Message{&clusterpb.Pod{Node: "n", DoNotDisrupt: true, DoNotDisruptUntil: in(12)}}, nil, 12},

		"a budget's window that opens": {
			[]proto.Message{pool(nil, &clusterpb.DisruptionBudget{Schedule: "30 9 * * mon-fri", Duration: lasting(60)})}, nil, 20,
		},
		"a budget's window that closes": {
			[]proto.Message{pool(nil, &clusterpb.DisruptionBudget{Schedule: "0 9 * * mon-fri", Duration: lasting(60)})}, nil, 50,
		},
		"a budget's window that has just opened": {
			[]proto.Message{pool(nil, &clusterpb.DisruptionBudget{Schedule: "10 9 * * *", Duration: lasting(5)})}, nil, 5,
		},
		"a budget's window that has just closed": {
			[]proto.Message{pool(nil, &clusterpb.DisruptionBudget{Schedule: "@hourly", Duration: lasting(10)})}, nil, 50,
		},
		"a budget without a schedule":         {[]proto.Message{pool(nil, &clusterpb.DisruptionBudget{})}, nil, 0},
		"a schedule that is none":             {[]proto.Message{pool(nil, &clusterpb.DisruptionBudget{Schedule: "soon", Duration: lasting(1)})}, nil, 0},
		"the first hold after a failed drift": {[]proto.Message{failed(-10)}, nil, 5},
		"the next one":                        {[]proto.Message{failed(-20)}, nil, 10},
		"the longest":                         {[]proto.Message{failed(-200)}, nil, 40},
		"a failure of long ago":               {[]proto.Message{failed(-300)}, nil, 0},

		"an offering that is back":    {[]proto.Message{&clusterpb.Offering{UnavailableUntil: in(3)}}, nil, 3},
		"a buffer that is to come":    {[]proto.Message{&clusterpb.CapacityBuffer{StartTime: in(4), ExpireTime: in(8)}}, nil, 4},
		"a buffer that is to go":      {[]proto.Message{&clusterpb.CapacityBuffer{StartTime: in(-4), ExpireTime: in(8)}}, nil, 8},
		"the first of several things": {[]proto.Message{&clusterpb.Offering{UnavailableUntil: in(3)}, &clusterpb.CapacityBuffer{StartTime: in(2)}, failed(-10)}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var want time.Time
			if tc.want != 0 {
				want = in(tc.want).AsTime()
			}
			if got := due.Next(of(t, tc.has...), tc.policy, now()); !got.Equal(want) {
				t.Errorf("due at %s, want %s", got, want)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	var events []snapshot.Event
	for i := range 5000 {
		id := fmt.Sprint(i)
		events = append(events,
			snapshot.Put(now(), snapshot.Object{Kind: snapshot.Node, ID: id, Payload: &clusterpb.Node{Name: id, Claim: id}}),
			snapshot.Put(now(), snapshot.Object{Kind: snapshot.Claim, ID: id, Payload: &clusterpb.Claim{Id: id, NodePool: "default", InitializeTime: in(-1)}}))
	}
	classes := make([]*snapshot.Object, 500)
	for i := range classes {
		c := &clusterpb.PodClass{Id: fmt.Sprint(i), OwnerKind: "Deployment", OwnerName: fmt.Sprint(i / 2), OwnerRevision: fmt.Sprint(i % 2)}
		classes[i] = &snapshot.Object{Kind: snapshot.PodClass, ID: c.GetId(), Payload: c}
	}
	for i := range 50_000 {
		p := &clusterpb.Pod{Id: fmt.Sprint(i), Node: fmt.Sprint(i % 5000), BindTime: in(-1)}
		events = append(events, snapshot.Put(now(), snapshot.Object{Kind: snapshot.Pod, ID: p.GetId(), Payload: p, Class: classes[i%len(classes)]}))
	}
	s := snapshot.Fold(snapshot.Snapshot{}, events)
	for b.Loop() {
		due.Next(s, nil, now())
	}
}
