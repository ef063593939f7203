package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/watcher/convert/device"
)

// devices reads what the pod claims of dynamic resource allocation.
func (b *classBuilder) devices() {
	for i, rc := range b.pod.Spec.ResourceClaims {
		c, bad := b.deviceClaim(rc)
		if bad != "" {
			b.refuse(fmt.Sprintf("spec.resourceClaims[%d]: %s", i, bad))
			continue
		}
		if c != nil {
			b.class.DeviceClaims = append(b.class.DeviceClaims, c)
		}
	}
	b.class.DeviceClaims = append(b.class.DeviceClaims, b.implied...)
	b.class.ExtendedRequests = device.Extended(b.pod, b.refs.ExtendedClass)
}

// impliedDevices takes out of a pod's requests the resources that stand for devices of a class, and claims the devices
// instead: so does the scheduler, for resources that are called after the class. One that a class says it stands in for
// (spec.extendedResourceName) stays among them, as device plugins may serve it, and is told beside.
func (b *classBuilder) impliedDevices(list corev1.ResourceList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		class, ok := strings.CutPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)
		if !ok {
			continue
		}
		q := list[name]
		delete(list, name)
		count := q.Value()
		if count <= 0 {
			continue
		}
		exact := resourcev1.ExactDeviceRequest{
			DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
		}
		spec := resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "container", Exactly: &exact}}}
		c, bad := device.Claim(spec, b.refs.DeviceClass)
		if bad != "" {
			b.refuse(fmt.Sprintf("spec.containers: the request for %s: %s", name, bad))
			continue
		}
		b.implied = append(b.implied, c)
	}
}

// deviceClaim reads one claim of the pod; nil where the pod needs none after all.
func (b *classBuilder) deviceClaim(rc corev1.PodResourceClaim) (*clusterpb.DeviceClaim, string) {
	name, own, made := device.ClaimName(b.pod, rc)
	if made && name == "" {
		return nil, "" // the controller that makes claims from templates found nothing to claim
	}
	claim := b.refs.ResourceClaim(b.pod.Namespace, name)
	switch {
	case own && claim == nil:
		t := b.refs.ResourceClaimTemplate(b.pod.Namespace, *rc.ResourceClaimTemplateName)
		if t == nil {
			return nil, fmt.Sprintf("resource claim template %s is not there", *rc.ResourceClaimTemplateName)
		}
		return b.claimed(t.Spec.Spec.Devices)
	case own:
		// Where it is allocated, it is so for this pod alone, and is released when the pod goes; so that is not a part
		// of what the pod asks for.
		return b.claimed(claim.Spec.Devices)
	case name == "":
		return nil, "names neither a claim nor a template"
	case claim == nil:
		return nil, fmt.Sprintf("resource claim %s is not there", name)
	case claim.DeletionTimestamp != nil:
		return nil, fmt.Sprintf("resource claim %s is being deleted", name)
	}
	return device.SharedClaim(claim, b.refs.DeviceClass)
}

// claimed reads a claim that the pod has for itself. DaemonSet pods that monitor all devices of their node take none
// away, and run on a node without any as well, so such requests are left out of them.
func (b *classBuilder) claimed(d resourcev1.DeviceClaim) (*clusterpb.DeviceClaim, string) {
	if b.class.GetDaemon() {
		d.Requests = slices.DeleteFunc(slices.Clone(d.Requests), func(q resourcev1.DeviceRequest) bool {
			return q.Exactly != nil && q.Exactly.AdminAccess != nil && *q.Exactly.AdminAccess
		})
	}
	return device.Claim(d, b.refs.DeviceClass)
}
