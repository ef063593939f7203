package convert

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

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/watcher/convert"
	"github.com/kerf-dev/kerf/services/watcher/convert/manifests"
)

// noProvisioner is what classes name whose volumes are not made on demand.
const noProvisioner = "kubernetes.io/no-provisioner"

// storage is what the files say of volumes: those that a claim may get, without the taken ones.
type storage struct {
	classes []*storagev1.StorageClass
	claims  []*corev1.PersistentVolumeClaim
	// made are claims that StatefulSets will make.
	made  []*corev1.PersistentVolumeClaim
	free  []*corev1.PersistentVolume
	taken map[string]*corev1.PersistentVolume
}

func storageIn(objects []runtime.Object) *storage {
	s := &storage{taken: map[string]*corev1.PersistentVolume{}}
	for _, o := range objects {
		switch o := o.(type) {
		case *storagev1.StorageClass:
			s.classes = append(s.classes, o)
		case *corev1.PersistentVolumeClaim:
			s.claims = append(s.claims, o)
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
				s.made = append(s.made, w.Claims...)
			}
		}
	}
	return s
}

// bind does what a cluster's controller of volumes has done before a pod is scheduled, which files don't show: it gives a
// claim the volume among the files that it names or that is right for it. Claims that have theirs stay as they are, and so do
// those whose volume is chosen with the node of their pod.
func (m *missing) bind(objects []runtime.Object) {
	s := storageIn(objects)
	for _, c := range s.claims {
		if _, done := c.Annotations[labels.VolumeBound]; !done {
			m.bindTo(c, cmp.Or(c.Spec.VolumeName, s.volumeFor(c)), s)
		}
	}
	for _, c := range s.made {
		c.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		if title := TitleOf(c); !m.there[title] && m.bindTo(c, s.volumeFor(c), s) {
			m.there[title] = true
			m.assumed = append(m.assumed, c)
		}
	}
}

// bindTo gives a claim its volume, and says whether there is one.
func (m *missing) bindTo(c *corev1.PersistentVolumeClaim, name string, s *storage) bool {
	if name == "" {
		return false
	}
	c.Spec.VolumeName = name
	s.taken[name] = nil
	m.add(&corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: name},
	}, "one that every node reaches")
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, labels.VolumeBound, "yes")
	return true
}

// volumeFor is the name of the volume that a claim gets. A claim without a class is one of an existing volume: where none is
// right, it is assumed to be in no file.
func (s *storage) volumeFor(c *corev1.PersistentVolumeClaim) string {
	asked, class := c.DeepCopy(), s.classOf(c)
	asked.Namespace = namespaceOf(c)
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
	if found == nil && late && class.Provisioner == noProvisioner {
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
func (s *storage) classOf(c *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
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

// match finds the volume of a claim among those that are not excluded. One that is chosen late, with the node, must name the claim.
func (s *storage) match(c *corev1.PersistentVolumeClaim, late bool, excluded map[string]*corev1.PersistentVolume) *corev1.PersistentVolume {
	found, err := volume.FindMatchingVolume(c, s.free, nil, excluded, late, true)
	if err != nil {
		return nil // a selector that can't be read selects nothing
	}
	return found
}

// only is the volume that will be the claim's wherever its pod runs: no other is right, and none will be made.
func (s *storage) only(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
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

// late has volumes of a class made where their pods run. A cluster makes those of an immediate class before that, in a
// place that no file says.
func (m *missing) late(c *storagev1.StorageClass) {
	immediate := c.VolumeBindingMode == nil || *c.VolumeBindingMode == storagev1.VolumeBindingImmediate
	if !immediate || !m.used[c.Name] && !(convert.IsDefaultStorageClass(c) && m.usedDefault) {
		return
	}
	c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	m.notes = append(m.notes, TitleOf(c)+": volumeBindingMode: volumes are made before their pods; assumed: where the pods can run")
}
