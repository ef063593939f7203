package storage

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// CountsRoom says that a driver tells how much room there is for new volumes, and the scheduler goes by that; false for
// nil.
func CountsRoom(d *storagev1.CSIDriver) bool {
	return d != nil && d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity
}

// Full is which nodes a volume that is to be made has no room on; nil where no node is known to be such. It says where
// there is none, not where there is some: a driver tells of nodes that are there, and new ones mostly bring room of
// their own.
func Full(sc *storagev1.StorageClass, claim *corev1.PersistentVolumeClaim, refs References) (full *model.Requirement, bad string) {
	size, asks := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asks || !CountsRoom(refs.CSIDriver(sc.Provisioner)) {
		return nil, ""
	}
	r := rooms{size: size, enough: map[string]bool{}, volumes: refs.PersistentVolumes(sc.Name)}
	asked := of(claim, sc.Name)
	if slices.ContainsFunc(r.volumes, func(v *corev1.PersistentVolume) bool { return mayGet(asked, v) }) {
		return nil, "" // the scheduler looks for one that is there before it has one made
	}
	for _, c := range refs.StorageCapacities(sc.Name) {
		if c.NodeTopology != nil && !r.add(c) {
			return nil, ""
		}
	}
	if r.none && len(r.enough) == 0 {
		return nil, fmt.Sprintf("persistent volume claim %s: storage class %s has no room for %s (CSIStorageCapacity)", claim.Name, sc.Name, &size)
	}
	var values []string
	for v, enough := range r.enough {
		if !enough {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, ""
	}
	out := reader.In(r.key, values...)
	out.Operator = model.NotIn
	return &out, ""
}

// rooms are the parts of a cluster in which a class has room for new volumes, or has not, each known by the value of
// one label.
type rooms struct {
	size    resource.Quantity
	volumes []*corev1.PersistentVolume
	key     string
	held    map[string]held // by value, once asked for
	enough  map[string]bool // by value; those of which nothing is certain are not there
	none    bool            // the one part that all nodes are in has too little
}

// held is what the volumes of a class have in a part, and the largest of them has.
type held struct{ all, largest resource.Quantity }

// holds is what volumes have in each part that they can be reached from alone.
func holds(volumes []*corev1.PersistentVolume, key string) map[string]held {
	out := map[string]held{}
	for _, v := range volumes {
		if value := liesIn(v, key); value != "" {
			h, has := out[value], v.Spec.Capacity[corev1.ResourceStorage]
			h.all.Add(has)
			if has.Cmp(h.largest) > 0 {
				h.largest = has
			}
			out[value] = h
		}
	}
	return out
}

// add is false where it can't be told what a part means for others: one that all nodes are in has enough, or parts overlap.
func (r *rooms) add(c *storagev1.CSIStorageCapacity) bool {
	limit := c.Capacity
	if c.MaximumVolumeSize != nil {
		limit = c.MaximumVolumeSize
	}
	enough := limit != nil && limit.Cmp(r.size) >= 0
	key, value, simple := part(c.NodeTopology)
	switch {
	case !simple || r.key != "" && key != "" && r.key != key:
		return false
	case key == "":
		r.none = !enough
		return !enough
	}
	r.key = key
	if enough || r.enough[value] || r.lasting(c, key, value) {
		r.enough[value] = enough || r.enough[value]
	}
	return true
}

// lasting says of a part without enough room that a new node outside of it may have some. That is so of zones; of the
// disks of one node where these would hold the volume if none of its class were there, or do hold one as large, where a
// driver tells the largest that there can be. Disks that are too small are left alone: those of a new node may be no
// larger, and it would be bought again and again.
func (r *rooms) lasting(c *storagev1.CSIStorageCapacity, key, value string) bool {
	if key == labels.Zone || key == labels.Region {
		return true
	}
	if r.held == nil {
		r.held = holds(r.volumes, key)
	}
	h := r.held[value]
	if c.MaximumVolumeSize != nil {
		return h.largest.Cmp(r.size) >= 0
	}
	whole := h.all.DeepCopy()
	if c.Capacity != nil {
		whole.Add(*c.Capacity)
	}
	return whole.Cmp(r.size) >= 0
}

// liesIn is the value of a label without which a volume can't be reached; "" where there is none.
func liesIn(v *corev1.PersistentVolume, key string) string {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return ""
	}
	for _, t := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			if labels.Normal(e.Key) == key && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 {
				return e.Values[0]
			}
		}
	}
	return ""
}

// part is the label that says which nodes are in a part of the cluster; "" for all nodes. simple is false where it
// takes more than one, but for a region beside its zone.
func part(s *metav1.LabelSelector) (key, value string, simple bool) {
	if len(s.MatchExpressions) > 0 {
		return "", "", false
	}
	own := map[string]string{}
	for k, v := range s.MatchLabels {
		own[labels.Normal(k)] = v
	}
	if _, zonal := own[labels.Zone]; zonal {
		delete(own, labels.Region)
	}
	for k, v := range own {
		key, value = k, v
	}
	return key, value, len(own) <= 1
}
