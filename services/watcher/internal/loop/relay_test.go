package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/boot/rpc"
)

func TestTheActuatorIsSentWhatItLooksAt(t *testing.T) {
	why := &clusterpb.Reason{Code: clusterpb.ReasonCode_REASON_CODE_RESOURCES, Message: "too large"}
	plan := &plannerpb.Plan{
		Id: "p-1", Traceparent: "00-1", Problems: []*clusterpb.Reason{why},
		NodeClaims: []*plannerpb.NodeClaim{{Id: "c-1", Pods: []string{"a/b"}, Reason: why, RunnersUp: []*plannerpb.RunnerUp{{Pods: 1}}}},
		Placements: []*plannerpb.Placement{{Pod: "a/b", Target: &plannerpb.Placement_Claim{Claim: "c-1"}}},
		Pending:    []*plannerpb.PendingPod{{Pod: "a/c", Reason: why, Pools: []*plannerpb.PoolMiss{{NodePool: "default"}}}},
		Nodes:      []*plannerpb.NodeVerdict{{Node: "n-1", Reason: why}, {Node: "n-2", Claim: "c-2", Reason: why, Deferred: new(false)}},
	}
	whole := proto.CloneOf(plan)
	want := &plannerpb.Plan{
		Id: "p-1", Traceparent: "00-1",
		NodeClaims: []*plannerpb.NodeClaim{{Id: "c-1", Pods: []string{"a/b"}, Reason: why}},
		Placements: plan.GetPlacements(),
		Pending:    []*plannerpb.PendingPod{{Pod: "a/c", Reason: why}},
		Nodes:      []*plannerpb.NodeVerdict{{Node: "n-2", Claim: "c-2", Deferred: new(false)}},
	}
	if diff := cmp.Diff(want, relayable(plan), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(whole, plan, protocmp.Transform()); diff != "" {
		t.Errorf("the plan itself has changed: %s", diff)
	}
}

func TestAPlanThatLeavesALargeBacklogPendingIsOneMessage(t *testing.T) {
	plan := &plannerpb.Plan{}
	why := &clusterpb.Reason{Message: strings.Repeat("m", 200), Remedy: strings.Repeat("r", 100)}
	for i := range 100_000 {
		plan.Pending = append(plan.Pending, &plannerpb.PendingPod{
			Pod: fmt.Sprintf("some-namespace/some-deployment-5c9f8d7b6d-%05d", i), Reason: why,
			Pools: []*plannerpb.PoolMiss{{NodePool: "default", Reason: why}, {NodePool: "gpu", Reason: why}},
		})
	}
	slim := relayable(plan)
	if before, after := proto.Size(plan), proto.Size(slim); before < rpc.DefaultMaxMessageBytes || after > rpc.DefaultMaxMessageBytes {
		t.Errorf("%d bytes become %d; a message has %d", before, after, rpc.DefaultMaxMessageBytes)
	}
	if n := len(slim.GetPending()); n != len(plan.GetPending()) {
		t.Errorf("%d pods, want all %d", n, len(plan.GetPending()))
	}
}

func TestAPortionOfAPlanKeepsWhatDisruptionsWaitFor(t *testing.T) {
	plan := &plannerpb.Plan{Disruptions: []*plannerpb.Disruption{{Id: "d-1", Replacements: []string{"c-3"}}}}
	for i := range 4 {
		id := fmt.Sprintf("c-%d", i)
		plan.NodeClaims = append(plan.NodeClaims, &plannerpb.NodeClaim{Id: id, Reason: &clusterpb.Reason{Message: strings.Repeat("m", 1000)}})
		plan.Placements = append(plan.Placements, &plannerpb.Placement{Pod: "a/" + id, Target: &plannerpb.Placement_Claim{Claim: id}})
	}
	plan.Placements = append(plan.Placements, &plannerpb.Placement{Pod: "a/b", Target: &plannerpb.Placement_Node{Node: "n-1"}})
	placements := plan.GetPlacements()
	if n := len(portion(plan, 10_000, 5)); n != 0 || len(plan.GetNodeClaims()) != 4 {
		t.Errorf("%d claims are left out of a plan that is small enough", n)
	}
	n := len(portion(plan, 2500, 5))
	var claims, pods []string
	for _, c := range plan.GetNodeClaims() {
		claims = append(claims, c.GetId())
	}
	for _, p := range plan.GetPlacements() {
		pods = append(pods, p.GetPod())
	}
	if want := []string{"c-0", "c-3"}; n != 2 || !slices.Equal(claims, want) {
		t.Errorf("%d are left out, and %v stay; want %v", n, claims, want)
	}
	if want := []string{"a/c-0", "a/c-3", "a/b"}; !slices.Equal(pods, want) {
		t.Errorf("places of %v, want of %v", pods, want)
	}
	if proto.Size(plan) > 2500 || len(placements) != 5 {
		t.Errorf("%d bytes; and the list of places that others have has %d", proto.Size(plan), len(placements))
	}
}

// TestAPortionOfAPlanDecidesNoMoreThanIsTaken: what serves no pods is left out first, and of too many disruptions the last
// with what replaces their nodes.
func TestAPortionOfAPlanDecidesNoMoreThanIsTaken(t *testing.T) {
	plan := &plannerpb.Plan{
		Disruptions: []*plannerpb.Disruption{{Id: "d-1", Replacements: []string{"r-1"}}, {Id: "d-2", Replacements: []string{"r-2"}}},
		NodeClaims:  []*plannerpb.NodeClaim{{Id: "a"}, {Id: "b"}, {Id: "r-1"}, {Id: "r-2"}},
		Placements:  []*plannerpb.Placement{{Pod: "default/p", Target: &plannerpb.Placement_Claim{Claim: "b"}}},
	}
	for most, want := range map[int]string{
		6: "a b r-1 r-2 d-1 d-2", 5: "b r-1 r-2 d-1 d-2", 4: "r-1 r-2 d-1 d-2", 3: "r-1 d-1", 1: "",
	} {
		got := proto.CloneOf(plan)
		left := portion(got, 10_000, most)
		var stay []string
		for _, c := range got.GetNodeClaims() {
			stay = append(stay, c.GetId())
		}
		for _, d := range got.GetDisruptions() {
			stay = append(stay, d.GetId())
		}
		if s := strings.Join(stay, " "); s != want || len(stay)+len(left) != 6 {
			t.Errorf("at most %d: %q stay, want %q; left out are %v", most, s, want, left)
		}
		if onClaim := len(got.GetPlacements()) == 1; onClaim != strings.Contains(want, "b") {
			t.Errorf("at most %d: %d places", most, len(got.GetPlacements()))
		}
	}
}
