package device

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	clusterpb "github.com/kerf-dev/kerf/proto/gen/kerf/cluster/v1alpha1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// ClassOf is the class that an extended resource stands for; nil for none. Of several the newest does, of those the
// first by name, as for the scheduler.
func ClassOf(classes []*resourcev1.DeviceClass, resource string) (best *resourcev1.DeviceClass) {
	for _, c := range classes {
		if c.Spec.ExtendedResourceName == nil || *c.Spec.ExtendedResourceName != resource {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&c.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&c.CreationTimestamp) && c.Name < best.Name {
			best = c
		}
	}
	return best
}

// Extended are the devices that the scheduler claims for a pod in the place of extended resources, on a node that has none
// of these itself: a request for each container that asks for one, in the order of their names. What no claim can ask for
// stays a resource alone.
func Extended(p *corev1.Pod, classOf func(resource string) *resourcev1.DeviceClass) []*clusterpb.ExtendedRequest {
	containers := slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
	asked := map[corev1.ResourceName]bool{}
	for _, c := range containers {
		for name := range c.Resources.Requests {
			if reader.IsExtended(name) {
				asked[name] = true
			}
		}
	}
	byName := map[string]*clusterpb.ExtendedRequest{}
	for name := range asked {
		if class := classOf(string(name)); class != nil {
			maps.Copy(byName, extendedBy(containers, len(p.Spec.InitContainers), name, class))
		}
	}
	var out []*clusterpb.ExtendedRequest
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}

// extendedBy are the requests for one resource, by the scheduler's names for them. Init containers have ended when others
// begin that come later, and use their devices before; for what is missing there is one more request, the largest.
func extendedBy(containers []corev1.Container, inits int, name corev1.ResourceName, class *resourcev1.DeviceClass) map[string]*clusterpb.ExtendedRequest {
	counts := make([]int64, len(containers))
	later, largest := int64(0), -1
	for i := len(containers) - 1; i >= 0; i-- {
		c := &containers[i]
		n := c.Resources.Requests[name]
		switch {
		case i >= inits || c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways:
			counts[i] = n.Value()
			later += counts[i]
		case n.Value() > later && (largest < 0 || n.Value()-later >= counts[largest]):
			if largest >= 0 {
				counts[largest] = 0
			}
			counts[i], largest = n.Value()-later, i
		}
	}
	out := map[string]*clusterpb.ExtendedRequest{}
	for i, n := range counts {
		if n <= 0 {
			continue
		}
		o, bad := option(resourcev1.DeviceSubRequest{
			DeviceClassName: class.Name, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n,
		}, func(string) *resourcev1.DeviceClass { return class })
		if bad != "" {
			return nil
		}
		place := slices.Index(reader.SortedSet(resourceNames(containers[i].Resources.Requests)), string(name))
		out[fmt.Sprintf("container-%d-request-%d", i, place)] = &clusterpb.ExtendedRequest{Resource: string(name), Devices: o}
	}
	return out
}

func resourceNames(list corev1.ResourceList) (out []string) {
	for name := range list {
		out = append(out, string(name))
	}
	return out
}
