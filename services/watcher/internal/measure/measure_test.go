package measure

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/internal/metrics"
	"github.com/kerf-dev/kerf/services/internal/metrics/metricstest"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
)

func node(name string, ready, terminating bool, pool string) snapshot.Event {
	n := &clusterpb.Node{
		Name: name, Ready: ready, Terminating: terminating, Capacity: []*clusterpb.Amount{{Resource: "cpu", Value: 4000}, {Resource: "memory", Value: 8 << 30}},
		Labels: []*clusterpb.Label{{Key: labels.Zone, Value: "a"}},
	}
	if pool != "" {
		n.Labels = append(n.Labels, &clusterpb.Label{Key: labels.NodePool, Value: pool}, &clusterpb.Label{Key: labels.CapacityType, Value: "spot"})
	}
	return put(snapshot.Node, name, n)
}

func pod(id string, phase clusterpb.PodPhase, since time.Time) snapshot.Event {
	p := &clusterpb.Pod{Id: id, Phase: phase}
	if !since.IsZero() {
		p.UnschedulableTime = timestamppb.New(since)
	}
	return put(snapshot.Pod, id, p)
}

func put(kind snapshot.Kind, id string, m proto.Message) snapshot.Event {
	return snapshot.Put(time.Time{}, snapshot.Object{Kind: kind, ID: id, Hash: snapshot.Hash{1}, Payload: m})
}

func TestGaugesSayWhatIsThere(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	recorder, seen := metricstest.New(t, metrics.Watcher)
	m, err := New(recorder, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	m.Drives(true)
	limits := []*clusterpb.Amount{{Resource: "cpu", Value: 100_000}, {Resource: "nodes", Value: 10}}
	batch := snapshot.Batch{Events: []snapshot.Event{
		put(snapshot.NodePool, "default", &clusterpb.NodePool{Name: "default", Limits: limits}),
		node("n1", true, false, "default"), node("n2", false, false, "default"), node("n3", true, true, "default"), node("n4", true, false, ""),
		pod("a/1", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, now.Add(-time.Minute)),
		pod("a/2", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, now.Add(-time.Hour)),
		pod("a/3", clusterpb.PodPhase_POD_PHASE_RUNNING, time.Time{}),
	}}
	m.Saw(batch.Fold(snapshot.Snapshot{}))
	blocked := &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_LIMIT}
	m.Planned(&plannerpb.Plan{
		NodeClaims: []*plannerpb.NodeClaim{{Id: "c"}}, LowerBound: &plannerpb.LowerBound{MicroUsdPerHour: 900_000, Gap: 0.125},
	}, false)
	m.Planned(&plannerpb.Plan{
		Nodes: []*plannerpb.NodeVerdict{
			{Node: "n1", Reason: blocked, WasteMicroUsdPerHour: new(int64(250_000))},
			{Node: "n2", Reason: blocked},
			{Node: "n3"},
			{Node: "n5", Reason: blocked, WasteMicroUsdPerHour: new(int64(50_000)), Disruption: "d-1"},
		}, Problems: []*clusterpb.Reason{blocked},
		CostBeforeMicroUsdPerHour: 2_500_000, CostAfterMicroUsdPerHour: 2_000_000,
		DisruptionSummary: &plannerpb.DisruptionSummary{FloorMicroUsdPerHour: new(int64(1_500_000))},
	}, true)
	m.Planned(&plannerpb.Plan{
		CostBeforeMicroUsdPerHour: 2_500_000, CostAfterMicroUsdPerHour: 3_000_000, Pending: []*plannerpb.PendingPod{{Pod: "a/2", Reason: blocked}},
	}, false)
	want := []string{
		"kerf_cluster_cost_floor_per_hour: 1.5",
		"kerf_cluster_cost_per_hour: 2.5",
		"kerf_cluster_cost_planned_per_hour: 3",
		"kerf_node_count cloud_availability_zone=a kerf_capacity_type= kerf_node_pool= kerf_node_state=ready: 1",
		"kerf_node_count cloud_availability_zone=a kerf_capacity_type=spot kerf_node_pool=default kerf_node_state=leaving: 1",
		"kerf_node_count cloud_availability_zone=a kerf_capacity_type=spot kerf_node_pool=default kerf_node_state=not_ready: 1",
		"kerf_node_count cloud_availability_zone=a kerf_capacity_type=spot kerf_node_pool=default kerf_node_state=ready: 1",
		"kerf_node_kept kerf_reason=LIMIT: 2",
		"kerf_node_kept_waste_per_hour kerf_reason=LIMIT: 0.25",
		"kerf_node_pool_limit kerf_node_pool=default kerf_resource=cpu: 100",
		"kerf_node_pool_limit kerf_node_pool=default kerf_resource=nodes: 10",
		"kerf_node_pool_usage kerf_node_pool=default kerf_resource=cpu: 12",
		"kerf_node_pool_usage kerf_node_pool=default kerf_resource=nodes: 3",
		"kerf_plan_bound_per_hour: 0.9",
		"kerf_plan_gap_ratio: 0.125",
		"kerf_pod_count kerf_pod_phase=running: 1",
		"kerf_pod_count kerf_pod_phase=unschedulable: 2",
		"kerf_pod_left_pending kerf_reason=LIMIT: 1",
		"kerf_pod_left_pending_age_seconds kerf_reason=LIMIT: 3600",
		"kerf_pod_waiting kerf_pod_waits_for=nothing: 1",
		"kerf_pod_waiting kerf_pod_waits_for=plan: 1",
		"kerf_pod_waiting_age_seconds kerf_pod_waits_for=plan: 60", // nothing is found for the older one: no node is late
		"kerf_problem_count kerf_reason=LIMIT: 1",
		"kerf_watcher_driver: 1",
	}
	if d := cmp.Diff(want, metricstest.Series(t, seen, "kerf_", false)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestPoolsAndClassesThatAreNotReadyAreSeen: that a security group was deleted was seen once pods waited for nodes, and
// not before.
func TestPoolsAndClassesThatAreNotReadyAreSeen(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Watcher)
	m, err := New(recorder, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	m.Drives(true)
	invalid, leaves := &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_NODE_POOL_INVALID}, &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_BEING_DELETED}
	objects := []snapshot.Event{
		put(snapshot.NodePool, "good", &clusterpb.NodePool{Name: "good", NodeClass: "good"}),
		put(snapshot.NodePool, "waits", &clusterpb.NodePool{Name: "waits", NodeClass: "bad"}),
		put(snapshot.NodePool, "lost", &clusterpb.NodePool{Name: "lost", NodeClass: "none"}),
		put(snapshot.NodePool, "invalid", &clusterpb.NodePool{Name: "invalid", NotReady: invalid}),
		put(snapshot.NodePool, "stays", &clusterpb.NodePool{Name: "stays", NodeClass: "leaves"}),
		put(snapshot.NodePool, "leaves", &clusterpb.NodePool{Name: "leaves", NodeClass: "leaves", NotReady: leaves}),
	}
	before := snapshot.Batch{Events: objects}.Fold(snapshot.Snapshot{})
	m.Saw(before)
	want := []string{
		"kerf_object_not_ready kerf_object=nodepool/invalid kerf_reason=NODE_POOL_INVALID: 1",
		"kerf_object_not_ready kerf_object=nodepool/leaves kerf_reason=BEING_DELETED: 1",
	}
	if d := cmp.Diff(want, metricstest.Series(t, seen, "kerf_object", false)); d != "" {
		t.Errorf("while no leader has told of classes: (-want +got):\n%s", d)
	}
	m.Saw(snapshot.Batch{Events: []snapshot.Event{
		put(snapshot.NodeClass, "good", &clusterpb.NodeClass{Name: "good"}),
		put(snapshot.NodeClass, "bad", &clusterpb.NodeClass{Name: "bad", NotReady: &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_READY}}),
		put(snapshot.NodeClass, "leaves", &clusterpb.NodeClass{Name: "leaves", NotReady: leaves}),
		snapshot.Inventory(time.Time{}, 1),
	}}.Fold(before))
	want = []string{
		"kerf_object_not_ready kerf_object=ec2nodeclass/bad kerf_reason=NODE_CLASS_NOT_READY: 1",
		"kerf_object_not_ready kerf_object=ec2nodeclass/leaves kerf_reason=BEING_DELETED: 1",
		"kerf_object_not_ready kerf_object=nodepool/invalid kerf_reason=NODE_POOL_INVALID: 1",
		"kerf_object_not_ready kerf_object=nodepool/leaves kerf_reason=BEING_DELETED: 1",
		"kerf_object_not_ready kerf_object=nodepool/lost kerf_reason=NODE_CLASS_NOT_FOUND: 1",
		"kerf_object_not_ready kerf_object=nodepool/stays kerf_reason=NODE_CLASS_NOT_READY: 1", // somebody deletes its class
	}
	if d := cmp.Diff(want, metricstest.Series(t, seen, "kerf_object", false)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLegacyMetricsOfNodes(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Watcher)
	m, err := New(recorder, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	m.Drives(true)
	n := &clusterpb.Node{
		Name: "n1", Labels: []*clusterpb.Label{{Key: labels.NodePool, Value: "default"}, {Key: labels.InstanceType, Value: "m5.large"}},
		Capacity: []*clusterpb.Amount{{Resource: "cpu", Value: 2000}}, Allocatable: []*clusterpb.Amount{{Resource: "cpu", Value: 1900}},
	}
	events := []snapshot.Event{put(snapshot.Node, "n1", n)}
	for id, daemon := range map[string]bool{"a/web": false, "kube-system/agent": true} {
		class := &clusterpb.PodClass{Id: id, Daemon: daemon, Requests: []*clusterpb.Amount{{Resource: "cpu", Value: 250}}}
		events = append(events, snapshot.Put(time.Time{}, snapshot.Object{
			Kind: snapshot.Pod, ID: id, Hash: snapshot.Hash{1}, Payload: &clusterpb.Pod{Id: id, Node: "n1", Phase: clusterpb.PodPhase_POD_PHASE_RUNNING},
			Class: &snapshot.Object{Kind: snapshot.PodClass, ID: id, Hash: snapshot.Hash{1}, Payload: class},
		}))
	}
	waits := &clusterpb.Pod{Id: "a/waits", Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE}
	events = append(events, put(snapshot.Pod, "a/waits", waits))
	m.Saw(snapshot.Batch{Events: events}.Fold(snapshot.Snapshot{}))
	of := " arch= capacity_type= instance_type=m5.large node_name=n1 nodepool=default os= region= zone= resource_type=cpu: "
	want := []string{
		"karpenter_nodes_allocatable" + of + "1.9", "karpenter_nodes_system_overhead" + of + "0.1",
		"karpenter_nodes_total_daemon_requests" + of + "0.25", "karpenter_nodes_total_pod_requests" + of + "0.5",
		"karpenter_pods_state arch= capacity_type= instance_type= nodepool= phase=Pending zone=: 1",
		"karpenter_pods_state arch= capacity_type= instance_type=m5.large nodepool=default phase=Running zone=: 2",
	}
	if d := cmp.Diff(want, metricstest.Series(t, m.Legacy(seen), "karpenter_", true)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	m.Drives(false)
	if got := metricstest.Series(t, m.Legacy(seen), "karpenter_", true); len(got) > 0 {
		t.Errorf("a watcher that does not drive shows %v", got)
	}
	m.Drives(true)
	m.Saw(snapshot.Snapshot{})
	if got := metricstest.Series(t, m.Legacy(seen), "karpenter_", true); len(got) > 0 {
		t.Errorf("a cluster without nodes shows %v", got)
	}
}

func TestPodsThatWereUnschedulableAreMeasuredOnceTheyAreBound(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Watcher)
	now := time.Now()
	m, err := New(recorder, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	version := byte(0)
	pod := func(id, node string, since time.Time) snapshot.Event {
		p := &clusterpb.Pod{Id: id, Node: node}
		if !since.IsZero() {
			p.UnschedulableTime = timestamppb.New(since)
		}
		version++ // so that each is another than the one before
		return snapshot.Put(time.Time{}, snapshot.Object{Kind: snapshot.Pod, ID: id, Hash: snapshot.Hash{version}, Payload: p})
	}
	first := snapshot.Batch{Events: []snapshot.Event{
		pod("a/waits", "", now.Add(-time.Minute)), pod("a/new", "", time.Time{}), pod("a/stays", "", now.Add(-time.Minute)),
	}}.Fold(snapshot.Snapshot{})
	second := snapshot.Batch{Events: []snapshot.Event{
		pod("a/waits", "n1", time.Time{}), pod("a/new", "n1", time.Time{}), pod("a/stays", "", now.Add(-time.Hour)),
	}}.Fold(first)
	third := snapshot.Batch{Events: []snapshot.Event{pod("a/waits", "n1", now)}}.Fold(second)
	m.Changed(&first, snapshot.Diff(first, second)) // while another drives
	m.Drives(true)
	m.Changed(&first, snapshot.Diff(first, second))
	m.Changed(&second, snapshot.Diff(second, third))
	if d := cmp.Diff([]string{"kerf_pod_bound_duration_seconds: 1"}, metricstest.Series(t, seen, "kerf_pod_bound", true)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNothingIsMeasuredWithoutARecorder(t *testing.T) {
	m, err := New(nil, time.Now)
	if err != nil || m != nil {
		t.Fatalf("%v, %v", m, err)
	}
	if n := testing.AllocsPerRun(100, func() {
		m.Drives(true)
		m.Planned(nil, true)
		m.Cycled(Cycle{Accepted: 1})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAPodThatIsTriedInTurnWaitsAllTheTime: while a class was held back that pods were bought for again and again, and
// refused, they were left pending, so that they had waited for minutes each time, and after an hour no alert had fired.
func TestAPodThatIsTriedInTurnWaitsAllTheTime(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Watcher)
	begun := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := begun
	m, err := New(recorder, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	m.Drives(true)
	all := snapshot.Batch{Events: []snapshot.Event{
		pod("a/tried", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, begun), pod("a/placed", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, begun.Add(time.Minute)),
		pod("a/never", clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, begun.Add(-time.Hour)),
	}}.Fold(snapshot.Snapshot{})
	m.Saw(all)
	pending := func(pod string, code clusterpb.ReasonCode) *plannerpb.PendingPod {
		return &plannerpb.PendingPod{Pod: pod, Reason: &clusterpb.Reason{Code: code}}
	}
	never := pending("a/never", clusterpb.ReasonCode_REASON_CODE_LIMIT)
	held, short := clusterpb.ReasonCode_REASON_CODE_NODE_CLASS_NOT_READY, clusterpb.ReasonCode_REASON_CODE_NO_OFFERING
	tried := &plannerpb.Plan{
		NodeClaims: []*plannerpb.NodeClaim{{Id: "c", Pods: []string{"a/tried"}}}, Placements: []*plannerpb.Placement{{Pod: "a/placed", Target: &plannerpb.Placement_Node{Node: "n"}}},
		Pending: []*plannerpb.PendingPod{never},
	}
	want := func(when string, want ...string) {
		t.Helper()
		got := slices.Concat(metricstest.Series(t, seen, "kerf_pod_left_pending_age", false), metricstest.Series(t, seen, "kerf_pod_waiting_age", false))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got):\n%s", when, d)
		}
	}
	for range 6 {
		now = now.Add(5 * time.Minute)
		m.Planned(tried, false)
		now = now.Add(5 * time.Minute)
		m.Planned(&plannerpb.Plan{Pending: []*plannerpb.PendingPod{never, pending("a/tried", held), pending("a/placed", short)}}, false)
	}
	want("while the class is held", "kerf_pod_left_pending_age_seconds kerf_reason=LIMIT: 7200", "kerf_pod_left_pending_age_seconds kerf_reason=NODE_CLASS_NOT_READY: 3600",
		"kerf_pod_left_pending_age_seconds kerf_reason=NO_OFFERING: 3540", "kerf_pod_waiting_age_seconds kerf_pod_waits_for=nothing: 3600")
	m.Planned(tried, false)
	want("while it is tried", "kerf_pod_left_pending_age_seconds kerf_reason=LIMIT: 7200",
		"kerf_pod_waiting_age_seconds kerf_pod_waits_for=plan: 3600", "kerf_pod_waiting_age_seconds kerf_pod_waits_for=scheduler: 3540")
	m.Planned(&plannerpb.Plan{Pending: []*plannerpb.PendingPod{never, pending("a/tried", held)}}, false)
	now = now.Add(20 * time.Minute)
	want("a while after nothing was found any more", "kerf_pod_left_pending_age_seconds kerf_reason=LIMIT: 8400",
		"kerf_pod_left_pending_age_seconds kerf_reason=NODE_CLASS_NOT_READY: 4800", "kerf_pod_waiting_age_seconds kerf_pod_waits_for=nothing: 4800",
		"kerf_pod_waiting_age_seconds kerf_pod_waits_for=plan: 4740")
	m.Saw(snapshot.Batch{Events: []snapshot.Event{snapshot.Delete(time.Time{}, snapshot.Pod, "a/tried"), snapshot.Delete(time.Time{}, snapshot.Pod, "a/placed")}}.Fold(all))
	want("once they are gone", "kerf_pod_left_pending_age_seconds kerf_reason=LIMIT: 8400")
	m.Planned(&plannerpb.Plan{}, false)
	if f := m.plan.Load(); len(f.tried) != 0 {
		t.Errorf("%v are remembered, want none that is gone", f.tried)
	}
}

// TestWhatPodsWaitForIsSeen: that nothing was bought for pods because others were about to leave was seen nowhere.
func TestWhatPodsWaitForIsSeen(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Watcher)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m, err := New(recorder, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	m.Drives(true)
	var events []snapshot.Event
	for i, id := range []string{"node", "place", "room", "nothing", "new"} {
		events = append(events, pod(id, clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE, now.Add(-time.Duration(i)*time.Second)))
	}
	m.Saw(snapshot.Batch{Events: append(events, pod("bound", clusterpb.PodPhase_POD_PHASE_RUNNING, time.Time{}))}.Fold(snapshot.Snapshot{}))
	node := &plannerpb.Placement_Node{Node: "n"}
	m.Planned(&plannerpb.Plan{
		Placements: []*plannerpb.Placement{
			{Pod: "node", Target: &plannerpb.Placement_Claim{Claim: "c"}},
			{Pod: "place", Target: node},
			{Pod: "room", Target: node, WaitUntil: timestamppb.New(now.Add(time.Minute))},
			{Pod: "bound", Target: node},
		},
		Pending: []*plannerpb.PendingPod{{Pod: "nothing", Reason: &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_LIMIT}}},
	}, false)
	want := []string{
		"kerf_pod_waiting kerf_pod_waits_for=node: 1",
		"kerf_pod_waiting kerf_pod_waits_for=nothing: 1",
		"kerf_pod_waiting kerf_pod_waits_for=plan: 1",
		"kerf_pod_waiting kerf_pod_waits_for=room: 1",
		"kerf_pod_waiting kerf_pod_waits_for=scheduler: 1",
		"kerf_pod_waiting_age_seconds kerf_pod_waits_for=plan: 4",
		"kerf_pod_waiting_age_seconds kerf_pod_waits_for=room: 2",
		"kerf_pod_waiting_age_seconds kerf_pod_waits_for=scheduler: 1",
	}
	if d := cmp.Diff(want, metricstest.Series(t, seen, "kerf_pod_waiting", false)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestNodesThatAPoolAsksForAreNoWaste: while a static pool's replicas stood empty, the cluster was above its floor for
// good.
func TestNodesThatAPoolAsksForAreNoWaste(t *testing.T) {
	recorder, seen := metricstest.New(t, metrics.Watcher)
	m, err := New(recorder, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	m.Drives(true)
	m.Saw(snapshot.Batch{Events: []snapshot.Event{
		put(snapshot.NodePool, "static", &clusterpb.NodePool{Name: "static", Replicas: new(int64(2))}), put(snapshot.NodePool, "default", &clusterpb.NodePool{Name: "default"}),
		node("s1", true, false, "static"), node("s2", true, false, "static"), node("n1", true, false, "default"),
	}}.Fold(snapshot.Snapshot{}))
	static := &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_STATIC_POOL}
	plan := &plannerpb.Plan{
		CostBeforeMicroUsdPerHour: 6_000_000, DisruptionSummary: &plannerpb.DisruptionSummary{FloorMicroUsdPerHour: new(int64(1_250_000))},
		Nodes: []*plannerpb.NodeVerdict{
			{Node: "s1", PriceMicroUsdPerHour: new(int64(2_000_000)), WasteMicroUsdPerHour: new(int64(2_010_000)), Reason: static}, // an overhead is added to what it costs
			{Node: "s2", PriceMicroUsdPerHour: new(int64(2_000_000)), WasteMicroUsdPerHour: new(int64(1_500_000)), Reason: static},
			{Node: "n1", PriceMicroUsdPerHour: new(int64(2_000_000)), WasteMicroUsdPerHour: new(int64(1_250_000))},
		},
	}
	floor := func(when string, want ...string) {
		t.Helper()
		m.Planned(plan, true)
		if d := cmp.Diff(want, metricstest.Series(t, seen, "kerf_cluster_cost_floor", true)); d != "" {
			t.Errorf("%s: (-want +got):\n%s", when, d)
		}
	}
	floor("with two static nodes", "kerf_cluster_cost_floor_per_hour: 4.75")
	plan.DisruptionSummary = &plannerpb.DisruptionSummary{}
	floor("where nothing is proven")
}
