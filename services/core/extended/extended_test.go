package extended_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-dev/kerf/services/core/extended"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	gpu = model.Resource("example.com/gpu")
	nic = model.Resource("example.com/nic")
)

// asking is a class of pods that ask for a CPU and two GPUs, which a device class stands for.
func asking() model.PodClass {
	return model.PodClass{
		ID: "c", Requests: model.Amounts{{Resource: "cpu", Value: 1000}, {Resource: gpu, Value: 2}},
		DeviceClaims:     []model.DeviceClaim{{Requests: []model.DeviceRequest{{Name: "own"}}}},
		ExtendedRequests: []model.ExtendedRequest{{Resource: gpu, Devices: model.DeviceOption{DeviceClass: "gpus", Selector: "g", Count: 2}}},
	}
}

func TestWhatIsADevice(t *testing.T) {
	has := model.Amounts{{Resource: gpu, Value: 1}}
	device := []model.NodeDevice{{DeviceRef: model.DeviceRef{Driver: "d", Name: "gpu-0"}, Selectors: []string{"g"}}}
	other := []model.NodeDevice{{DeviceRef: model.DeviceRef{Driver: "d", Name: "nic-0"}, Selectors: []string{"n"}}}
	says := []model.NodePool{{Devices: []model.DeviceTemplate{{Devices: device}}}}
	catalog := func(a model.Amounts) []model.Catalog {
		return []model.Catalog{{InstanceTypes: []model.InstanceType{{Name: "box", Capacity: a}}}}
	}
	for name, tc := range map[string]struct {
		s    model.Snapshot
		want bool
	}{
		"nothing has it":                    {model.Snapshot{Catalogs: catalog(nil), Nodes: []model.Node{{Name: "n"}}}, true},
		"a node has it":                     {model.Snapshot{Nodes: []model.Node{{Name: "m", Devices: device}, {Name: "n", Allocatable: has}}}, false},
		"a type has it":                     {model.Snapshot{Catalogs: catalog(has)}, false},
		"an overlay gives it":               {model.Snapshot{NodeOverlays: []model.NodeOverlay{{Capacity: has}}}, false},
		"a type, and a driver publishes":    {model.Snapshot{Catalogs: catalog(has), Nodes: []model.Node{{Name: "n", Devices: device}}}, true},
		"a type, and an owner says":         {model.Snapshot{Catalogs: catalog(has), NodePools: says}, true},
		"a type, and there are others":      {model.Snapshot{Catalogs: catalog(has), Nodes: []model.Node{{Name: "n", Devices: other}}}, false},
		"a node with it, and an owner says": {model.Snapshot{Nodes: []model.Node{{Name: "n", Allocatable: has}}, NodePools: says}, false},
	} {
		t.Run(name, func(t *testing.T) {
			plain := model.PodClass{ID: "b", Requests: model.Amounts{{Resource: "cpu", Value: 1}}}
			tc.s.PodClasses = []model.PodClass{plain, asking()}
			got := extended.Resolve(&tc.s)
			if !tc.want {
				if got != &tc.s {
					t.Error("the snapshot is another one, and the resource is one")
				}
				return
			}
			want := asking()
			want.Requests, want.ExtendedRequests = want.Requests[:1], []model.ExtendedRequest{}
			want.DeviceClaims = append(want.DeviceClaims, model.DeviceClaim{Requests: []model.DeviceRequest{{
				Name: string(gpu), Options: []model.DeviceOption{{DeviceClass: "gpus", Selector: "g", Count: 2}},
			}}})
			if diff := cmp.Diff([]model.PodClass{plain, want}, got.PodClasses); diff != "" {
				t.Errorf("classes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(asking(), tc.s.PodClasses[1]); diff != "" {
				t.Errorf("the snapshot itself was changed:\n%s", diff)
			}
			if extended.Resolve(got) != got {
				t.Error("what is resolved is resolved again")
			}
		})
	}
}

func TestResourcesThatAreNoDevicesStay(t *testing.T) {
	c := asking()
	c.ExtendedRequests = append(c.ExtendedRequests, model.ExtendedRequest{Resource: nic, Devices: model.DeviceOption{DeviceClass: "nics", Selector: "n", Count: 1}})
	c.Requests = append(c.Requests, model.Amount{Resource: nic, Value: 1})
	s := model.Snapshot{PodClasses: []model.PodClass{c}, Nodes: []model.Node{{Name: "n", Allocatable: model.Amounts{{Resource: nic, Value: 4}}}}}
	got := extended.Resolve(&s).PodClasses[0]
	if len(got.DeviceClaims) != 2 || len(got.DeviceClaims[1].Requests) != 1 {
		t.Errorf("claims %v: want that of the GPUs beside the pod's own", got.DeviceClaims)
	}
	if got.Requests.Value(nic) != 1 || got.Requests.Value(gpu) != 0 {
		t.Errorf("requests %v: want the card, and no GPU", got.Requests)
	}
	if extended.LeftOut(&got, gpu) != "" || extended.LeftOut(&got, nic) == "" {
		t.Errorf("left out are %q of the GPUs, and %q of the card", extended.LeftOut(&got, gpu), extended.LeftOut(&got, nic))
	}
}
