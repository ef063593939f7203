package convert_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/convert"
	"github.com/kerf-dev/kerf/services/actuator/inventory"
	"github.com/kerf-dev/kerf/services/actuator/model"
	"github.com/kerf-dev/kerf/services/actuator/storetest"
)

// TestNumbersAreThoseOfTheContract compares the model's constants with the contract's, which the model can't import.
func TestNumbersAreThoseOfTheContract(t *testing.T) {
	for name, code := range map[string]model.ReasonCode{
		"NO_NODE_POOL": model.ReasonNodePoolNotFound, "NODE_POOL_INVALID": model.ReasonNodePoolInvalid,
		"NODE_CLASS_NOT_FOUND": model.ReasonNodeClassNotFound, "NODE_CLASS_NOT_READY": model.ReasonNodeClassNotReady,
		"REQUIREMENTS": model.ReasonRequirements, "NO_OFFERING": model.ReasonNoOffering, "LIMIT": model.ReasonLimit,
		"UNSUPPORTED": model.ReasonUnsupported, "EXPIRED": model.ReasonExpired, "DRIFTED": model.ReasonDrifted,
		"INTERRUPTED": model.ReasonInterrupted, "NOT_INITIALIZED": model.ReasonNotInitialized,
		"ALREADY_DISRUPTED": model.ReasonAlreadyDisrupted, "NODE_DO_NOT_DISRUPT": model.ReasonNodeDoNotDisrupt,
		"POD_DO_NOT_DISRUPT": model.ReasonPodDoNotDisrupt, "BUDGET": model.ReasonBudget, "NO_CHEAPER": model.ReasonNoCheaper,
		"STALE": model.ReasonStale, "DUPLICATE": model.ReasonDuplicate, "NOT_FOUND": model.ReasonNotFound, "GROUP": model.ReasonGroup,
		"INVALID": model.ReasonInvalid, "PRICE_CHANGED": model.ReasonPriceChanged, "ALREADY_ACCEPTED": model.ReasonAlreadyAccepted,
		"INSUFFICIENT_CAPACITY": model.ReasonInsufficientCapacity, "LAUNCH_REFUSED": model.ReasonLaunchRefused,
		"THROTTLED": model.ReasonThrottled, "REGISTRATION_TIMEOUT": model.ReasonRegistrationTimeout,
		"LAUNCH_TIMEOUT": model.ReasonLaunchTimeout, "INSTANCE_LOST": model.ReasonInstanceLost,
		"DRAIN_BLOCKED": model.ReasonDrainBlocked, "REPLACEMENT_FAILED": model.ReasonReplacementFailed,
		"UNHEALTHY": model.ReasonUnhealthy, "CANARY": model.ReasonCanary, "REPAIR_GUARD": model.ReasonRepairGuard,
		"STATIC_POOL": model.ReasonStaticPool,
	} {
		if got := clusterpb.ReasonCode_value["REASON_CODE_"+name]; got != int32(code) || got == 0 {
			t.Errorf("%s is %d in the contract and %d in the model", name, got, code)
		}
	}
	for name, n := range map[string]int{
		"EMPTY": int(model.DisruptionEmpty), "UNDERUTILIZED": int(model.DisruptionUnderutilized), "DRIFTED": int(model.DisruptionDrifted),
		"EXPIRED": int(model.DisruptionExpired), "INTERRUPTED": int(model.DisruptionInterrupted),
		"UNHEALTHY": int(model.DisruptionUnhealthy), "DELETED": int(model.DisruptionDeleted),
		"SURPLUS": int(model.DisruptionSurplus),
	} {
		if got := clusterpb.DisruptionReason_value["DISRUPTION_REASON_"+name]; int(got) != n {
			t.Errorf("%s is %d in the contract and %d in the model", name, got, n)
		}
	}
	for name, n := range map[string]model.State{
		"PLANNED": model.StatePlanned, "LAUNCHING": model.StateLaunching, "LAUNCHED": model.StateLaunched,
		"REGISTERED": model.StateRegistered, "INITIALIZED": model.StateInitialized, "DRAINING": model.StateDraining,
		"TERMINATING": model.StateTerminating, "GONE": model.StateGone, "FAILED": model.StateFailed,
	} {
		if got := clusterpb.ClaimState_value["CLAIM_STATE_"+name]; int(got) != int(n) {
			t.Errorf("%s is %d in the contract and %d in the model", name, got, n)
		}
	}
	for name, n := range map[string]model.NoticeKind{
		"SPOT_INTERRUPTION": model.NoticeSpotInterruption, "REBALANCE_RECOMMENDATION": model.NoticeRebalanceRecommendation,
		"STATE_CHANGE": model.NoticeStateChange, "SCHEDULED_CHANGE": model.NoticeScheduledChange,
	} {
		if got := clusterpb.NoticeKind_value["NOTICE_KIND_"+name]; int(got) != int(n) {
			t.Errorf("%s is %d in the contract and %d in the model", name, got, n)
		}
	}
}

func TestClaimsComeBackAsTheyWere(t *testing.T) {
	for _, want := range storetest.Sample().PutClaims {
		data, err := proto.Marshal(convert.Claim(want))
		if err != nil {
			t.Fatal(err)
		}
		var m clusterpb.Claim
		if err := proto.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		got, err := convert.FromClaim(&m)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// TestEveryFieldOfAClaimTravels sets each field of the message that the sample leaves empty apart: none may be.
func TestEveryFieldOfAClaimTravels(t *testing.T) {
	m := convert.Claim(storetest.Sample().PutClaims[0]).ProtoReflect()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if !m.Has(fields.Get(i)) {
			t.Errorf("field %s is not set by convert.Claim", fields.Get(i).Name())
		}
	}
}

// FuzzFromClaim feeds anything that is a message: it must be refused or come back as it was.
func FuzzFromClaim(f *testing.F) {
	for _, c := range storetest.Sample().PutClaims {
		data, err := proto.Marshal(convert.Claim(c))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m clusterpb.Claim
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		c, err := convert.FromClaim(&m)
		if err != nil {
			return
		}
		again, err := convert.FromClaim(convert.Claim(c))
		if err != nil {
			t.Fatalf("accepted once, and then: %v", err)
		}
		if d := cmp.Diff(c, again); d != "" {
			t.Fatalf("(-first +second):\n%s", d)
		}
	})
}

func TestFromPlanNamesTheFieldThatIsWrong(t *testing.T) {
	now := timestamppb.Now()
	for name, c := range map[string]struct {
		plan  *plannerpb.Plan
		field string
	}{
		"no plan":    {nil, "plan.id"},
		"no time":    {&plannerpb.Plan{Id: "p"}, "plan.now"},
		"a bad time": {&plannerpb.Plan{Id: "p", Now: &timestamppb.Timestamp{Nanos: -1}}, "plan.now"},
		"an unknown operator": {&plannerpb.Plan{Id: "p", Now: now, NodeClaims: []*plannerpb.NodeClaim{
			{}, {Requirements: []*clusterpb.Requirement{{Key: "k"}}},
		}}, "plan.node_claims[1]"},
		"an unknown capacity type": {&plannerpb.Plan{Id: "p", Now: now, NodeClaims: []*plannerpb.NodeClaim{
			{Offerings: []*clusterpb.RankedOffering{{CapacityType: 99}}},
		}}, "plan.node_claims[0]"},
		"a negative price": {&plannerpb.Plan{Id: "p", Now: now, NodeClaims: []*plannerpb.NodeClaim{
			{Offerings: []*clusterpb.RankedOffering{{CapacityType: 1, PriceMicroUsdPerHour: -1}}},
		}}, "plan.node_claims[0]"},
		"an unknown reason": {&plannerpb.Plan{Id: "p", Now: now, Disruptions: []*plannerpb.Disruption{{Id: "d"}}}, "plan.disruptions[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := convert.FromPlan(c.plan)
			var field *convert.FieldError
			if !errors.As(err, &field) || field.Field != c.field {
				t.Errorf("error %v, want one about %s", err, c.field)
			}
		})
	}
}

func TestInventoryIsCutIntoParts(t *testing.T) {
	big := storetest.Sample().PutClaims[0]
	var inv inventory.Inventory
	for i := range 200 {
		c := big
		c.ID += model.ClaimID(rune('a' + i%26))
		c.Failure.Message = string(make([]byte, 10_000))
		inv.Claims = append(inv.Claims, &c)
	}
	inv.Revision = 7
	parts := convert.Whole(inv)
	n := 0
	for i, p := range parts {
		if size := proto.Size(p); size > convert.MaxPart+20_000 {
			t.Errorf("part %d has %d bytes", i, size)
		}
		part := p.GetWhole()
		if part.GetLast() != (i == len(parts)-1) || part.GetSnapshot().GetInventoryRevision() != 7 {
			t.Errorf("part %d: last %v, revision %d", i, part.GetLast(), part.GetSnapshot().GetInventoryRevision())
		}
		n += len(part.GetSnapshot().GetClaims())
	}
	if n != 200 || len(parts) < 4 {
		t.Errorf("%d claims in %d parts", n, len(parts))
	}
	if parts := convert.Change(inventory.Diff(inv, inv)); len(parts) != 1 || !parts[0].GetChange().GetLast() {
		t.Errorf("no change is %d parts, want one that says that it is the last", len(parts))
	}
}

func TestPlanTellsWhosePodsAreEvicted(t *testing.T) {
	p, _, err := convert.FromPlan(&plannerpb.Plan{Id: "p", Now: timestamppb.Now(), Disruptions: []*plannerpb.Disruption{{
		Id: "d", DisruptionReason: clusterpb.DisruptionReason_DISRUPTION_REASON_UNHEALTHY, Evictions: 3,
		Workloads: []*clusterpb.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "web-1", Pods: 3}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []apply.Disruption{{
		ID: "d", Reason: model.DisruptionUnhealthy, Evictions: 3,
		Workloads: []model.WorkloadEvictions{{Namespace: "shop", Kind: "ReplicaSet", Name: "web-1", Pods: 3}},
	}}
	if d := cmp.Diff(want, p.Disruptions); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
