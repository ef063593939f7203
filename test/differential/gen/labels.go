package gen

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// NodeLabels are those that a pool's node gets, less its host name and the labels that the pool leaves open: what the
// actuator sets, what the cloud provider and the kubelet add, and what the EBS driver adds.
func NodeLabels(pool *model.NodePool, typeLabels model.Labels, zone string, ct model.CapacityType) model.Labels {
	return Over(Over(pool.Labels, typeLabels), model.Labels{
		{Key: labels.Zone, Value: zone},
		{Key: keyEBSZone, Value: zone},
		{Key: labels.Region, Value: zone[:len(zone)-1]},
		{Key: labels.CapacityType, Value: ct.String()},
		{Key: labels.NodePool, Value: string(pool.Name)},
		{Key: labels.NodeClass, Value: string(pool.NodeClass)},
		{Key: labels.Registered, Value: "true"},
		{Key: labels.Initialized, Value: "true"},
	})
}

// With is the labels with one more, or with another value; sorted. The labels given are not changed.
func With(ls model.Labels, key, value string) model.Labels {
	return Over(ls, model.Labels{{Key: key, Value: value}})
}

// Over is the labels with some more, which win; sorted. The labels given are not changed.
func Over(ls, more model.Labels) model.Labels {
	out := make(model.Labels, 0, len(ls)+len(more))
	for _, l := range ls {
		if _, wins := more.Get(l.Key); !wins {
			out = append(out, l)
		}
	}
	out = append(out, more...)
	slices.SortFunc(out, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
