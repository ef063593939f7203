package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
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

func exactly(count int64, edits ...func(*resourcev1.ExactDeviceRequest)) resourcev1.DeviceRequest {
	e := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
	for _, edit := range edits {
		edit(e)
	}
	return resourcev1.DeviceRequest{Name: "r", Exactly: e}
}

func template1(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{ObjectMeta: meta("gpu"), Spec: resourcev1.ResourceClaimTemplateSpec{
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}},
	}}
}

func claims(p *corev1.Pod) {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
}

func TestWhatIsClaimed(t *testing.T) {
	shared := func(edits ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: meta("one"), Spec: template1(exactly(1)).Spec.Spec}
		for _, edit := range edits {
			edit(c)
		}
		return c
	}
	byName := func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("one")}}
	}
	used := []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "x"}}
	on := func(t ...corev1.NodeSelectorTerm) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: t}
	}
	byField := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expr("metadata.name", corev1.NodeSelectorOpIn, "n1")}}
	byLabel := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expr(zone, corev1.NodeSelectorOpIn, "a")}}
	allocated := func(s *corev1.NodeSelector, by []resourcev1.ResourceClaimConsumerReference) func(*resourcev1.ResourceClaim) {
		return func(c *resourcev1.ResourceClaim) {
			c.Status.Allocation, c.Status.ReservedFor = &resourcev1.AllocationResult{NodeSelector: s}, by
		}
	}
	one := []*clusterpb.DeviceRequest{{Name: "r", Options: []*clusterpb.DeviceOption{{DeviceClass: "gpu", Count: new(int32(1))}}}}
	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		refs []runtime.Object
		want []*clusterpb.DeviceClaim
	}{
		"from a template": {claims, []runtime.Object{template1(exactly(1))}, []*clusterpb.DeviceClaim{{Requests: one}}},
		"all of them": {
			claims,
			[]runtime.Object{template1(exactly(0, func(e *resourcev1.ExactDeviceRequest) { e.AllocationMode = resourcev1.DeviceAllocationModeAll }))},
			[]*clusterpb.DeviceClaim{{Requests: []*clusterpb.DeviceRequest{{Name: "r", Options: []*clusterpb.DeviceOption{{DeviceClass: "gpu"}}}}}},
		},
		"alternatives, and what must be equal": {
			claims,
			[]runtime.Object{func() runtime.Object {
				c := template1(resourcev1.DeviceRequest{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{
					{Name: "a", DeviceClassName: "gpu", Count: 2}, {Name: "b", DeviceClassName: "gpu"},
				}})
				c.Spec.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{Requests: []string{"r/b", "r/a"}, MatchAttribute: new(resourcev1.FullyQualifiedName(driver + "/numa"))}}
				return c
			}()},
			[]*clusterpb.DeviceClaim{{
				Requests: []*clusterpb.DeviceRequest{{Name: "r", Options: []*clusterpb.DeviceOption{
					{Name: "a", DeviceClass: "gpu", Count: new(int32(2))}, {Name: "b", DeviceClass: "gpu", Count: new(int32(1))},
				}}},
				Constraints: []*clusterpb.DeviceConstraint{{Requests: []*clusterpb.DeviceRequestRef{{Request: "r", Option: "a"}, {Request: "r", Option: "b"}}, Attribute: driver + "/numa"}},
			}},
		},
		"a claim of one's own that is allocated is one's own still": {
			func(p *corev1.Pod) {
				claims(p)
				p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("one")}}
			},
			[]runtime.Object{shared(allocated(on(byField), used))},
			[]*clusterpb.DeviceClaim{{Requests: one}},
		},
		"nothing had to be claimed": {
			func(p *corev1.Pod) {
				claims(p)
				p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}}
			}, nil, nil,
		},
		"a shared one":                          {byName, []runtime.Object{shared()}, []*clusterpb.DeviceClaim{{Name: "shop/one", Requests: one}}},
		"a shared one that no pod uses now":     {byName, []runtime.Object{shared(allocated(on(byField), nil))}, []*clusterpb.DeviceClaim{{Name: "shop/one", Requests: one}}},
		"a shared one that is on a node":        {byName, []runtime.Object{shared(allocated(on(byField), used))}, []*clusterpb.DeviceClaim{{Name: "shop/one", Requests: one, Allocated: true, Node: "n1"}}},
		"a shared one that is reached anywhere": {byName, []runtime.Object{shared(allocated(nil, used))}, []*clusterpb.DeviceClaim{{Name: "shop/one", Requests: one, Allocated: true}}},
		"a shared one that is reached from a zone": {
			byName,
			[]runtime.Object{shared(allocated(on(byLabel), used))},
			[]*clusterpb.DeviceClaim{{Name: "shop/one", Requests: one, Allocated: true, Terms: []*clusterpb.NodeAffinityTerm{{Requirements: []*clusterpb.Requirement{req(zone, opIn, "a")}}}}},
		},
		"a resource that stands for a class": {
			func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, container("deviceclass.resource.kubernetes.io/gpu", "2"))
			}, nil,
			[]*clusterpb.DeviceClaim{{Requests: []*clusterpb.DeviceRequest{{Name: "container", Options: []*clusterpb.DeviceOption{{DeviceClass: "gpu", Count: new(int32(2))}}}}}},
		},
		"a daemon that only watches": {
			func(p *corev1.Pod) {
				claims(p)
				ownedBy("DaemonSet", "monitor")(p)
			},
			[]runtime.Object{template1(exactly(1, func(e *resourcev1.ExactDeviceRequest) { e.AdminAccess = new(true) }))},
			[]*clusterpb.DeviceClaim{{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, class := convertPod(t, pod(tc.edit), append(tc.refs, gpuClass())...)
			got := class.GetDeviceClaims()
			if diff := cmp.Diff(tc.want, got, protocmp.Transform(), protocmp.IgnoreFields(&clusterpb.DeviceOption{}, "selector")); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if class.GetUnsupported() != "" || len(class.GetRequests()) != 2 {
				t.Errorf("unsupported %q, requests %v", class.GetUnsupported(), class.GetRequests())
			}
		})
	}
}

func TestAResourceThatAClassStandsForIsToldBesideIt(t *testing.T) {
	gpus := gpuClass()
	gpus.Spec.ExtendedResourceName = new("example.com/gpu")
	_, class := convertPod(t, pod(func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, container("example.com/gpu", "2"), container("example.com/other", "1"))
	}), gpus)
	want := []*clusterpb.ExtendedRequest{{Resource: "example.com/gpu", Devices: &clusterpb.DeviceOption{DeviceClass: "gpu", Count: new(int32(2))}}}
	got := class.GetExtendedRequests()
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(&clusterpb.DeviceOption{}, "selector")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if n := len(class.GetRequests()); n != 4 || len(class.GetDeviceClaims()) > 0 {
		t.Errorf("%d requests and claims %v; want what the pod asks for, and no claim", n, class.GetDeviceClaims())
	}
}

func TestWhatIsNotPlannedForIsNamed(t *testing.T) {
	change := func(edit func(*resourcev1.ExactDeviceRequest)) runtime.Object { return template1(exactly(1, edit)) }
	for name, tc := range map[string]struct {
		ref  runtime.Object
		want string
	}{
		"no template":  {gpuClaimNamed("other"), "resource claim template gpu is not there"},
		"no class":     {change(func(e *resourcev1.ExactDeviceRequest) { e.DeviceClassName = "x" }), "devices.requests[0].exactly.deviceClassName: there is no DeviceClass x"},
		"admin access": {change(func(e *resourcev1.ExactDeviceRequest) { e.AdminAccess = new(true) }), "devices.requests[0].exactly.adminAccess: not planned for"},
		"taints": {change(func(e *resourcev1.ExactDeviceRequest) {
			e.Tolerations = []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpExists}}
		}), "devices.requests[0].exactly.tolerations: not planned for"},
		"capacity": {change(func(e *resourcev1.ExactDeviceRequest) {
			e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": {}}}
		}), "devices.requests[0].exactly.capacity: not planned for"},
		"too many": {template1(exactly(33)), "devices.requests[0].exactly.count: 33; a claim can be given 1 to 32 devices"},
		"an alternative": {
			template1(resourcev1.DeviceRequest{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a", DeviceClassName: "gpu"}, {Name: "b", DeviceClassName: "x"}}}),
			"devices.requests[0].firstAvailable[1].deviceClassName: there is no DeviceClass x",
		},
		"neither form": {template1(resourcev1.DeviceRequest{Name: "r"}), "devices.requests[0]: has neither exactly nor firstAvailable"},
		"distinct values": {func() runtime.Object {
			c := template1(exactly(2))
			c.Spec.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: new(resourcev1.FullyQualifiedName("a/b"))}}
			return c
		}(), "devices.constraints[0]: distinctAttribute: not planned for; want matchAttribute"},
	} {
		t.Run(name, func(t *testing.T) {
			_, class := convertPod(t, pod(claims), tc.ref, gpuClass())
			if want := "spec.resourceClaims[0]: " + tc.want; class.GetUnsupported() != want {
				t.Errorf("unsupported %q, want %q", class.GetUnsupported(), want)
			}
		})
	}
}

func gpuClaimNamed(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: meta(name), Spec: template1(exactly(1)).Spec.Spec}
}

func TestAPoolsOwnerSaysWhichDevicesNewNodesHave(t *testing.T) {
	const text = `
- instanceTypes: [g5.xlarge]
  driver: gpu.example.com
  devices:
  - name: gpu-0
    attributes: {model: {string: a10g}}
- driver: nic.example.com
  devices: [{name: eth, attributes: {speed: {int: 100}}}]
`
	convertPool := func(t *testing.T, text string) *clusterpb.NodePool {
		t.Helper()
		pool := validPool(&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
		pool.Annotations = map[string]string{"kerf.dev/devices": text}
		c := cluster(t, pool, gpuClass(), template1(exactly(1)))
		events, err := c.Events(start())
		if err != nil {
			t.Fatal(err)
		}
		return wire.Whole(snapshot.Fold(snapshot.Snapshot{}, events), wire.Header{}).GetNodePools()[0]
	}
	got := convertPool(t, text).GetDevices()
	want := []*clusterpb.DeviceTemplate{
		{Devices: []*clusterpb.NodeDevice{{Driver: "nic.example.com", Name: "eth"}}},
		{InstanceTypes: []string{"g5.xlarge"}, Devices: []*clusterpb.NodeDevice{{Driver: driver, Name: "gpu-0"}}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(&clusterpb.NodeDevice{}, "selectors")); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
	if len(got) == 2 && (len(got[0].GetDevices()[0].GetSelectors()) != 0 || len(got[1].GetDevices()[0].GetSelectors()) != 1) {
		t.Errorf("templates %v: want the GPU to match its class, and the network card nothing", got)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"no list":    {"driver: x", "metadata.annotations[kerf.dev/devices]: want a list of"},
		"a typo":     {"- driver: x\n  device: []", `unknown field "device"`},
		"no driver":  {"- devices: [{name: a}]", "driver: is missing"},
		"no devices": {"- driver: x", `entry for driver "x": devices: there are none`},
		"no name":    {"- driver: x\n  devices: [{}]", "devices[0].name: is missing"},
		"twice":      {"- driver: x\n  devices: [{name: a}, {name: a}]", "device a of driver x is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			reason := convertPool(t, tc.text).GetNotReady()
			if !strings.Contains(reason.GetMessage(), tc.want) || !strings.Contains(reason.GetMessage(), "kerf.dev/devices") {
				t.Errorf("the pool says %q, want %q", reason.GetMessage(), tc.want)
			}
		})
	}
}
