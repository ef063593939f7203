package convert_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
)

func read(r *plannerpb.PlanRequest) (model.Input, error) {
	return convert.Input(r.GetSnapshot(), r.GetDecide())
}

func TestAnInputSurvivesTheWireWhole(t *testing.T) {
	want := full()
	request := convert.Request(want)
	everyFieldIsUsed(t, request, "kerf.planner.v1alpha1.Decide.traceparent")
	data, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	back := &plannerpb.PlanRequest{}
	if err := proto.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	got, err := read(back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPlanSurvivesTheWireWhole(t *testing.T) {
	want := fullPlan()
	p := convert.Plan(want)
	everyFieldIsUsed(t, p, "kerf.planner.v1alpha1.Plan.timings", "kerf.planner.v1alpha1.Plan.traceparent",
		"kerf.planner.v1alpha1.Timing.part", "kerf.planner.v1alpha1.Timing.duration", "kerf.cluster.v1alpha1.Requirement.min_values")
	got, err := convert.ReadPlan(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// everyFieldIsUsed guards the round trips: a field that is added to the contract and forgotten here fails.
func everyFieldIsUsed(t *testing.T, m proto.Message, but ...string) {
	t.Helper()
	used := map[protoreflect.FullName]bool{}
	all := map[protoreflect.FullName]bool{}
	var walk func(protoreflect.Message)
	var declare func(protoreflect.MessageDescriptor)
	declare = func(d protoreflect.MessageDescriptor) {
		if d.ParentFile().Package() == "google.protobuf" {
			return
		}
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if !all[f.FullName()] {
				all[f.FullName()] = true
				if f.Message() != nil {
					declare(f.Message())
				}
			}
		}
	}
	walk = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			used[f.FullName()] = true
			switch {
			case f.Message() == nil:
			case f.IsList():
				for i := range v.List().Len() {
					walk(v.List().Get(i).Message())
				}
			default:
				walk(v.Message())
			}
			return true
		})
	}
	declare(m.ProtoReflect().Descriptor())
	walk(m.ProtoReflect())
	for name := range all {
		if !used[name] && !slices.Contains(but, string(name)) {
			t.Errorf("field %s is never set: extend the test", name)
		}
	}
}

func TestEnumsMeanTheSameOnBothSides(t *testing.T) {
	squeeze := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	tests := map[string]struct {
		names  map[int32]string
		prefix string
		model  func(int32) fmt.Stringer
	}{
		"operators":             {clusterpb.Operator_name, "OPERATOR_", func(n int32) fmt.Stringer { return model.Operator(n) }},
		"taint effects":         {clusterpb.TaintEffect_name, "TAINT_EFFECT_", func(n int32) fmt.Stringer { return model.TaintEffect(n) }},
		"capacity types":        {clusterpb.CapacityType_name, "CAPACITY_TYPE_", func(n int32) fmt.Stringer { return model.CapacityType(n) }},
		"claim states":          {clusterpb.ClaimState_name, "CLAIM_STATE_", func(n int32) fmt.Stringer { return model.ClaimState(n) }},
		"consolidation policy":  {clusterpb.ConsolidationPolicy_name, "CONSOLIDATION_POLICY_", func(n int32) fmt.Stringer { return model.ConsolidationPolicy(n) }},
		"reasons of disruption": {clusterpb.DisruptionReason_name, "DISRUPTION_REASON_", func(n int32) fmt.Stringer { return model.DisruptionReason(n) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for n, full := range tc.names {
				if want := squeeze(strings.TrimPrefix(full, tc.prefix)); n != 0 && squeeze(tc.model(n).String()) != want {
					t.Errorf("%d is %s in the contract and %s in the model", n, full, tc.model(n))
				}
			}
		})
	}
	for code, want := range map[model.Code]clusterpb.ReasonCode{
		model.CodeNoNodePool: clusterpb.ReasonCode_REASON_CODE_NO_NODE_POOL, model.CodePreemption: clusterpb.ReasonCode_REASON_CODE_PREEMPTION,
		model.CodeTie: clusterpb.ReasonCode_REASON_CODE_TIE, model.CodeInterrupted: clusterpb.ReasonCode_REASON_CODE_INTERRUPTED,
		model.CodeSuperseded: clusterpb.ReasonCode_REASON_CODE_SUPERSEDED, model.CodeAlreadyAccepted: clusterpb.ReasonCode_REASON_CODE_ALREADY_ACCEPTED,
		model.CodeReplacementFailed: clusterpb.ReasonCode_REASON_CODE_REPLACEMENT_FAILED,
		model.CodeStatic:            clusterpb.ReasonCode_REASON_CODE_STATIC, model.CodeSurplus: clusterpb.ReasonCode_REASON_CODE_SURPLUS,
		model.CodeCapacityBuffer:  clusterpb.ReasonCode_REASON_CODE_CAPACITY_BUFFER,
		model.CodeBufferReference: clusterpb.ReasonCode_REASON_CODE_BUFFER_REFERENCE,
	} {
		if clusterpb.ReasonCode(code) != want {
			t.Errorf("code %d is %s in the contract, not %s", code, clusterpb.ReasonCode(code), want)
		}
	}
}

func TestTheOrderOfListsDoesNotMatter(t *testing.T) {
	want := full()
	request := convert.Request(full())
	s := request.GetSnapshot()
	slices.Reverse(s.PodClasses)
	slices.Reverse(s.Pods)
	slices.Reverse(s.NodeClasses)
	slices.Reverse(s.Offerings)
	for _, c := range s.PodClasses {
		slices.Reverse(c.Labels)
		slices.Reverse(c.Requests)
	}
	slices.Reverse(s.Nodes[0].Taints)
	slices.Reverse(s.NodePools[0].Requirements[0].Values)
	slices.Reverse(request.Decide.Kinds)
	slices.Reverse(request.Decide.Exclude)
	got, err := read(request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWhatIsWrongIsNamed breaks one thing at a time.
func TestWhatIsWrongIsNamed(t *testing.T) {
	type s = *clusterpb.Snapshot
	onSnapshot := func(f func(s)) func(*plannerpb.PlanRequest) { return func(r *plannerpb.PlanRequest) { f(r.Snapshot) } }
	tests := map[string]struct {
		mutate func(*plannerpb.PlanRequest)
		path   string
		text   string
	}{
		"no snapshot":             {func(r *plannerpb.PlanRequest) { r.Snapshot = nil }, "snapshot", "request: snapshot is missing"},
		"no decide":               {func(r *plannerpb.PlanRequest) { r.Decide = nil }, "decide", "decide: is missing"},
		"no now":                  {func(r *plannerpb.PlanRequest) { r.Decide.Now = nil }, "decide.now", "decide: now is required"},
		"a time out of range":     {func(r *plannerpb.PlanRequest) { r.Decide.Now.Nanos = -1 }, "decide.now", "decide: now is no valid time"},
		"an unspecified kind":     {func(r *plannerpb.PlanRequest) { r.Decide.Kinds[0] = 0 }, "decide.kinds", "kinds is unspecified"},
		"a kind twice":            {func(r *plannerpb.PlanRequest) { r.Decide.Kinds[0] = r.Decide.Kinds[1] }, "decide.kinds", "is there twice"},
		"a claim excluded twice":  {func(r *plannerpb.PlanRequest) { r.Decide.Exclude[0] = r.Decide.Exclude[1] }, "decide.exclude", "claim-3 is there twice"},
		"an empty exclusion":      {func(r *plannerpb.PlanRequest) { r.Decide.Exclude[0] = "" }, "decide.exclude", "an id is empty"},
		"too many offerings":      {func(r *plannerpb.PlanRequest) { r.Decide.Policy.MaxOfferingsPerClaim = ptr(int32(201)) }, "decide.policy.max_offerings_per_claim", "201 is not between 1 and 200"},
		"a negative saving":       {func(r *plannerpb.PlanRequest) { r.Decide.Policy.MinSavingMicroUsdPerHour = -1 }, "decide.policy.min_saving_micro_usd_per_hour", "-1 is negative"},
		"a dangling class":        {onSnapshot(func(s s) { s.Pods[0].ClassId = "c-9" }), `snapshot.pods["shop/web-0"].class_id`, `pod "shop/web-0": class_id "c-9" is not in the snapshot`},
		"a pod twice":             {onSnapshot(func(s s) { s.Pods[1].Id = s.Pods[0].Id }), `snapshot.pods["shop/web-0"]`, `pod "shop/web-0": is there twice`},
		"a pod without an id":     {onSnapshot(func(s s) { s.Pods[0].Id = "" }), "snapshot.pods", "pod: one without an id"},
		"a pod id without slash":  {onSnapshot(func(s s) { s.Pods[0].Id = "web" }), `snapshot.pods["web"].id`, "not of the form namespace/name"},
		"an unspecified phase":    {onSnapshot(func(s s) { s.Pods[0].Phase = 0 }), `snapshot.pods["shop/web-0"].phase`, "phase is unspecified"},
		"an unknown phase":        {onSnapshot(func(s s) { s.Pods[0].Phase = 77 }), `snapshot.pods["shop/web-0"].phase`, "phase 77 is not known"},
		"a bound pending pod":     {onSnapshot(func(s s) { s.Pods[1].Node = "n1" }), `snapshot.pods["shop/web-1"].node`, "contradicts the phase"},
		"an end of no protection": {onSnapshot(func(s s) { s.Pods[0].DoNotDisrupt = false }), `snapshot.pods["shop/web-0"].do_not_disrupt_until`, "do_not_disrupt is not"},
		"affinity to no namespace": {onSnapshot(func(s s) {
			s.PodClasses[0].PodAffinity[0].Namespaces, s.PodClasses[0].PodAffinity[0].NamespaceSelector = nil, nil
		}), `snapshot.pod_classes["c-1"].pod_affinity[0].namespaces`, "name the pods' own namespace"},
		"an attribute without a value": {onSnapshot(func(s s) { s.Nodes[0].Devices[0].Attributes[0].Value = nil }), `snapshot.nodes["n1"].devices[0].attributes`, `"example.com/a" without a value`},
		"a weight of nothing":          {onSnapshot(func(s s) { s.PodClasses[0].PodAffinity[0].Weight = ptr(int32(0)) }), `snapshot.pod_classes["c-1"].pod_affinity[0].weight`, "0 is not between 1 and 100"},
		"a negative eviction price":    {func(r *plannerpb.PlanRequest) { r.Decide.Policy.EvictionPriceMicroUsd = ptr(int64(-1)) }, "decide.policy.eviction_price_micro_usd", "-1 is negative"},
		"a running pod nowhere":        {onSnapshot(func(s s) { s.Pods[0].Node = "" }), `snapshot.pods["shop/web-0"].node`, "node is missing"},
		"a negative request":           {onSnapshot(func(s s) { s.PodClasses[0].Requests[0].Value = -1 }), `snapshot.pod_classes["c-1"].requests`, `pod class "c-1": requests has a negative amount of cpu: -1`},
		"a resource twice":             {onSnapshot(func(s s) { s.PodClasses[0].Requests[1].Resource = "cpu" }), `snapshot.pod_classes["c-1"].requests`, "names cpu twice"},
		"a label twice":                {onSnapshot(func(s s) { s.PodClasses[0].Labels[1].Key = "app" }), `snapshot.pod_classes["c-1"].labels`, "has the key app twice"},
		"In without values": {
			onSnapshot(func(s s) { s.NodePools[0].Requirements[0].Values = nil }),
			`snapshot.node_pools["default"].requirements["karpenter.k8s.aws/instance-family"].values`, "In needs at least one",
		},
		"Exists with a value": {
			onSnapshot(func(s s) { s.PodClasses[0].TopologySpread[0].Selector.Requirements[1].Values = []string{"x"} }),
			`snapshot.pod_classes["c-1"].topology_spread[0].selector["tier"].values`, "Exists takes none",
		},
		"Gt with two values": {
			onSnapshot(func(s s) { s.PodClasses[0].NodeAffinity[0].Requirements[0].Values = []string{"1", "2"} }),
			`snapshot.pod_classes["c-1"].node_affinity[0].requirements["cpus"].values`, "Gt takes exactly one",
		},
		"Gt with a word": {
			onSnapshot(func(s s) { s.PodClasses[0].NodeAffinity[0].Requirements[0].Values = []string{"many"} }),
			`snapshot.pod_classes["c-1"].node_affinity[0].requirements["cpus"].values`, `"many" is not a whole number`,
		},
		"Gt in a label selector": {
			onSnapshot(func(s s) {
				q := s.PodDisruptionBudgets[0].Selector.Requirements[0]
				q.Operator, q.Values = clusterpb.Operator_OPERATOR_GT, []string{"1"}
			}),
			`snapshot.pod_disruption_budgets["shop/web"].selector`, "uses Gt on app",
		},
		"an unknown operator": {
			onSnapshot(func(s s) { s.NodePools[0].Requirements[0].Operator = 99 }),
			`snapshot.node_pools["default"].requirements["karpenter.k8s.aws/instance-family"].operator`, "99 is not known",
		},
		"min values of nothing": {
			onSnapshot(func(s s) { s.NodePools[0].Requirements[0].MinValues = new(int32(0)) }),
			`snapshot.node_pools["default"].requirements["karpenter.k8s.aws/instance-family"].min_values`, "0 is below 1",
		},
		"a taint without effect":          {onSnapshot(func(s s) { s.Nodes[0].Taints[0].Effect = 0 }), `snapshot.nodes["n1"].taints["k"].effect`, "is unspecified"},
		"a toleration of nothing":         {onSnapshot(func(s s) { s.PodClasses[0].Tolerations[1].Exists = false }), `snapshot.pod_classes["c-1"].tolerations[1].key`, "is missing"},
		"a port above 65535":              {onSnapshot(func(s s) { s.PodClasses[0].HostPorts[0].Port = 70000 }), `snapshot.pod_classes["c-1"].host_ports[0].port`, "not between 1 and 65535"},
		"a protocol of its own":           {onSnapshot(func(s s) { s.PodClasses[0].HostPorts[0].Protocol = "tcp" }), `snapshot.pod_classes["c-1"].host_ports[0].protocol`, `"tcp" is not`},
		"a volume for one pod of no name": {onSnapshot(func(s s) { s.PodClasses[0].Volumes[0].Name = "" }), `snapshot.pod_classes["c-1"].volumes[0].exclusive`, "give it a name"},
		"a request with a slash":          {onSnapshot(func(s s) { s.PodClasses[0].DeviceClaims[0].Constraints[0].Requests[0].Request = "gpu/" }), `snapshot.pod_classes["c-1"].device_claims[0].constraints[0].requests.request`, `"gpu/" has a slash`},
		"no skew":                         {onSnapshot(func(s s) { s.PodClasses[0].TopologySpread[0].MaxSkew = 0 }), `snapshot.pod_classes["c-1"].topology_spread[0].max_skew`, "0 is below 1"},
		"a daemon set of no class":        {onSnapshot(func(s s) { s.DaemonSets[0].ClassId = "c-1" }), `snapshot.daemon_sets["kube-system/proxy"].class_id`, "no daemon mark"},
		"a pool without policy":           {onSnapshot(func(s s) { s.NodePools[0].ConsolidationPolicy = 0 }), `snapshot.node_pools["default"].consolidation_policy`, "is unspecified"},
		"a weight above 100":              {onSnapshot(func(s s) { s.NodePools[0].Weight = 101 }), `snapshot.node_pools["default"].weight`, "not between 0 and 100"},
		"a negative expiry":               {onSnapshot(func(s s) { s.NodePools[0].ExpireAfter = durationpb.New(-time.Second) }), `snapshot.node_pools["default"].expire_after`, "-1s is negative"},
		"an endless expiry":               {onSnapshot(func(s s) { s.NodePools[0].ExpireAfter = &durationpb.Duration{Seconds: 300_000_000_000} }), `snapshot.node_pools["default"].expire_after`, "too long"},
		"a budget of nothing":             {onSnapshot(func(s s) { s.NodePools[0].Budgets[2].Nodes = nil }), `snapshot.node_pools["default"].budgets[2].nodes`, "is missing"},
		"a budget above 100%":             {onSnapshot(func(s s) { s.NodePools[0].Budgets[0].Nodes.(*clusterpb.DisruptionBudget_Percent).Percent = 101 }), `snapshot.node_pools["default"].budgets[0].percent`, "not between 0 and 100"},
		"a schedule without end":          {onSnapshot(func(s s) { s.NodePools[0].Budgets[1].Duration = nil }), `snapshot.node_pools["default"].budgets[1]`, "want both or neither"},
		"a dangling catalog":              {onSnapshot(func(s s) { s.NodeClasses[1].CatalogId = "k-9" }), `snapshot.node_classes["default"].catalog_id`, `"k-9" is not in the snapshot`},
		"an instance type twice": {
			onSnapshot(func(s s) {
				s.Catalogs[0].InstanceTypes = append(s.Catalogs[0].InstanceTypes, s.Catalogs[0].InstanceTypes[0])
			}),
			`snapshot.catalogs["k-1"].instance_types`, "has m5.large twice",
		},
		"a negative price": {
			onSnapshot(func(s s) { s.Offerings[0].PriceMicroUsdPerHour = -1 }),
			`snapshot.offerings["m5.large/us-east-1a/on-demand/"].price_micro_usd_per_hour`, "-1 is negative",
		},
		"a reservation of on-demand": {
			onSnapshot(func(s s) { s.Offerings[0].ReservationId = "cr-2" }),
			`snapshot.offerings["m5.large/us-east-1a/on-demand/cr-2"].reservation_id`, "reserved offerings only",
		},
		"a claim without state": {onSnapshot(func(s s) { s.Claims[0].State = 0 }), `snapshot.claims["claim-1"].state`, "is unspecified"},
		"an overlay of cpu": {
			onSnapshot(func(s s) { s.NodeOverlays[1].Capacity[0].Resource = "cpu" }), `snapshot.node_overlays["b"].capacity`, "the catalogue alone says",
		},
		"an overlay too heavy": {onSnapshot(func(s s) { s.NodeOverlays[0].Weight = 10_001 }), `snapshot.node_overlays["a"].weight`, "not between 0 and 10000"},
		"less than no price":   {onSnapshot(func(s s) { s.NodeOverlays[2].Price.(*clusterpb.NodeOverlay_AdjustmentPpm).AdjustmentPpm-- }), `snapshot.node_overlays["c"].adjustment_ppm`, "takes off more than the whole price"},
		"a buffer of no class": {onSnapshot(func(s s) { s.CapacityBuffers[0].ClassId = "c-9" }), `snapshot.capacity_buffers["shop/event"].class_id`, `"c-9" is not in the snapshot`},
		"a buffer of -1":       {onSnapshot(func(s s) { s.CapacityBuffers[0].Replicas = -1 }), `snapshot.capacity_buffers["shop/event"].replicas`, "-1 is negative"},
		"the year 1":           {onSnapshot(func(s s) { s.Claims[0].CreateTime = timestamppb.New(time.Time{}) }), `snapshot.claims["claim-1"].create_time`, "leave it out"},
		"a notice of no kind":  {onSnapshot(func(s s) { s.Notices[0].Kind = 0 }), `snapshot.notices["m-1"].kind`, "is unspecified"},
		"no code":              {onSnapshot(func(s s) { s.NodePools[0].NotReady.Code = 0 }), `snapshot.node_pools["default"].not_ready.code`, "is unspecified"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			request := convert.Request(full())
			tc.mutate(request)
			_, err := read(request)
			var bad *convert.Error
			if !errors.As(err, &bad) {
				t.Fatalf("got %v, want an *Error", err)
			}
			for _, p := range bad.Problems {
				if p.Path == tc.path && strings.Contains(p.String(), tc.text) {
					return
				}
			}
			t.Errorf("got %+v\nwant path %s, text %s", bad.Problems, tc.path, tc.text)
		})
	}
}

// TestAReasonsCodeOfAnotherReleaseIsKept: it only explains, and a planner that refused it would plan nothing.
func TestAReasonsCodeOfAnotherReleaseIsKept(t *testing.T) {
	request := convert.Request(full())
	request.GetSnapshot().NodePools[0].NotReady.Code = 9999
	input, err := read(request)
	if err != nil {
		t.Fatal(err)
	}
	if got := convert.Request(input).GetSnapshot().GetNodePools()[0].GetNotReady().GetCode(); got != 9999 {
		t.Errorf("the code is %d, want 9999", got)
	}
}

func TestManyProblemsAreCounted(t *testing.T) {
	request := convert.Request(full())
	for i := range 150 {
		request.Snapshot.Pods = append(request.Snapshot.Pods, &clusterpb.Pod{Id: fmt.Sprintf("a/p%d", i), ClassId: "c-1"})
	}
	_, err := read(request)
	var bad *convert.Error
	if !errors.As(err, &bad) || len(bad.Problems) != 100 || bad.More != 50 {
		t.Fatalf("got %v", err)
	}
}

func FuzzInput(f *testing.F) {
	seed, err := proto.Marshal(convert.Request(full()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		request := &plannerpb.PlanRequest{}
		if proto.Unmarshal(data, request) != nil {
			return
		}
		in, err := read(request)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		again, err := read(convert.Request(in))
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		if diff := cmp.Diff(in, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkInput(b *testing.B) {
	request := convert.Request(full())
	for i := range 100_000 {
		request.Snapshot.Pods = append(request.Snapshot.Pods, &clusterpb.Pod{
			Id: fmt.Sprintf("shop/web-%06d", i), Uid: fmt.Sprint(i), ClassId: "c-1", Phase: clusterpb.PodPhase_POD_PHASE_UNSCHEDULABLE,
			CreateTime: timestamppb.New(at(0)), UnschedulableTime: timestamppb.New(at(1)),
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(request); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPodsWithoutAnOwnerHaveEvictionsToo(t *testing.T) {
	request := convert.Request(full())
	w := request.GetSnapshot().GetDisruptions()[0].GetWorkloads()[0]
	w.Kind, w.Name = "", ""
	if _, err := read(request); err != nil {
		t.Errorf("a record of evictions of pods without an owner is refused: %v", err)
	}
	w.Name = "web"
	if _, err := read(request); err == nil {
		t.Error("an owner without a kind is accepted")
	}
}
