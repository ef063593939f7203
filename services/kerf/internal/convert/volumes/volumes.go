// Package volumes decides which volumes claims have before their pods run, as a cluster's controller of volumes does: files
// show claims as they were written, and not what became of them.
//
// It must never know a node: where the volume is chosen with that, the claim has none yet. Start reading at VolumeFor.
package volumes

import (
	"cmp"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
	"github.com/kerf-dev/kerf/services/watcher/convert/storage"
)

// Storage is what files say of volumes: those that a claim may get, without the taken ones.
type Storage struct {
	Claims []*corev1.PersistentVolumeClaim
	// Made are claims that StatefulSets will make.
	Made []*corev1.PersistentVolumeClaim

	classes []*storagev1.StorageClass
	free    []*corev1.PersistentVolume
	taken   map[string]*corev1.PersistentVolume
}

// In finds what objects say of volumes.
func In(objects []runtime.Object) *Storage {
	s := &Storage{taken: map[string]*corev1.PersistentVolume{}}
	for _, o := range objects {
		switch o := o.(type) {
		case *storagev1.StorageClass:
			s.classes = append(s.classes, o)
		case *corev1.PersistentVolumeClaim:
			s.Claims = append(s.Claims, o)
			if o.Spec.VolumeName != "" {
				s.taken[o.Spec.VolumeName] = nil
			}
		case *corev1.PersistentVolume:
			if o.Status.Phase == corev1.VolumeReleased || o.Status.Phase == corev1.VolumeFailed {
				continue // its claim is gone, and no other gets it, also none of that name
			}
			v := o.DeepCopy()
			v.Status.Phase = corev1.VolumeAvailable
			if ref := v.Spec.ClaimRef; ref != nil {
				ref.Namespace = cmp.Or(ref.Namespace, metav1.NamespaceDefault)
			}
			s.free = append(s.free, v)
		case *appsv1.StatefulSet:
			if w, err := manifests.PodsOf(o, time.Time{}); err == nil { // else it is refused where its pods are made
				s.Made = append(s.Made, w.Claims...)
			}
		}
	}
	return s
}

// Take leaves a volume to the claim that has got it.
func (s *Storage) Take(name string) { s.taken[name] = nil }

// VolumeFor is the name of the volume that a claim gets. A claim without a class is one of an existing volume: where
// none is right, it is assumed to be in no file.
func (s *Storage) VolumeFor(c *corev1.PersistentVolumeClaim) string {
	asked, class := c.DeepCopy(), s.classOf(c)
	asked.Namespace = cmp.Or(c.Namespace, metav1.NamespaceDefault)
	for _, v := range s.free { // a claim that no API server has seen stands for the one that the volume has in the cluster
		if ref := v.Spec.ClaimRef; c.UID == "" && ref != nil && ref.Namespace == asked.Namespace && ref.Name == asked.Name {
			asked.UID = ref.UID
		}
	}
	if c.Spec.StorageClassName == nil && class != nil {
		asked.Spec.StorageClassName = &class.Name
	}
	late := class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	found := s.match(asked, late, s.taken)
	if found == nil && late && storage.MakesNoVolumes(class) {
		found = s.only(asked)
	}
	switch {
	case found != nil:
		return found.Name
	case c.Spec.StorageClassName != nil && *c.Spec.StorageClassName == "":
		return "of-" + c.Name
	default:
		return ""
	}
}

// classOf is a claim's class, that of the cluster where it names none; nil where no file has it.
func (s *Storage) classOf(c *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	name := volume.GetPersistentVolumeClaimClass(c)
	if name == "" && c.Spec.StorageClassName == nil {
		return convert.DefaultStorageClass(s.classes)
	}
	for _, class := range s.classes {
		if class.Name == name {
			return class
		}
	}
	return nil
}

// match finds the volume of a claim among those that are not excluded. One that is chosen late, with the node, must
// name the claim.
func (s *Storage) match(c *corev1.PersistentVolumeClaim, late bool, excluded map[string]*corev1.PersistentVolume) *corev1.PersistentVolume {
	found, err := volume.FindMatchingVolume(c, s.free, nil, excluded, late, true)
	if err != nil {
		return nil // a selector that can't be read selects nothing
	}
	return found
}

// only is the volume that will be the claim's wherever its pod runs: no other is right, and none will be made.
func (s *Storage) only(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	found := s.match(c, false, s.taken)
	if found == nil {
		return nil
	}
	others := maps.Clone(s.taken)
	others[found.Name] = nil
	if s.match(c, false, others) != nil {
		return nil
	}
	return found
}
