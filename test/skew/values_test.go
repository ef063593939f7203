package skew_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	storagepb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/storage/v1alpha1"
	actuatorpb "github.com/kerf-dev/kerf/proto/gen/kerf/actuator/v1alpha1"
	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	"github.com/kerf-dev/kerf/test/harness/assets"
)

// unsent are values that the last release does not know, and that are not sent yet to one of that release that must
// know them. What is understood now, and sent with the next release, is listed here until then, with why.
func unsent() map[string]string { return map[string]string{} }

// explains is the enum whose values only explain: readers keep one that they do not know, and go on.
const explains = "kerf.cluster.v1alpha1.ReasonCode"

// TestValuesThatMustBeKnownAreSentOneReleaseLater looks at the enums of what an actuator stores and of what a planner
// is asked. An actuator that finds a value in its store that it does not know can't lead, and a planner makes no plan:
// after a way back, or while services are exchanged, there would be no leader, or no plan, for one object of the newer
// release.
func TestValuesThatMustBeKnownAreSentOneReleaseLater(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "proto/released/kerf.binpb"))
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	released, enumsThen := map[string]bool{}, map[string]bool{}
	for _, file := range set.GetFile() {
		for _, e := range file.GetEnumType() {
			enumsThen[file.GetPackage()+"."+e.GetName()] = true
			for _, v := range e.GetValue() {
				released[file.GetPackage()+"."+v.GetName()] = true
			}
		}
	}
	enums := map[protoreflect.FullName]protoreflect.EnumDescriptor{}
	seen := map[protoreflect.FullName]bool{}
	for _, m := range []proto.Message{
		&storagepb.StoredClaim{}, &storagepb.StoredShortage{}, &clusterpb.DisruptionRecord{}, &clusterpb.Notice{},
		&plannerpb.PlanRequest{}, &actuatorpb.ApplyRequest{},
	} {
		collect(m.ProtoReflect().Descriptor(), enums, seen)
	}
	if len(enums) < 5 {
		t.Fatalf("only %d enums are found", len(enums))
	}
	known := unsent()
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		if !enumsThen[string(name)] || name == explains {
			continue // of fields that the last release passes over, or kept as it is
		}
		values := enums[name].Values()
		for i := range values.Len() {
			value := string(values.Get(i).FullName())
			if _, listed := known[value]; released[value] == listed {
				t.Errorf("%s: in the last release: %v, among unsent: %v; want one of them. Understand a new value in this release and send it in the next",
					value, released[value], listed)
			}
		}
	}
}

// collect adds the enums of a message, and of those that it is made of.
func collect(m protoreflect.MessageDescriptor, enums map[protoreflect.FullName]protoreflect.EnumDescriptor, seen map[protoreflect.FullName]bool) {
	if seen[m.FullName()] {
		return
	}
	seen[m.FullName()] = true
	fields := m.Fields()
	for i := range fields.Len() {
		if e := fields.Get(i).Enum(); e != nil {
			enums[e.FullName()] = e
		}
		if below := fields.Get(i).Message(); below != nil {
			collect(below, enums, seen)
		}
	}
}
