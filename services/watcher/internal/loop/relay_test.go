package loop

import (
	"fmt"
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
