package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/kerf/internal/advise"
	"github.com/kerf-dev/kerf/services/kerf/internal/goldentest"
	"github.com/kerf-dev/kerf/services/kerf/internal/page"
	"github.com/kerf-dev/kerf/services/kerf/internal/render"
)

func offering(instanceType, zone string, t clusterpb.CapacityType, price int64) *clusterpb.RankedOffering {
	return &clusterpb.RankedOffering{
		InstanceType: instanceType, Zone: zone, CapacityType: t, PriceMicroUsdPerHour: price,
		PriceEstimated: t == clusterpb.CapacityType_CAPACITY_TYPE_SPOT,
	}
}

const (
	onDemand = clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND
	spot     = clusterpb.CapacityType_CAPACITY_TYPE_SPOT
)

func reason(code clusterpb.ReasonCode, message string) *clusterpb.Reason {
	return &clusterpb.Reason{Code: code, Message: message}
}

// everything is a plan with something in each part.
func everything() render.PlanView {
	claim := func(id string, pods ...string) *plannerpb.NodeClaim {
		return &plannerpb.NodeClaim{
			Id: id, NodePool: "default", NodeClass: "default", Pods: pods, PriceMicroUsdPerHour: 96_000,
			Offerings: []*clusterpb.RankedOffering{
				offering("m5.large", "us-east-1b", onDemand, 96_000), offering("m5.large", "us-east-1a", onDemand, 96_000),
				offering("r5.large", "us-east-1a", onDemand, 126_000),
			},
			Reason: reason(clusterpb.ReasonCode_REASON_CODE_CHEAPEST, "m5.large at $0.096 is the cheapest of 24 offerings that hold 2 pods"),
			RunnersUp: []*plannerpb.RunnerUp{
				{Reason: reason(clusterpb.ReasonCode_REASON_CODE_MORE_EXPENSIVE, "r5.large at $0.126 holds all 2 pods, $0.030 more than m5.large")},
				{Reason: reason(clusterpb.ReasonCode_REASON_CODE_MORE_EXPENSIVE, "m5.xlarge at $0.192 holds all 2 pods, $0.096 more than m5.large")},
			},
		}
	}
	spotClaim := claim("spot-3", "ops/lonely")
	spotClaim.NodePool, spotClaim.PriceMicroUsdPerHour = "spot", 29_750
	spotClaim.Offerings = []*clusterpb.RankedOffering{offering("c5.large", "us-east-1a", spot, 29_750)}
	spotClaim.Reason = reason(clusterpb.ReasonCode_REASON_CODE_CHEAPEST, "c5.large at $0.02975 is the only one in us-east-1a")
	spotClaim.RunnersUp = nil
	missing := func(pod string) *plannerpb.PendingPod {
		r := reason(clusterpb.ReasonCode_REASON_CODE_RESOURCES, "it asks for 64 CPU; the largest type that pool default allows, m5.xlarge, has 3.92")
		r.Remedy = "allow a type with 64 CPU in spec.template.spec.requirements"
		return &plannerpb.PendingPod{Pod: pod, Reason: r, Pools: []*plannerpb.PoolMiss{
			{NodePool: "default", InstanceType: "m5.xlarge", Reason: r},
			{NodePool: "spot", Reason: reason(clusterpb.ReasonCode_REASON_CODE_TAINT, "it does not tolerate spot=yes:NoSchedule")},
		}}
	}
	node := func(name string, code clusterpb.ReasonCode, message string) *plannerpb.NodeVerdict {
		return &plannerpb.NodeVerdict{Node: name, Claim: "claim-" + name, PriceMicroUsdPerHour: new(int64(96_000)), Reason: reason(code, message)}
	}
	stuck := node("stuck", clusterpb.ReasonCode_REASON_CODE_PDB, "PodDisruptionBudget shop/web of pod shop/web-5 never allows an eviction")
	stuck.Reason.Remedy, stuck.WasteMicroUsdPerHour = "let shop/web allow at least one disruption", new(int64(71_000))
	stuck.PriceEstimated = true
	stuck2 := node("stuck-2", clusterpb.ReasonCode_REASON_CODE_PDB, "PodDisruptionBudget shop/api of pod shop/api-5 never allows an eviction")
	stuck2.Reason.Remedy, stuck2.WasteMicroUsdPerHour = "let shop/api allow at least one disruption", new(int64(12_000))
	gone := node("old", clusterpb.ReasonCode_REASON_CODE_PODS_FIT_ELSEWHERE, "its 1 pod fits on busy-1")
	gone.Disruption, gone.WasteMicroUsdPerHour = "d-1", new(int64(90_000))
	older := node("older", clusterpb.ReasonCode_REASON_CODE_EXPIRED, "it is 30 days old, as old as its pool allows")
	older.Disruption = "d-2"
	s := &clusterpb.Snapshot{
		PodClasses: []*clusterpb.PodClass{{Id: "c-web", Namespace: "shop", OwnerName: "web"}, {Id: "c-big", Namespace: "shop", OwnerName: "big"}, {Id: "c-none"}},
		Nodes: []*clusterpb.Node{{Name: "busy-1", Claim: "claim-busy-1"}, {Name: "foreign"}, {
			Name: "old", Claim: "claim-old", Labels: []*clusterpb.Label{
				{Key: "karpenter.sh/capacity-type", Value: "on-demand"},
				{Key: "karpenter.sh/nodepool", Value: "default"},
				{Key: "node.kubernetes.io/instance-type", Value: "m5.large"},
				{Key: "topology.kubernetes.io/zone", Value: "us-east-1a"},
			},
		}, {Name: "older", Claim: "claim-older"}, {Name: "stuck", Claim: "claim-stuck"}},
		Claims: []*clusterpb.Claim{{
			Id: "claim-late", NodePool: "default", State: clusterpb.ClaimState_CLAIM_STATE_LAUNCHED, InstanceType: "m5.large", Zone: "us-east-1a",
			CapacityType: onDemand, PriceMicroUsdPerHour: 96_000, Pods: []string{"shop/idle"},
		}},
	}
	for id, class := range map[string]string{
		"shop/web-0": "c-web", "shop/web-1": "c-web", "shop/web-2": "c-web", "shop/web-3": "c-web", "shop/web-4": "c-web", "shop/big-0": "c-big",
		"shop/big-1": "c-big", "ops/lonely": "c-none",
	} {
		s.Pods = append(s.Pods, &clusterpb.Pod{Id: id, ClassId: class})
	}
	s.Pods = append(s.Pods, &clusterpb.Pod{Id: "shop/moved", ClassId: "c-web", Node: "old"}, &clusterpb.Pod{Id: "shop/idle", Node: "busy-1"},
		&clusterpb.Pod{Id: "shop/aged", ClassId: "c-web", Node: "older"}, &clusterpb.Pod{Id: "shop/stuck", ClassId: "c-web", Node: "stuck"})
	onClaim := func(pod, id string) *plannerpb.Placement {
		return &plannerpb.Placement{Pod: pod, Target: &plannerpb.Placement_Claim{Claim: id}}
	}
	onNode := func(pod, name string) *plannerpb.Placement {
		return &plannerpb.Placement{Pod: pod, Target: &plannerpb.Placement_Node{Node: name}}
	}
	return render.PlanView{
		Snapshot: s, Assumed: []string{"no DaemonSets, because none is among the files"},
		Advice: []advise.Advice{
			{Change: "allow m5.16xlarge in pool default", Saving: -3_072_000, MorePods: 2},
			{Change: "drop the node selector team=a of shop/big", MorePods: 1},
			{Change: "allow arm64 in pool default", Note: "the pods' images must be built for arm64", Saving: 38_000},
		},
		Plan: &plannerpb.Plan{
			NodeClaims: []*plannerpb.NodeClaim{claim("default-1", "shop/web-0", "shop/web-1"), claim("default-2", "shop/web-2", "shop/web-3"), spotClaim},
			Disruptions: []*plannerpb.Disruption{{
				Id: "d-1", DisruptionReason: clusterpb.DisruptionReason_DISRUPTION_REASON_UNDERUTILIZED, Candidates: []string{"claim-old"}, Evictions: 1,
				Destinations: []*plannerpb.Placement{onNode("shop/moved", "busy-1")}, SavingMicroUsdPerHour: 96_000, SavingEstimated: true,
				Reason:        reason(clusterpb.ReasonCode_REASON_CODE_PODS_FIT_ELSEWHERE, "its 1 pod fits on busy-1"),
				ChurnMicroUsd: 1000, Payback: durationpb.New(38 * time.Second),
			}, {
				Id: "d-2", DisruptionReason: clusterpb.DisruptionReason_DISRUPTION_REASON_EXPIRED, Candidates: []string{"claim-older"}, Evictions: 1,
				Replacements: []string{"default-2"}, Destinations: []*plannerpb.Placement{onClaim("shop/aged", "default-2")},
				Reason:        reason(clusterpb.ReasonCode_REASON_CODE_EXPIRED, "it is 30 days old, as old as its pool allows"),
				ChurnMicroUsd: 1000,
			}},
			Placements: []*plannerpb.Placement{
				onClaim("ops/lonely", "spot-3"), onClaim("shop/web-0", "default-1"), onClaim("shop/web-1", "default-1"),
				onClaim("shop/web-2", "default-2"), onClaim("shop/web-3", "default-2"), onNode("shop/web-4", "busy-1"),
			},
			Pending:                   []*plannerpb.PendingPod{missing("shop/big-0"), missing("shop/big-1")},
			Nodes:                     []*plannerpb.NodeVerdict{node("busy-1", clusterpb.ReasonCode_REASON_CODE_NO_CHEAPER, "its pods fit nowhere else for less"), gone, older, stuck2, stuck},
			DisruptionSummary:         &plannerpb.DisruptionSummary{Candidates: 4, Judged: 4, Tried: 7, FloorMicroUsdPerHour: new(int64(64_000))},
			CostBeforeMicroUsdPerHour: 192_000, CostAfterMicroUsdPerHour: 317_750, CostEstimated: true,
			LowerBound: &plannerpb.LowerBound{MicroUsdPerHour: 200_000, Gap: 0.10875, Kind: plannerpb.BoundKind_BOUND_KIND_RESOURCE},
		},
	}
}

// many is a plan with more claims of a kind than one wants to read.
func many() render.PlanView {
	v := everything()
	like := v.Plan.GetNodeClaims()[0]
	v.Plan = &plannerpb.Plan{CostAfterMicroUsdPerHour: 7 * 96_000, CostEstimated: true, NodeClaims: []*plannerpb.NodeClaim{v.Plan.GetNodeClaims()[2]}}
	for i := range 6 {
		c := proto.CloneOf(like)
		c.Id = fmt.Sprintf("default-%d", i)
		v.Plan.NodeClaims = append(v.Plan.NodeClaims, c)
	}
	return v
}

func TestPlan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		view  render.PlanView
		style page.Style
	}{
		"everything":          {everything(), page.Style{}},
		"everything-coloured": {everything(), page.Style{Color: true, Width: 72}},
		"many":                {many(), page.Style{}},
		"nothing":             {render.PlanView{Plan: &plannerpb.Plan{}, Snapshot: &clusterpb.Snapshot{}}, page.Style{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := render.Plan(&out, tt.view, tt.style); err != nil {
				t.Fatal(err)
			}
			if len(tt.view.Advice) > 0 {
				if err := render.Advice(&out, tt.view, tt.style); err != nil {
					t.Fatal(err)
				}
			}
			goldentest.Check(t, "plan-"+name+".txt", out.String())
		})
	}
}

func TestHeadRoomAndObjectsWithoutEffect(t *testing.T) {
	v := everything()
	v.Plan.NodeClaims[0].Pods = append(v.Plan.NodeClaims[0].Pods, "buffer/shop/spare/0", "buffer/shop/spare/1")
	for _, pod := range v.Plan.NodeClaims[0].GetPods()[len(v.Plan.NodeClaims[0].GetPods())-2:] {
		v.Plan.Placements = append(v.Plan.Placements, &plannerpb.Placement{
			Pod: pod, Target: &plannerpb.Placement_Claim{Claim: v.Plan.NodeClaims[0].GetId()},
		})
	}
	v.Plan.Pending = append(v.Plan.Pending, &plannerpb.PendingPod{
		Pod: "buffer/shop/spare/2", Reason: reason(clusterpb.ReasonCode_REASON_CODE_LIMIT, "the pool's limit of 3 nodes is used up"),
	})
	v.Plan.Problems = []*clusterpb.Reason{{
		Code: clusterpb.ReasonCode_REASON_CODE_OVERLAY_CONFLICT, Subject: &clusterpb.ObjectRef{Kind: "nodeoverlay", Name: "one"}, Message: "another says so, too", Remedy: "give it another spec.weight",
	}}
	plain, after := &bytes.Buffer{}, &bytes.Buffer{}
	if err := render.Plan(plain, everything(), page.Style{}); err != nil {
		t.Fatal(err)
	}
	if err := render.Plan(after, v, page.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 buffer shop/spare", "buffers      capacity for 2 of 3 pods of capacity buffers", "PROBLEMS  1 object", "nodeoverlay/one",
		"another says so, too", "give it another spec.weight",
	} {
		if !strings.Contains(after.String(), want) || strings.Contains(plain.String(), want) {
			t.Errorf("want %q in this plan, and not in one without buffers:\n%s", want, after)
		}
	}
	pods := func(s string) string {
		_, rest, _ := strings.Cut(s, "\n  pods ")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	if pods(plain.String()) != pods(after.String()) {
		t.Errorf("virtual pods count as pods: %q", pods(after.String()))
	}
}

func TestTheWidthOfATerminalIsKeptBySentences(t *testing.T) {
	t.Parallel()
	v := everything()
	v.Plan.NodeClaims, v.Plan.Disruptions = nil, nil // tables are as wide as they must be
	var out bytes.Buffer
	if err := render.Plan(&out, v, page.Style{Width: 60}); err != nil {
		t.Fatal(err)
	}
	for l := range strings.SplitSeq(out.String(), "\n") {
		if len([]rune(l)) > 60 {
			t.Errorf("wider than 60: %q", l)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, object := range []string{
		"pod/web-0", "pod/shop/web-4", "pod/big-1", "pod/moved", "pod/idle", "node/busy-1", "node/old", "node/older", "node/stuck", "node/foreign",
		"claim/default-2", "claim/claim-old", "claim/claim-late", "pod/aged",
	} {
		out.WriteString("$ " + object + "\n")
		if err := render.Explain(&out, everything(), object, page.Style{}); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	goldentest.Check(t, "explain.txt", out.String())
}

// TestAGapThatLimitsMakeIsSaidToBeTheirs: the bound is that of the cheapest nodes, which a pool's limit may forbid.
func TestAGapThatLimitsMakeIsSaidToBeTheirs(t *testing.T) {
	t.Parallel()
	const text = "; the bound leaves out limits of pools, and spot has reached one"
	for limit, want := range map[int64]bool{2: true, 8: false} {
		v := everything()
		v.Snapshot.NodePools = []*clusterpb.NodePool{{Name: "default"}, {Name: "spot", Limits: []*clusterpb.Amount{{Resource: "cpu", Value: limit * 1000}}}}
		var types []*clusterpb.InstanceType
		for _, name := range []string{"m5.large", "c5.large"} {
			types = append(types, &clusterpb.InstanceType{Name: name, Capacity: []*clusterpb.Amount{{Resource: "cpu", Value: 2000}}})
		}
		v.Snapshot.Catalogs = []*clusterpb.Catalog{{InstanceTypes: types}}
		var out strings.Builder
		if err := render.Plan(&out, v, page.Style{}); err != nil || strings.Contains(out.String(), text) != want {
			t.Errorf("a limit of %d CPUs: %v, printed\n%s", limit, err, out.String())
		}
	}
}

// TestAGapThatWeightsMakeIsSaidToBeTheirs: they decide before prices do, and the bound goes by prices.
func TestAGapThatWeightsMakeIsSaidToBeTheirs(t *testing.T) {
	t.Parallel()
	const text = "; pools of higher weight go first, which the bound does not know"
	for weight, want := range map[int32]bool{0: false, 10: true} {
		v := everything()
		v.Snapshot.NodePools = []*clusterpb.NodePool{{Name: "default"}, {Name: "spot", Weight: weight}}
		var out strings.Builder
		if err := render.Plan(&out, v, page.Style{}); err != nil || strings.Contains(out.String(), text) != want {
			t.Errorf("a weight of %d: %v, printed\n%s", weight, err, out.String())
		}
	}
}

// TestWhatBecameOfANodeThatIsGone: its claim is kept for a while, and so is the decision to take it away.
func TestWhatBecameOfANodeThatIsGone(t *testing.T) {
	t.Parallel()
	v := everything()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) *timestamppb.Timestamp { return timestamppb.New(now.Add(time.Duration(s) * time.Second)) }
	claim := func(id, node string, state clusterpb.ClaimState, why clusterpb.DisruptionReason, born int) *clusterpb.Claim {
		return &clusterpb.Claim{
			Id: id, NodePool: "default", State: state, InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: onDemand,
			PriceMicroUsdPerHour: 96_000, Node: node, Pods: []string{"shop/web-9"}, CreateTime: at(born), DisruptionReason: why,
		}
	}
	const gone, draining = clusterpb.ClaimState_CLAIM_STATE_GONE, clusterpb.ClaimState_CLAIM_STATE_DRAINING
	drifted := claim("c-drift", "old", draining, clusterpb.DisruptionReason_DISRUPTION_REASON_DRIFTED, -900)
	drifted.Drifted = reason(clusterpb.ReasonCode_REASON_CODE_DRIFTED, "AMIDrift: EC2NodeClass default no longer launches ami-1")
	for _, n := range v.Snapshot.GetNodes() {
		if n.GetName() == "old" {
			n.Claim = "c-drift"
		}
	}
	v.Plan.Now, v.Plan.Disruptions, v.Plan.Nodes = at(0), nil, nil
	v.Snapshot.Claims = append(v.Snapshot.GetClaims(), drifted,
		claim("c-first", "ip-1", gone, clusterpb.DisruptionReason_DISRUPTION_REASON_EMPTY, -3000),
		claim("c-last", "ip-1", gone, clusterpb.DisruptionReason_DISRUPTION_REASON_UNHEALTHY, -900),
		claim("c-lost", "ip-2", gone, clusterpb.DisruptionReason_DISRUPTION_REASON_UNSPECIFIED, -900))
	v.Snapshot.Disruptions = []*clusterpb.DisruptionRecord{
		{Id: "d-0", Candidates: []string{"c-last"}, AcceptTime: at(-500), EndTime: at(-400), RolledBack: true},
		{Id: "d-1", Candidates: []string{"c-last"}, AcceptTime: at(-362), EndTime: at(-360)},
		{Id: "d-2", Candidates: []string{"c-drift"}, AcceptTime: at(-20), Replacements: []string{"claim-late", "claim-busy-1"}},
	}
	var out bytes.Buffer
	for _, object := range []string{"node/ip-1", "claim/c-first", "claim/c-last", "node/ip-2", "node/old"} {
		out.WriteString("$ " + object + "\n")
		if err := render.Explain(&out, v, object, page.Style{}); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	if err := render.ExplainJSON(&out, v, "node/ip-1"); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "gone.txt", out.String())
}

func TestAPodWaitsForOthersToEnd(t *testing.T) {
	t.Parallel()
	v := everything()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	v.Plan.Now = timestamppb.New(now)
	for i, want := range []string{
		"busy-1, which has capacity for it", "busy-1, once pods that are being deleted have left",
		"busy-1, once what is being deleted there has left (1 pod)", "busy-1, once what is being deleted there has left (2 pods)",
	} {
		var out, whole strings.Builder
		if err := errors.Join(render.Explain(&out, v, "pod/shop/web-4", page.Style{}), render.Plan(&whole, v, page.Style{})); err != nil {
			t.Fatal(err)
		}
		waits := i > 0
		for text, is := range map[string]bool{
			"\n    node     " + want + "\n": true, "pod/shop/web-4  waits for room\n": waits, "\n    waits    40s at the most; ": waits, "(policy.room_wait)": waits,
		} {
			if strings.Contains(out.String(), text) != is {
				t.Errorf("%s, want %q: %v", out.String(), text, is)
			}
		}
		if strings.Contains(whole.String(), ", 1 on nodes that exist, once other pods have left them") != waits {
			t.Errorf("%s, want that a pod waits: %v", whole.String(), waits)
		}
		for _, pl := range v.Plan.GetPlacements() {
			if pl.GetPod() == "shop/web-4" {
				pl.WaitUntil = timestamppb.New(now.Add(40 * time.Second))
			}
		}
		if !waits {
			continue
		}
		v.Snapshot.Pods = append(v.Snapshot.Pods, &clusterpb.Pod{
			Id: fmt.Sprint("shop/old-", i), Node: "busy-1", Terminating: true, TerminationDeadline: timestamppb.Now(),
		})
	}
}

func TestExplanationsHaveAFormForMachines(t *testing.T) {
	t.Parallel()
	for _, object := range []string{"pod/web-0", "pod/big-1", "pod/moved", "node/old", "node/stuck", "node/foreign", "claim/default-1", "claim/claim-late"} {
		var out bytes.Buffer
		if err := render.ExplainJSON(&out, everything(), object); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Object, Outcome string
			Node            struct{ WasteMicroUsdPerHour string }
			Disruption      struct{ PayBack string }
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Outcome == "" {
			t.Errorf("%s: %v in %s", object, err, out.String())
		}
		kind, name, _ := strings.Cut(object, "/")
		if !strings.HasPrefix(got.Object, kind+"/") || !strings.HasSuffix(got.Object, "/"+name) {
			t.Errorf("%s is explained as %s", object, got.Object)
		}
		if (object == "node/stuck") != (got.Node.WasteMicroUsdPerHour == "71000") {
			t.Errorf("%s wastes %q", object, got.Node.WasteMicroUsdPerHour)
		}
		if (object == "node/old" || object == "pod/moved") != (got.Disruption.PayBack == "38s") {
			t.Errorf("%s is paid back in %q", object, got.Disruption.PayBack)
		}
	}
}

// TestManyDecisionsAreCutShort looks at what is left of a plan that no one wants to read to the end.
func TestManyDecisionsAreCutShort(t *testing.T) {
	t.Parallel()
	v := everything()
	for i := range 40 {
		d := proto.CloneOf(v.Plan.GetDisruptions()[0])
		d.Id, d.SavingMicroUsdPerHour = fmt.Sprintf("d-9%02d", i), int64(i)
		d.Candidates = []string{fmt.Sprintf("c-%d-1", i), fmt.Sprintf("c-%d-2", i), fmt.Sprintf("c-%d-3", i), fmt.Sprintf("c-%d-4", i), fmt.Sprintf("c-%d-5", i)}
		v.Plan.Disruptions = append(v.Plan.Disruptions, d)
	}
	var out bytes.Buffer
	if err := render.Plan(&out, v, page.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"REMOVE  202 nodes, 42 evictions, saves ~$0.09678 an hour", "c-39-1, c-39-2, c-39-3 and 2 more", "and 17 decisions more, which save ~$0.000136 an hour",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "c-3-1") {
		t.Error("what saves least is shown before what saves most")
	}
}

func TestExplainRefusesWhatThePlanDoesNotKnow(t *testing.T) {
	t.Parallel()
	v := everything()
	v.Snapshot.Pods = append(v.Snapshot.Pods, &clusterpb.Pod{Id: "ops/web-0"})
	tests := map[string]struct{ object, want string }{
		"no such pod":                    {"pod/other", "there is no such pod"},
		"no such node":                   {"node/other", "there is no such node"},
		"no such claim":                  {"claim/other", "there is no such claim"},
		"a node's name with a slip":      {"node/stukc", "did you mean node/stuck"},
		"half a name":                    {"node/foreig", "did you mean node/foreign"},
		"a pod of another namespace":     {"pod/ops/web-1", "pod/shop/web-1"},
		"a claim's name with a slip":     {"claim/default-9", "did you mean claim/default-1, claim/default-2"},
		"a claim as a node":              {"node/default-1", "that is a claim; say claim/default-1"},
		"a name that two pods have":      {"pod/web-0", "2 pods have this name"},
		"a kind that is not explained":   {"pool/x", "want node/NAME"},
		"a name without a kind":          {"web-0", "want node/NAME"},
		"a kind without a name":          {"pod/", "want node/NAME"},
		"a part of a name is not a name": {"pod/eb-0", "there is no such pod"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := render.Explain(&out, v, tt.object, page.Style{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || out.Len() > 0 {
				t.Errorf("got %v and %q, want an error with %q and no output", err, out.String(), tt.want)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(-d)) }
	claims := []*clusterpb.Claim{
		{
			Id: "default-1", NodePool: "default", State: clusterpb.ClaimState_CLAIM_STATE_INITIALIZED, InstanceType: "m5.large", Zone: "us-east-1a",
			CapacityType: onDemand, PriceMicroUsdPerHour: 96_000, Node: "ip-10-0-0-1.ec2.internal", InstanceId: "i-1", Pods: []string{"a/b", "a/c"},
			CreateTime: at(50 * time.Hour),
		},
		{
			Id: "default-2", NodePool: "default", State: clusterpb.ClaimState_CLAIM_STATE_PLANNED, CreateTime: at(2 * time.Second),
			Failure: reason(clusterpb.ReasonCode_REASON_CODE_INSUFFICIENT_CAPACITY, "EC2 has no m5.large in us-east-1a; trying others"),
		},
		{
			Id: "spot-3", NodePool: "spot", State: clusterpb.ClaimState_CLAIM_STATE_GONE, InstanceType: "c5.large", Zone: "us-east-1b",
			CapacityType: spot, PriceMicroUsdPerHour: 29_750, InstanceId: "i-3", CreateTime: at(75 * time.Minute),
			DisruptionReason: clusterpb.DisruptionReason_DISRUPTION_REASON_UNHEALTHY,
		},
	}
	var out bytes.Buffer
	if err := render.Claims(&out, claims, now, page.Style{}); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "claims.txt", out.String())
	out.Reset()
	if err := render.Claims(&out, nil, now, page.Style{}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "no claims\n" {
		t.Errorf("got %q for none", out.String())
	}
}

func TestAdviceIsBesideTheAnswer(t *testing.T) {
	t.Parallel()
	advice := []advise.Advice{{Change: "allow arm64 in pool a", Subject: "nodepool/a", Saving: 1 << 60, MorePods: 2}}
	tests := map[string]struct {
		advice []advise.Advice
		resp   *plannerpb.PlanResponse
		want   string
	}{
		"no advice leaves the answer as it is": {nil, &plannerpb.PlanResponse{Plan: &plannerpb.Plan{Id: "p"}}, `{"plan": {"id": "p"}}`},
		"advice follows the answer": {
			advice, &plannerpb.PlanResponse{Plan: &plannerpb.Plan{Id: "p"}},
			`{"plan": {"id": "p"}, "advice": [{"change": "allow arm64 in pool a", "subject": "nodepool/a",
				"savingMicroUsdPerHour": "1152921504606846976", "morePods": 2}]}`,
		},
		"an empty answer has advice too": {
			[]advise.Advice{{Change: "a", Subject: "b"}}, &plannerpb.PlanResponse{}, `{"advice": [{"change": "a", "subject": "b"}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := render.PlanJSON(&b, tt.resp, tt.advice, nil); err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatalf("%v in %s", err, b.String())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestJSONIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := &plannerpb.PlanResponse{Plan: &plannerpb.Plan{Id: "p-1", Revision: 7, NodeClaims: []*plannerpb.NodeClaim{{Id: "a"}}}}
	if err := render.JSON(&out, m); err != nil {
		t.Fatal(err)
	}
	want := `{
  "plan": {
    "id": "p-1",
    "revision": "7",
    "nodeClaims": [
      {
        "id": "a"
      }
    ]
  }
}
`
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

// TestClaimsThatDifferInTheirZoneShareOneWhy: pods that are spread over zones have one each, and the same answers.
func TestClaimsThatDifferInTheirZoneShareOneWhy(t *testing.T) {
	t.Parallel()
	v := everything()
	like := v.Plan.GetNodeClaims()[0]
	v.Plan = &plannerpb.Plan{}
	for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1d"} {
		c := proto.CloneOf(like)
		c.Id, c.Offerings = "in-"+zone, []*clusterpb.RankedOffering{{InstanceType: "m5.large", Zone: zone, CapacityType: clusterpb.CapacityType_CAPACITY_TYPE_ON_DEMAND}}
		c.Reason.Message = "m5.large (on-demand, " + zone + ") holds 2 pods for $0.096 an hour"
		v.Plan.NodeClaims = append(v.Plan.NodeClaims, c)
	}
	var out strings.Builder
	if err := render.Plan(&out, v, page.Style{}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "holds 2 pods") != 1 || !strings.Contains(got, "3 × m5.large of pool default") ||
		!strings.Contains(got, "m5.large (on-demand, us-east-1a b d) holds 2 pods") {
		t.Errorf("printed\n%s", got)
	}
}
