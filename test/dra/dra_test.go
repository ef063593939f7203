package dra

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	plannerpb "github.com/kerf-dev/kerf/proto/gen/kerf/planner/v1alpha1"
	planner "github.com/kerf-dev/kerf/services/core/convert"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/devices"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/snapshot"
	"github.com/kerf-dev/kerf/services/watcher/wire"
)

const (
	worlds = 400
	node   = "n1"
	gpu    = "gpu.example.com"
	nic    = "nic.example.com"
)

// TestPodsGetTheSchedulersDevices lets pods claim devices of one node, in random worlds, one after the other.
func TestPodsGetTheSchedulersDevices(t *testing.T) {
	served, refused := 0, 0
	for seed := range uint64(worlds) {
		w := newWorld(rand.New(rand.NewPCG(seed, 7)))
		ours, classes := w.ours(t)
		for i, claims := range w.pods {
			mark := ours.Mark()
			got, want := ours.Take(classes[i].DeviceClaims), w.theirs(t, claims)
			if got != (want != nil) {
				t.Fatalf("seed %d, pod %d: taken %t, and the scheduler gives %v\n%s", seed, i, got, want, w.text(i))
			}
			if diff := cmp.Diff(want, ours.Taken(mark)); got && diff != "" {
				t.Fatalf("seed %d, pod %d: devices (-scheduler +planner):\n%s\n%s", seed, i, diff, w.text(i))
			}
			if got {
				served++
			} else {
				refused++
			}
		}
	}
	if served < worlds/3 || refused < worlds/3 {
		t.Errorf("%d pods were served and %d refused: the worlds ask too much or too little", served, refused)
	}
}

// world is a node's devices and the claims of pods.
type world struct {
	slices  []*resourcev1.ResourceSlice
	classes []*resourcev1.DeviceClass
	pods    [][]*resourcev1.ResourceClaim
	taken   sets.Set[structured.DeviceID]
	cache   *cel.Cache
}

func newWorld(r *rand.Rand) *world {
	w := &world{
		taken: sets.New[structured.DeviceID](),
		cache: cel.NewCache(100, cel.Features{EnableConsumableCapacity: true}),
		classes: []*resourcev1.DeviceClass{
			class(gpu, `device.driver == "gpu.example.com"`), class(nic, `device.driver == "nic.example.com"`), class("any"),
		},
	}
	for i, driver := range []string{gpu, gpu, nic}[:1+r.IntN(3)] {
		w.slices = append(w.slices, slicesOf(r, driver, fmt.Sprintf("pool-%d", (i*7)%3))...)
	}
	for range 1 + r.IntN(5) {
		var claims []*resourcev1.ResourceClaim
		for i := range 1 + r.IntN(2) {
			claims = append(claims, &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d-c%d", len(w.pods), i)},
				Spec:       resourcev1.ResourceClaimSpec{Devices: claim(r)},
			})
		}
		w.pods = append(w.pods, claims)
	}
	return w
}

func class(name string, exprs ...string) *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{Selectors: selectors(exprs...)}}
}

func selectors(exprs ...string) []resourcev1.DeviceSelector {
	var out []resourcev1.DeviceSelector
	for _, e := range exprs {
		out = append(out, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return out
}

// slicesOf is a pool of a driver's devices, in one slice or two, sometimes with a slice missing or of an older generation.
func slicesOf(r *rand.Rand, driver, pool string) []*resourcev1.ResourceSlice {
	n := 1 + r.IntN(2)
	var out []*resourcev1.ResourceSlice
	for i := range n {
		s := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%d", driver, pool, n-i)},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: driver, NodeName: new(node), Pool: resourcev1.ResourcePool{Name: pool, Generation: 2, ResourceSliceCount: int64(n)},
			},
		}
		if r.IntN(12) == 0 {
			s.Spec.Pool.ResourceSliceCount++
		}
		if r.IntN(12) == 0 {
			s.Spec.Pool.Generation--
		}
		for j := range r.IntN(5) {
			s.Spec.Devices = append(s.Spec.Devices, device(r, fmt.Sprintf("dev-%d-%d", i, j)))
		}
		out = append(out, s)
	}
	return out
}

func device(r *rand.Rand, name string) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"numa": {IntValue: new(int64(r.IntN(2)))}, "model": {StringValue: new([]string{"x", "y"}[r.IntN(2)])},
		"common.example.com/root": {StringValue: new(fmt.Sprintf("r%d", r.IntN(3)))},
	}}
	switch r.IntN(10) {
	case 0:
		d.Taints = []resourcev1.DeviceTaint{{Key: "unhealthy", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	case 1:
		d.Taints = []resourcev1.DeviceTaint{{Key: "odd", Effect: resourcev1.DeviceTaintEffectNone}}
	case 2:
		delete(d.Attributes, "numa")
	case 3:
		d.BindingConditions, d.BindingFailureConditions = []string{"ready"}, []string{"failed"}
	}
	return d
}

func claim(r *rand.Rand) resourcev1.DeviceClaim {
	var out resourcev1.DeviceClaim
	for i := range 1 + r.IntN(2) {
		q := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		if r.IntN(3) > 0 {
			s := subRequest(r, "")
			q.Exactly = &resourcev1.ExactDeviceRequest{
				DeviceClassName: s.DeviceClassName, Selectors: s.Selectors, AllocationMode: s.AllocationMode, Count: s.Count,
			}
		} else {
			q.FirstAvailable = []resourcev1.DeviceSubRequest{subRequest(r, "one"), subRequest(r, "two")}
		}
		out.Requests = append(out.Requests, q)
	}
	for range r.IntN(2) {
		name := resourcev1.FullyQualifiedName([]string{gpu + "/numa", "common.example.com/root"}[r.IntN(2)])
		c := resourcev1.DeviceConstraint{MatchAttribute: &name}
		switch r.IntN(3) {
		case 0:
			c.Requests = []string{"r0"}
		case 1:
			if len(out.Requests[0].FirstAvailable) > 0 {
				c.Requests = []string{"r0/one"}
			}
		}
		out.Constraints = append(out.Constraints, c)
	}
	return out
}

func subRequest(r *rand.Rand, name string) resourcev1.DeviceSubRequest {
	s := resourcev1.DeviceSubRequest{
		Name: name, DeviceClassName: []string{gpu, gpu, nic, "any"}[r.IntN(4)],
		AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + r.IntN(3)),
	}
	if r.IntN(6) == 0 {
		s.AllocationMode, s.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	switch r.IntN(4) {
	case 0:
		s.Selectors = selectors(fmt.Sprintf(`device.attributes[%q].?model.orValue("") == "x"`, []string{gpu, nic}[r.IntN(2)]))
	case 1:
		s.Selectors = selectors(`device.attributes["common.example.com"].root != "r0"`)
	}
	return s
}

// ours are the node's devices and the pods' classes as the planner has them, all the way from Kubernetes objects.
func (w *world) ours(t *testing.T) (*devices.Stock, []*model.PodClass) {
	t.Helper()
	var c manifests.Cluster
	add := func(o runtime.Object) {
		if err := c.Add(o, nil); err != nil {
			t.Fatal(err)
		}
	}
	add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	for _, s := range w.slices {
		add(s)
	}
	for _, d := range w.classes {
		add(d)
	}
	for i, claims := range w.pods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		for _, x := range claims {
			add(&resourcev1.ResourceClaimTemplate{
				ObjectMeta: x.ObjectMeta, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: x.Spec},
			})
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: x.Name, ResourceClaimTemplateName: &x.Name})
		}
		add(p)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	events, err := c.Events(now)
	if err != nil {
		t.Fatal(err)
	}
	whole := wire.Whole(snapshot.Fold(snapshot.Snapshot{}, events), wire.Header{})
	in, err := planner.Input(whole, &plannerpb.Decide{Now: timestamppb.New(now), Kinds: []plannerpb.DecisionKind{plannerpb.DecisionKind_DECISION_KIND_PROVISION}})
	if err != nil {
		t.Fatal(err)
	}
	classes := make([]*model.PodClass, len(w.pods))
	for _, p := range in.Snapshot.Pods {
		var i int
		if _, err := fmt.Sscanf(string(p.ID), "default/p%d", &i); err != nil {
			t.Fatal(err)
		}
		at, _ := slices.BinarySearchFunc(in.Snapshot.PodClasses, p.Class, func(c model.PodClass, id model.ClassID) int {
			return cmpIDs(c.ID, id)
		})
		classes[i] = &in.Snapshot.PodClasses[at]
		if len(classes[i].DeviceClaims) != len(w.pods[i]) {
			t.Fatal(classes[i].Unsupported)
		}
	}
	return devices.NewStock(in.Snapshot.Nodes[0].Devices, nil), classes
}

func cmpIDs(a, b model.ClassID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// theirs is what the scheduler's allocator gives a pod; nil where it gives nothing.
func (w *world) theirs(t *testing.T, claims []*resourcev1.ResourceClaim) []model.DeviceRef {
	t.Helper()
	features := structured.Features{
		AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true,
		PartitionableDevices: true, PrioritizedList: true,
	}
	state := structured.AllocatedState{AllocatedDevices: w.taken}
	a, err := structured.NewAllocator(t.Context(), features, state, w, w.slices, w.cache)
	if err != nil {
		t.Fatal(err)
	}
	results, err := a.Allocate(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, claims)
	if err != nil || results == nil {
		return nil
	}
	out := []model.DeviceRef{}
	for _, r := range results {
		for _, d := range r.Devices.Results {
			out = append(out, model.DeviceRef{Driver: d.Driver, Pool: d.Pool, Name: d.Device})
			w.taken.Insert(structured.MakeDeviceID(d.Driver, d.Pool, d.Device))
		}
	}
	return out
}

// List implements structured.DeviceClassLister.
func (w *world) List() ([]*resourcev1.DeviceClass, error) { return w.classes, nil }

// Get implements structured.DeviceClassLister.
func (w *world) Get(name string) (*resourcev1.DeviceClass, error) {
	for _, c := range w.classes {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "deviceclasses"}, name)
}

// text is a pod's claims and the devices, for a failure's message.
func (w *world) text(pod int) string {
	out := ""
	for _, c := range w.pods[pod] {
		out += fmt.Sprintf("claim %s: %v\n", c.Name, c.Spec.Devices)
	}
	for _, s := range w.slices {
		out += fmt.Sprintf("slice %s: %v\n", s.Name, s.Spec)
	}
	return out
}
