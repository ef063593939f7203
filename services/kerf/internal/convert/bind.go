package convert

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/kerf/internal/convert/volumes"
	"github.com/kerf-dev/kerf/services/watcher/convert"
)

// bind does what a cluster's controller of volumes has done before a pod is scheduled, which files don't show: it gives
// a claim the volume among the files that it names or that is right for it. Claims that have theirs stay as they are,
// and so do those whose volume is chosen with the node of their pod.
func (m *missing) bind(objects []runtime.Object) {
	s := volumes.In(objects)
	for _, c := range s.Claims {
		if node := c.Annotations[volume.AnnSelectedNode]; !m.there[Title("Node", "", node)] {
			delete(c.Annotations, volume.AnnSelectedNode) // left over from the cluster that the file comes from
		}
		if _, done := c.Annotations[labels.VolumeBound]; !done {
			m.bindTo(c, cmp.Or(c.Spec.VolumeName, s.VolumeFor(c)), s)
		}
	}
	for _, c := range s.Made {
		c.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		if title := TitleOf(c); !m.there[title] && m.bindTo(c, s.VolumeFor(c), s) {
			m.there[title] = true
			m.assumed = append(m.assumed, c)
		}
	}
}

// bindTo gives a claim its volume, and says whether there is one.
func (m *missing) bindTo(c *corev1.PersistentVolumeClaim, name string, s *volumes.Storage) bool {
	if name == "" {
		return false
	}
	c.Spec.VolumeName = name
	s.Take(name)
	m.add(&corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: name},
	}, "one that every node reaches")
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, labels.VolumeBound, "yes")
	return true
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
