// Package extended says which extended resources are devices in a cluster.
//
// A DeviceClass may name an extended resource (spec.extendedResourceName): where a pod asks for that, kube-scheduler
// takes it from the node's allocatable, or, on nodes that have none of it there, claims devices of the class
// (dynamic resource allocation). It decides so node by node. Kerf decides so for a whole cluster: device plugins and
// drivers that serve one resource beside each other are a cluster in between, and are planned for by the resource.
//
// Resolve makes a snapshot one of which everybody else may think that there are resources and claims of devices, and
// nothing in between. Planner and verifier call it first, and know nothing more of it. Start reading at Resolve.
package extended

import (
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// Resolve is a snapshot in which pods claim devices in the place of the extended resources that are devices, and ask
// for the others. It is the snapshot itself where none are.
func Resolve(s *model.Snapshot) *model.Snapshot {
	selectors := make(map[model.Resource][]string)
	for i := range s.PodClasses {
		for _, q := range s.PodClasses[i].ExtendedRequests {
			selectors[q.Resource] = append(selectors[q.Resource], q.Devices.Selector)
		}
	}
	are := make(map[model.Resource]bool, len(selectors))
	some := false
	for r, list := range selectors {
		are[r] = devices(s, r, list)
		some = some || are[r]
	}
	if !some {
		return s
	}
	out := *s
	out.PodClasses = slices.Clone(s.PodClasses)
	for i := range out.PodClasses {
		resolve(&out.PodClasses[i], are)
	}
	return &out
}

// devices says whether a resource is devices, of which class's selectors tell: where no node has it, and where, if instance
// types have it, there is one that is a device.
func devices(s *model.Snapshot, r model.Resource, selectors []string) bool {
	if slices.ContainsFunc(s.Nodes, func(n model.Node) bool { return n.Allocatable.Value(r) > 0 }) {
		return false
	}
	return !sold(s, r) || published(s, selectors)
}

// sold says whether an instance type has a resource, or a node overlay gives it to one.
func sold(s *model.Snapshot, r model.Resource) bool {
	for i := range s.Catalogs {
		if slices.ContainsFunc(s.Catalogs[i].InstanceTypes, func(t model.InstanceType) bool { return t.Capacity.Value(r) > 0 }) {
			return true
		}
	}
	return slices.ContainsFunc(s.NodeOverlays, func(o model.NodeOverlay) bool { return o.Capacity.Value(r) > 0 })
}

// published says whether a device matches one of some selectors that a driver has published, or that a pool's owner
// says new nodes will have.
func published(s *model.Snapshot, selectors []string) bool {
	match := func(d model.NodeDevice) bool {
		return slices.ContainsFunc(selectors, func(x string) bool { return slices.Contains(d.Selectors, x) })
	}
	for i := range s.Nodes {
		if slices.ContainsFunc(s.Nodes[i].Devices, match) {
			return true
		}
	}
	for i := range s.NodePools {
		for _, t := range s.NodePools[i].Devices {
			if slices.ContainsFunc(t.Devices, match) {
				return true
			}
		}
	}
	return false
}

// resolve makes requests for what are devices a claim of each pod, the last of all, as the scheduler does. A request is
// called after its resource, which is what people have written.
func resolve(c *model.PodClass, are map[model.Resource]bool) {
	var claim model.DeviceClaim
	for _, q := range c.ExtendedRequests {
		if are[q.Resource] {
			claim.Requests = append(claim.Requests, model.DeviceRequest{Name: string(q.Resource), Options: []model.DeviceOption{q.Devices}})
		}
	}
	c.ExtendedRequests = slices.DeleteFunc(slices.Clone(c.ExtendedRequests), func(q model.ExtendedRequest) bool { return are[q.Resource] })
	if len(claim.Requests) == 0 {
		return
	}
	c.DeviceClaims = append(slices.Clone(c.DeviceClaims), claim)
	c.Requests = slices.DeleteFunc(slices.Clone(c.Requests), func(a model.Amount) bool { return are[a.Resource] })
}

// LeftOut says of a resource that pods of a class lack, and that is one, that devices stand for it; "" where none do.
func LeftOut(c *model.PodClass, r model.Resource) string {
	i := slices.IndexFunc(c.ExtendedRequests, func(q model.ExtendedRequest) bool { return q.Resource == r })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("; devices of class %s are not counted on while nodes or instance types have it themselves", c.ExtendedRequests[i].Devices.DeviceClass)
}
