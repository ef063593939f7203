package lists

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
)

// CheckSorted makes sure that labels and amounts can be looked up.
func CheckSorted(s *model.Snapshot) error {
	var errs []error
	labels := func(ls model.Labels, object string) {
		if !slices.IsSortedFunc(ls, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) }) {
			errs = append(errs, fmt.Errorf("%s: labels: not sorted by key", object))
		}
	}
	amounts := func(as model.Amounts, object, field string) {
		if !slices.IsSortedFunc(as, func(a, b model.Amount) int { return cmp.Compare(a.Resource, b.Resource) }) {
			errs = append(errs, fmt.Errorf("%s: %s: not sorted by resource", object, field))
		}
	}
	for i := range s.PodClasses {
		c := &s.PodClasses[i]
		labels(c.Labels, "pod class "+string(c.ID))
		amounts(c.Requests, "pod class "+string(c.ID), "requests")
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		labels(n.Labels, "node "+string(n.Name))
		amounts(n.Allocatable, "node "+string(n.Name), "allocatable")
		amounts(n.VolumeLimits, "node "+string(n.Name), "volume_limits")
	}
	for i := range s.NodePools {
		labels(s.NodePools[i].Labels, "node pool "+string(s.NodePools[i].Name))
	}
	for i := range s.Claims {
		labels(s.Claims[i].Labels, "claim "+string(s.Claims[i].ID))
	}
	for i := range s.Catalogs {
		for j := range s.Catalogs[i].InstanceTypes {
			t := &s.Catalogs[i].InstanceTypes[j]
			labels(t.Labels, "instance type "+string(t.Name))
		}
	}
	for i := range s.Namespaces {
		labels(s.Namespaces[i].Labels, "namespace "+s.Namespaces[i].Name)
	}
	return errors.Join(errs...)
}
