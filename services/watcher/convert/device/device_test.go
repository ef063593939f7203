package device_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
)

const driver = "gpu.example.com"

func cel(exprs ...string) []resourcev1.DeviceSelector {
	var out []resourcev1.DeviceSelector
	for _, e := range exprs {
		out = append(out, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return out
}

func gpuClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{Selectors: cel(`device.driver == "gpu.example.com"`)},
	}
}

// nodeDevices are the devices of node n1, as claims with the given selectors see them.
func nodeDevices(t *testing.T, held func(device.Key) bool, list []*resourcev1.ResourceSlice, exprs ...string) []*clusterpb.NodeDevice {
	t.Helper()
	rules := device.NewRules()
	for _, e := range exprs {
		request := resourcev1.DeviceRequest{Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: gpuClass().Name, Selectors: cel(e)}}
		spec := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}
		spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: new(resourcev1.FullyQualifiedName(driver + "/numa"))}}
		if !rules.Put(e, &spec) {
			t.Errorf("%s is no new rule", e)
		}
	}
	rules.Classes([]*resourcev1.DeviceClass{gpuClass()})
	return device.OfNode("n1", list, rules, held)
}

func slice(name, pool string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: new("n1"), Devices: devices, Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1},
	}}
}

func gpu(name string, edits ...func(*resourcev1.Device)) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"model": {StringValue: new("a10g")}, "uuid": {StringValue: new("GPU-" + name)}, driver + "/numa": {IntValue: new(int64(1))},
	}}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

func TestNodeDevices(t *testing.T) {
	broken := func(d *resourcev1.Device) {
		d.Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	}
	part := func(d *resourcev1.Device) {
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "mem"}}
	}
	waits := func(d *resourcev1.Device) { d.BindingConditions = []string{"ready"} }
	held := func(k device.Key) bool { return k.Name == "held" }
	got := nodeDevices(t, held, []*resourcev1.ResourceSlice{
		slice("s2", "b", gpu("z"), gpu("broken", broken), gpu("held")), slice("s1", "a", gpu("waits", waits)), slice("s3", "c", gpu("part", part)),
	}, `device.attributes["gpu.example.com"].model == "a10g"`, `device.attributes["gpu.example.com"].uuid == "GPU-z"`,
		`device.attributes["gpu.example.com"].size > 1`)
	var names []string
	for _, d := range got {
		names = append(names, d.GetName())
	}
	if diff := cmp.Diff([]string{"z", "broken", "held", "part", "waits"}, names); diff != "" {
		t.Errorf("devices in the scheduler's order (-want +got):\n%s", diff)
	}
	z := got[0]
	if len(z.GetSelectors()) != 3 || len(z.GetOwnSelectors()) != 1 || len(z.GetFailingSelectors()) != 1 || slices.Contains(got[1].GetSelectors(), z.GetOwnSelectors()[0]) {
		t.Errorf("%v: want the class's own selector, the model's and the uuid's, of which the last is its own, and one that fails", z)
	}
	want := []*clusterpb.DeviceAttribute{{Name: driver + "/numa", Value: &clusterpb.DeviceAttribute_IntValue{IntValue: 1}}}
	if diff := cmp.Diff(want, z.GetAttributes(), protocmp.Transform()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if z.GetUnavailable() || !got[1].GetUnavailable() || !got[2].GetUnavailable() || !strings.HasPrefix(got[3].GetUnsupported(), "consumesCounters") {
		t.Errorf("devices %v: want one free, one tainted, one held and one that is a part", got)
	}
}

func TestAPoolCountsWhenItIsWhole(t *testing.T) {
	later := func(s *resourcev1.ResourceSlice, generation, count int64) *resourcev1.ResourceSlice {
		s.Spec.Pool.Generation, s.Spec.Pool.ResourceSliceCount = generation, count
		return s
	}
	elsewhere := slice("s2", "a", gpu("y"))
	elsewhere.Spec.NodeName = new("n2")
	several := slice("s1", "a", gpu("x", func(d *resourcev1.Device) { d.NodeName = new("n1") }), gpu("y", func(d *resourcev1.Device) { d.NodeName = new("n2") }))
	several.Spec.NodeName, several.Spec.PerDeviceNodeSelection = nil, new(true)
	for name, tc := range map[string]struct {
		slices []*resourcev1.ResourceSlice
		want   []string
	}{
		"a slice is missing":         {[]*resourcev1.ResourceSlice{later(slice("s1", "a", gpu("x")), 1, 2)}, []string{"a is incomplete"}},
		"two slices":                 {[]*resourcev1.ResourceSlice{later(slice("s2", "a", gpu("y")), 1, 2), later(slice("s1", "a", gpu("x")), 1, 2)}, []string{"x", "y"}},
		"the newer generation":       {[]*resourcev1.ResourceSlice{later(slice("s1", "a", gpu("x")), 1, 1), later(slice("s2", "a", gpu("y")), 2, 1)}, []string{"y"}},
		"a name twice":               {[]*resourcev1.ResourceSlice{slice("s1", "a", gpu("x"), gpu("x"))}, []string{"a is incomplete"}},
		"shared with another node":   {[]*resourcev1.ResourceSlice{later(slice("s1", "a", gpu("x")), 1, 2), later(elsewhere.DeepCopy(), 1, 2)}, []string{"x"}},
		"each device has its node":   {[]*resourcev1.ResourceSlice{several}, []string{"x"}},
		"only another node's is new": {[]*resourcev1.ResourceSlice{slice("s1", "a", gpu("x")), later(elsewhere.DeepCopy(), 3, 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range nodeDevices(t, nil, tc.slices) {
				if d.GetIncompletePool() {
					got = append(got, d.GetPool()+" is incomplete")
				} else {
					got = append(got, d.GetName())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
		})
	}
}
