package storage

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

// MakesNoVolumes says that claims of a class get volumes that are there already, and no others.
func MakesNoVolumes(sc *storagev1.StorageClass) bool { return sc.Provisioner == noProvisioner }

// Existing answers for a claim of a class that makes no volumes, whose volume the scheduler chooses with the node from
// those that are there. Where volumes of the class lie on nodes' disks, or a program has made them, new nodes bring
// volumes of their own: then the pod can run on those, and on nodes that have one left. Of a class without any volumes
// no one can tell, and it is taken for such a one, or the first node would never come.
func Existing(claim *corev1.PersistentVolumeClaim, class string, all []*corev1.PersistentVolume) (Reach, string) {
	asked := of(claim, class)
	if len(all) == 0 {
		return Reach{}, ""
	}
	for _, v := range all {
		if volume.IsVolumeBoundToClaim(v, asked) && matches(asked, v) {
			return Bound(v)
		}
	}
	if slices.ContainsFunc(all, comesWithNode) {
		return Reach{Terms: awayFrom(fullHosts(asked, all))}, ""
	}
	var out []Reach
	var unread string
	for _, v := range all {
		if !isFree(v) || !fits(asked, v) {
			continue
		}
		if r, bad := Bound(v); bad == "" {
			out = append(out, r)
		} else if unread == "" {
			unread = bad // the scheduler passes over it
		}
	}
	if len(out) == 0 && unread != "" {
		return Reach{}, unread
	}
	if len(out) == 0 {
		return Reach{}, fmt.Sprintf("persistent volume claim %s: no persistent volume of storage class %s is free and right for it (of %d), "+
			"and the class makes none (%s)", claim.Name, class, len(all), noProvisioner)
	}
	return anyOf(out), ""
}

// of is a claim that says itself of which class it is.
func of(claim *corev1.PersistentVolumeClaim, class string) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{ObjectMeta: claim.ObjectMeta, Spec: claim.Spec}
	out.Annotations, out.Spec.StorageClassName = nil, &class
	return out
}

// anyOf is from where one of several volumes can be reached.
func anyOf(list []Reach) Reach {
	out := Reach{Driver: list[0].Driver}
	everywhere := false
	for _, r := range list {
		if r.Driver != out.Driver {
			out.Driver = "" // which of them attaches it no one knows yet
		}
		everywhere = everywhere || len(r.Terms) == 0
		out.Terms = append(out.Terms, r.Terms...)
	}
	compare := func(s, t model.NodeAffinityTerm) int {
		return slices.CompareFunc(s.Requirements, t.Requirements, model.Requirement.Compare)
	}
	slices.SortFunc(out.Terms, compare)
	out.Terms = slices.CompactFunc(out.Terms, func(s, t model.NodeAffinityTerm) bool { return compare(s, t) == 0 })
	if everywhere {
		out.Terms = nil
	}
	return out
}

// comesWithNode says that a volume lies on the disk of a node, or was made by a program, as it will be for other nodes.
func comesWithNode(v *corev1.PersistentVolume) bool {
	_, made := v.Annotations[volume.AnnDynamicallyProvisioned]
	return made || v.Spec.Local != nil || v.Spec.HostPath != nil || len(hostsOf(v)) > 0
}

// hostsOf are the hosts of nodes that a volume lies on.
func hostsOf(v *corev1.PersistentVolume) (hosts []string) {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return nil
	}
	for _, t := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			if e.Key == labels.Hostname && e.Operator == corev1.NodeSelectorOpIn {
				hosts = append(hosts, e.Values...)
			}
		}
	}
	return hosts
}

// fullHosts are the hosts whose volumes would be right for a claim, had other claims not got them all. A volume that is
// too small, or not free yet, keeps no host off the list: a new node would have no other.
func fullHosts(claim *corev1.PersistentVolumeClaim, all []*corev1.PersistentVolume) []string {
	full := map[string]bool{}
	for _, v := range all {
		if !fits(claim, v) {
			continue
		}
		taken := v.Spec.ClaimRef != nil && v.Status.Phase == corev1.VolumeBound
		for _, h := range hostsOf(v) {
			was, seen := full[h]
			full[h] = taken && (was || !seen)
		}
	}
	maps.DeleteFunc(full, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(full))
}

func awayFrom(hosts []string) []model.NodeAffinityTerm {
	if len(hosts) == 0 {
		return nil
	}
	r := reader.In(labels.Hostname, hosts...)
	r.Operator = model.NotIn
	return []model.NodeAffinityTerm{{Requirements: []model.Requirement{r}}}
}

// mayGet says that a claim has a volume that is there, or could have it.
func mayGet(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	return volume.IsVolumeBoundToClaim(v, claim) || isFree(v) && fits(claim, v)
}

func isFree(v *corev1.PersistentVolume) bool {
	return v.Spec.ClaimRef == nil && v.Status.Phase == corev1.VolumeAvailable
}

// fits says that a volume would be right for a claim if no one had it.
func fits(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	if has := v.Spec.Capacity[corev1.ResourceStorage]; has.Cmp(claim.Spec.Resources.Requests[corev1.ResourceStorage]) < 0 {
		return false // most are told by that, and to look closer takes a copy
	}
	free := *v
	free.Spec.ClaimRef, free.Status.Phase = nil, corev1.VolumeAvailable
	return matches(claim, &free) && volume.CheckAccessModes(claim, &free)
}

// matches says what the scheduler does of a volume and a claim before it looks at nodes and access modes.
func matches(claim *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	found, err := volume.FindMatchingVolume(claim, []*corev1.PersistentVolume{v}, nil, nil, false, true)
	return err == nil && found != nil // a selector that can't be read selects nothing
}
