package convert_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	storagepb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/storage/v1alpha1"
	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
)

// oneWay are the fields that don't come back, and why.
func oneWay() map[protoreflect.FullName]string {
	return map[protoreflect.FullName]string{
		"kerf.planner.v1alpha1.Plan.timings":       "the server measures them, no plan is compared by them",
		"kerf.planner.v1alpha1.Decide.traceparent": "the server carries it on, the planner never sees it",
	}
}

// filler sets every field of a message to a value that no other field of the message has. Its variant chooses among
// fields of which one excludes the other.
type filler struct {
	variant int
	// values are what fields must have where not every value is valid.
	values map[protoreflect.FullName]any
}

// prefix is a value that a number follows.
type prefix string

func newFiller(variant int) filler {
	return filler{variant: variant, values: map[protoreflect.FullName]any{
		"kerf.cluster.v1alpha1.Requirement.operator":   clusterpb.Operator_OPERATOR_IN,
		"kerf.cluster.v1alpha1.Pod.id":                 prefix("namespace/pod"),
		"kerf.cluster.v1alpha1.Pod.phase":              clusterpb.PodPhase_POD_PHASE_RUNNING,
		"kerf.cluster.v1alpha1.DaemonSet.id":           prefix("namespace/set"),
		"kerf.cluster.v1alpha1.PodDisruptionBudget.id": prefix("namespace/pdb"),
		"kerf.cluster.v1alpha1.CapacityBuffer.id":      prefix("namespace/buffer"),
		"kerf.cluster.v1alpha1.HostPort.protocol":      "TCP",
		"kerf.cluster.v1alpha1.Offering.capacity_type": clusterpb.CapacityType_CAPACITY_TYPE_RESERVED,
		"kerf.cluster.v1alpha1.RepairCondition.status": "Unknown",
		"kerf.cluster.v1alpha1.Policy.gap_target":      0.25,
	}}
}

// skipped says that the field stays empty in this variant.
func (f filler) skipped(d protoreflect.FieldDescriptor) bool {
	if _, ok := oneWay()[d.FullName()]; ok {
		return true
	}
	switch d.FullName() {
	case "kerf.cluster.v1alpha1.Toleration.exists":
		return f.variant%2 == 1
	case "kerf.cluster.v1alpha1.Toleration.value":
		return f.variant%2 == 0
	case "kerf.cluster.v1alpha1.NodeDevice.incomplete_pool":
		return f.variant%2 == 1
	case "kerf.cluster.v1alpha1.NodeDevice.name":
		return f.variant%2 == 0
	}
	if one := d.ContainingOneof(); one != nil && !one.IsSynthetic() {
		return d.Index() != one.Fields().Get(f.variant%one.Fields().Len()).Index()
	}
	return false
}

func (f filler) fill(m protoreflect.Message, at int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		switch {
		case f.skipped(d):
		case d.IsList():
			list := m.Mutable(d).List()
			for n := range 2 {
				switch {
				case d.Enum() != nil: // lists of them are sorted
					list.Append(protoreflect.ValueOfEnum(protoreflect.EnumNumber(1 + n)))
					continue
				case d.Message() == nil:
					list.Append(f.scalar(d, at+n))
					continue
				}
				e := list.NewElement()
				f.message(e.Message(), at+n)
				if d.FullName() == "kerf.cluster.v1alpha1.Policy.default_spread" { // takes the selector of each pod's class
					e.Message().Clear(e.Message().Descriptor().Fields().ByName("selector"))
				}
				list.Append(e)
			}
		case d.Message() != nil:
			f.message(m.Mutable(d).Message(), at+int(d.Number()))
		default:
			m.Set(d, f.scalar(d, at))
		}
	}
}

func (f filler) message(m protoreflect.Message, at int) {
	switch x := m.Interface().(type) {
	case *timestamppb.Timestamp:
		x.Seconds, x.Nanos = int64(1_000_000+at), int32(at)
	case *durationpb.Duration:
		x.Seconds, x.Nanos = int64(1000+at), int32(at)
	default:
		f.fill(m, at)
	}
}

func (f filler) scalar(d protoreflect.FieldDescriptor, at int) protoreflect.Value {
	switch v := f.values[d.FullName()].(type) {
	case nil:
	case prefix:
		return protoreflect.ValueOfString(fmt.Sprintf("%s-%d", v, at))
	case protoreflect.Enum:
		return protoreflect.ValueOfEnum(v.Number())
	default:
		return protoreflect.ValueOf(v)
	}
	n := int64(d.Number()) + int64(at%10)
	switch d.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("%s-%d", d.Name(), at))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		values := d.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(1 + (at+int(d.Number()))%(values.Len()-1)).Number())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) / 4)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	default:
	}
	panic(fmt.Sprintf("no value for %s of kind %s", d.FullName(), d.Kind()))
}

// back converts a message to the model and back again.
type back func(proto.Message) (proto.Message, error)

func converting[P proto.Message, M any](read func(P) (M, error), write func(M) P) back {
	return func(m proto.Message) (proto.Message, error) {
		v, err := read(m.(P))
		return write(v), err
	}
}

// TestNothingIsLost converts messages with all of their fields set to the model and back.
func TestNothingIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		empty proto.Message
		back  back
	}{
		"a claim":    {&storagepb.StoredClaim{}, converting(convert.ReadClaim, convert.StoredClaim)},
		"a record":   {&clusterpb.DisruptionRecord{}, converting(convert.ReadRecord, convert.Record)},
		"a notice":   {&clusterpb.Notice{}, converting(convert.ReadNotice, convert.Notice)},
		"a shortage": {&storagepb.StoredShortage{}, converting(convert.ReadShortage, convert.Shortage)},
		"a plan":     {&plannerpb.Plan{}, converting(convert.ReadPlan, convert.Plan)},
		"a question": {&plannerpb.Decide{}, converting(convert.Decide, func(in model.Input) *plannerpb.Decide { return convert.Request(in).GetDecide() })},
		"a snapshot": {&clusterpb.Snapshot{}, converting(convert.Part, func(s model.Snapshot) *clusterpb.Snapshot {
			return convert.Request(model.Input{Snapshot: s}).GetSnapshot()
		})},
		"what is removed": {&clusterpb.Removed{}, converting(removed, func(d model.Delta) *clusterpb.Removed {
			return convert.Change(d)[0].GetChange().GetDelta().GetRemoved()
		})},
	} {
		for variant := range 3 {
			t.Run(fmt.Sprint(name, ", variant ", variant), func(t *testing.T) {
				m := c.empty.ProtoReflect().New()
				newFiller(variant).fill(m, variant)
				want := proto.Clone(m.Interface())
				got, err := c.back(m.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got, protocmp.Transform(), inOrder()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
	}
}

func removed(m *clusterpb.Removed) (model.Delta, error) {
	return convert.Delta(&clusterpb.Delta{Removed: m})
}

// inOrder passes over the order of strings, which readers sort.
func inOrder() cmp.Option {
	return cmp.Transformer("sorted", func(in []string) []string {
		if slices.IsSorted(in) {
			return in
		}
		return slices.Sorted(slices.Values(in))
	})
}

// TestWhatIsStoredOutlivesAVersion reads what this version would not write.
func TestWhatIsStoredOutlivesAVersion(t *testing.T) {
	m := convert.Claim(fullClaim())
	m.Failure.Code = 9999
	m.Pods = append(m.Pods, m.GetPods()[0])
	got, err := convert.ReadClaim(&storagepb.StoredClaim{Claim: m})
	if err != nil || got.Failure.Code != 9999 {
		t.Errorf("%+v, %v: want that an unknown code is kept", got.Failure, err)
	}
	m.State = 99
	if _, err := convert.ReadClaim(&storagepb.StoredClaim{Claim: m}); err == nil {
		t.Error("a state that means nothing is accepted")
	}
}

// TestACodeOfAnotherVersionStopsNoPlan reads a plan for what is acted on.
func TestACodeOfAnotherVersionStopsNoPlan(t *testing.T) {
	m := convert.Plan(fullPlan())
	m.NodeClaims[0].Reason = nil
	m.Pending[0].Reason.Code = 9999
	m.Nodes[0].Reason = nil
	p, err := convert.ReadDecisions(m)
	if err != nil || len(p.NodeClaims) != 1 || len(p.Disruptions) != 1 || p.Pending[0].Reason.Code != 9999 {
		t.Errorf("%+v, %v", p, err)
	}
	m.NodeClaims[0].Requirements[0].Operator = 0
	if _, err := convert.ReadDecisions(m); err == nil {
		t.Error("a requirement that means nothing is accepted")
	}
}

// TestDecisionsAreAllThatIsActedOn reads a plan of which every field is set.
func TestDecisionsAreAllThatIsActedOn(t *testing.T) {
	got, err := convert.ReadDecisions(convert.Plan(fullPlan()))
	if err != nil {
		t.Fatal(err)
	}
	full := fullPlan()
	want := model.Plan{
		ID: full.ID, Revision: full.Revision, InventoryRevision: full.InventoryRevision, Now: full.Now, Traceparent: full.Traceparent,
		NodeClaims: full.NodeClaims, Disruptions: full.Disruptions, Placements: full.Placements, Pending: full.Pending,
		Nodes:   []model.NodeVerdict{{Node: "n1", Claim: "claim-1", Reason: full.Nodes[0].Reason, Deferred: new(true), PodDeletionCost: -7}},
		Objects: full.Objects,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnInventoryIsCutIntoParts(t *testing.T) {
	var d model.Delta
	for i := range 200 {
		c := fullClaim()
		c.ID += model.ClaimID(rune('a' + i%26))
		c.Failure.Message = string(make([]byte, 10_000))
		d.Upserted.Claims = append(d.Upserted.Claims, c)
	}
	d.Upserted.InventoryRevision = 7
	n := 0
	parts := convert.Whole(d.Upserted)
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
	if parts := convert.Change(model.Delta{}); len(parts) != 1 || !parts[0].GetChange().GetLast() {
		t.Errorf("no change is %d parts, want one that says that it is the last", len(parts))
	}
}

func TestVerdictsSayWhatBecameOfDecisions(t *testing.T) {
	why := model.Reason{Code: model.CodeBudget, Message: "m", Subject: "s/t", Remedy: "r"}
	got := convert.Verdicts([]model.Verdict{{Decision: "a", Accepted: true}, {Decision: "b", Reason: why}})
	want := []*actuatorpb.Verdict{
		{Decision: "a", Kind: actuatorpb.VerdictKind_VERDICT_KIND_ACCEPTED},
		{Decision: "b", Kind: actuatorpb.VerdictKind_VERDICT_KIND_REJECTED, Reason: &clusterpb.Reason{
			Code: clusterpb.ReasonCode_REASON_CODE_BUDGET, Message: "m", Subject: &clusterpb.ObjectRef{Kind: "s", Name: "t"}, Remedy: "r",
		}},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzReadClaim feeds anything that is a message: it must be refused or come back as it was.
func FuzzReadClaim(f *testing.F) {
	data, err := proto.Marshal(convert.StoredClaim(fullClaim()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m storagepb.StoredClaim
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		c, err := convert.ReadClaim(&m)
		if err != nil {
			return
		}
		again, err := convert.ReadClaim(convert.StoredClaim(c))
		if err != nil {
			t.Fatalf("accepted once, and then: %v", err)
		}
		if d := cmp.Diff(c, again); d != "" {
			t.Fatalf("(-first +second):\n%s", d)
		}
	})
}
