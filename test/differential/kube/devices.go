package kube

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/test/differential/gen"
)

// published is what a driver publishes for a node; nil where that is nothing.
func published(node string, list []model.NodeDevice) *resourceapi.ResourceSlice {
	if len(list) == 0 {
		return nil
	}
	out := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
	out.Spec = resourceapi.ResourceSliceSpec{
		Driver: gen.DeviceDriver, Pool: resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}, NodeName: &node,
	}
	for _, d := range list {
		x := resourceapi.Device{Name: d.Name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"big": {BoolValue: new(slices.Contains(d.Selectors, gen.BigDevice))},
		}}
		for _, a := range d.Attributes {
			number, _ := strconv.ParseInt(strings.TrimPrefix(a.Value, "int:"), 10, 64) // the generator knows no other type
			_, name, _ := strings.Cut(a.Key, "/")
			x.Attributes[resourceapi.QualifiedName(name)] = resourceapi.DeviceAttribute{IntValue: &number}
		}
		out.Spec.Devices = append(out.Spec.Devices, x)
	}
	return out
}

// deviceClasses are the selectors of the generator.
func deviceClasses() []any {
	class := func(name, expression string) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{
			Selectors:            []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}},
			ExtendedResourceName: new(string(gen.Backing(name))),
		}}
	}
	return []any{
		class(gen.AnyDevice, `device.driver == "`+gen.DeviceDriver+`"`),
		class(gen.BigDevice, `device.attributes["`+gen.DeviceDriver+`"].big`),
	}
}

// deviceClaimName is the i-th of a pod's claims.
func deviceClaimName(pod string, i int) string { return pod + "-devices-" + strconv.Itoa(i) }

// deviceClaims makes the claims of a pod: where it runs, with the devices that it was given.
func (o *Objects) deviceClaims(p *model.Pod, c *model.PodClass) {
	namespace, name, _ := strings.Cut(string(p.ID), "/")
	given := p.Devices
	for i, x := range c.DeviceClaims {
		claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deviceClaimName(name, i)}}
		claim.UID = types.UID(namespace + "/" + claim.Name)
		for _, r := range x.Requests {
			claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, deviceRequest(r))
		}
		for _, k := range x.Constraints {
			claim.Spec.Devices.Constraints = append(claim.Spec.Devices.Constraints, resourceapi.DeviceConstraint{
				Requests: k.Requests, MatchAttribute: new(resourceapi.FullyQualifiedName(k.Attribute)),
			})
		}
		if p.Node != "" {
			claim.Status.Allocation = &resourceapi.AllocationResult{NodeSelector: onNode(string(p.Node))}
			for _, d := range given {
				claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
					Request: x.Requests[0].Name, Driver: d.Driver, Pool: string(p.Node), Device: d.Name,
				})
			}
		}
		o.DeviceClaims[claim.UID] = claim
	}
}

func onNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
	}}}
}

func deviceRequest(r model.DeviceRequest) resourceapi.DeviceRequest {
	out := resourceapi.DeviceRequest{Name: r.Name}
	mode := func(o model.DeviceOption) resourceapi.DeviceAllocationMode {
		if o.Count == 0 {
			return resourceapi.DeviceAllocationModeAll
		}
		return resourceapi.DeviceAllocationModeExactCount
	}
	if o := r.Options[0]; len(r.Options) == 1 {
		out.Exactly = &resourceapi.ExactDeviceRequest{DeviceClassName: o.Selector, AllocationMode: mode(o), Count: int64(o.Count)}
		return out
	}
	for _, o := range r.Options {
		out.FirstAvailable = append(out.FirstAvailable, resourceapi.DeviceSubRequest{
			Name: o.Name, DeviceClassName: o.Selector, AllocationMode: mode(o), Count: int64(o.Count),
		})
	}
	return out
}

// Fork is for one world: what its pods are given there is not given in another.
func (o *Objects) Fork() *Objects {
	out := *o
	out.DeviceClaims = maps.Clone(o.DeviceClaims)
	return &out
}

// Free takes the devices of a pod back, which is made again.
func (o *Objects) Free(pod *Pod) {
	delete(o.DeviceClaims, extendedClaim(pod))
	for _, x := range pod.Spec.ResourceClaims {
		uid := types.UID(pod.Namespace + "/" + *x.ResourceClaimName)
		claim := o.DeviceClaims[uid].DeepCopy()
		claim.Status.Allocation = nil
		o.DeviceClaims[uid] = claim
	}
}

// cached is a claim that the scheduler has, and the one that it was made from: a claim that changes is another object.
type cached struct{ claim, from *resourceapi.ResourceClaim }

// claimed hands the claims to the scheduler in the place of those that it knew. It goes by their versions.
func (s *Scheduler) claimed(all map[types.UID]*resourceapi.ResourceClaim) {
	for _, uid := range slices.Sorted(maps.Keys(s.claims)) {
		if s.claims[uid].from != all[uid] {
			assumecache.DeleteTestObject(s.claimCache, s.claims[uid].claim)
			delete(s.claims, uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(all)) {
		if s.claims[uid].from != nil {
			continue
		}
		s.version++
		c := all[uid].DeepCopy()
		c.ResourceVersion = strconv.Itoa(s.version)
		assumecache.AddTestObject(s.claimCache, c)
		s.claims[uid] = cached{claim: c, from: all[uid]}
	}
}

// allocate gives a pod the devices that the scheduler found for it when it was asked last; none where it found no way.
func (s *Scheduler) allocate(pod *Pod, node string) error {
	if len(pod.Spec.ResourceClaims) == 0 && !backed(pod) || s.asked != pod.UID || !slices.Contains(s.last.Nodes, node) {
		return nil
	}
	tracker := s.dra.ResourceClaims()
	before, err := tracker.ListAllAllocatedDevices()
	if err != nil {
		return fmt.Errorf("devices before %s: %w", pod.Name, err)
	}
	before = before.Clone()
	if status := s.framework.RunReservePluginsReserve(s.ctx, s.last.state, pod.Pod, node); !status.IsSuccess() {
		return fmt.Errorf("reserve %s on %s: %w", pod.Name, node, status.AsError())
	}
	for _, x := range pod.Spec.ResourceClaims {
		uid := types.UID(pod.Namespace + "/" + *x.ResourceClaimName)
		if allocation := tracker.GetPendingAllocation(uid); allocation != nil {
			claim := s.objects.DeviceClaims[uid].DeepCopy()
			claim.Status.Allocation = allocation.DeepCopy()
			s.objects.DeviceClaims[uid] = claim
		}
	}
	if backed(pod) {
		after, err := tracker.ListAllAllocatedDevices()
		if err != nil {
			return fmt.Errorf("devices of %s: %w", pod.Name, err)
		}
		s.keepExtended(pod, node, after.Difference(before))
	}
	// What was reserved is kept by objects, which belong to one world; the plugins' own memory would outlive it.
	s.framework.RunReservePluginsUnreserve(s.ctx, s.last.state, pod.Pod, node)
	s.claimed(s.objects.DeviceClaims)
	return nil
}

// backed says whether a pod asks for a resource that devices serve.
func backed(pod *Pod) bool {
	for _, c := range pod.Spec.Containers {
		for name := range c.Resources.Requests {
			if strings.HasPrefix(string(name), gen.DeviceDriver+"/") {
				return true
			}
		}
	}
	return false
}

func extendedClaim(pod *Pod) types.UID {
	return types.UID(pod.Namespace + "/" + pod.Name + "-extended-resources")
}

// keepExtended makes the claim that the scheduler makes itself for extended resources: of the devices that a pod was given,
// those that none of its own claims has.
func (s *Scheduler) keepExtended(pod *Pod, node string, given sets.Set[structured.DeviceID]) {
	own := make(map[string]bool)
	for _, x := range pod.Spec.ResourceClaims {
		for _, d := range s.objects.DeviceClaims[types.UID(pod.Namespace+"/"+*x.ResourceClaimName)].Status.Allocation.Devices.Results {
			own[d.Device] = true
		}
	}
	uid := extendedClaim(pod)
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name + "-extended-resources", UID: uid,
		Annotations:     map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}},
	}}
	claim.Status.Allocation = &resourceapi.AllocationResult{NodeSelector: onNode(node)}
	for _, d := range slices.SortedFunc(maps.Keys(given), func(a, b structured.DeviceID) int { return strings.Compare(a.String(), b.String()) }) {
		if !own[d.Device.String()] {
			claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
				Request: "container-0-request-0", Driver: d.Driver.String(), Pool: d.Pool.String(), Device: d.Device.String(),
			})
		}
	}
	s.objects.DeviceClaims[uid] = claim
}
