package convert

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// bind does what a cluster's controller of volumes has done before a pod is scheduled, which files don't show: it gives a
// claim the volume among the files that it names or that is right for it. Claims that have theirs stay as they are.
func (m *missing) bind(claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume) {
	taken := map[string]*corev1.PersistentVolume{}
	free := make([]*corev1.PersistentVolume, len(volumes))
	for i, v := range volumes {
		free[i] = v.DeepCopy()
		free[i].Status.Phase = corev1.VolumeAvailable
		if ref := free[i].Spec.ClaimRef; ref != nil {
			ref.Namespace = cmp.Or(ref.Namespace, metav1.NamespaceDefault)
		}
	}
	for _, c := range claims {
		if c.Spec.VolumeName != "" {
			taken[c.Spec.VolumeName] = nil
		}
	}
	for _, c := range claims {
		if _, done := c.Annotations[labels.VolumeBound]; done {
			continue
		}
		if c.Spec.VolumeName == "" {
			c.Spec.VolumeName = m.volumeFor(c, free, taken)
		}
		if c.Spec.VolumeName == "" {
			continue
		}
		taken[c.Spec.VolumeName] = nil
		m.add(&corev1.PersistentVolume{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName},
		}, "one that every node reaches")
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, labels.VolumeBound, "yes")
	}
}

// volumeFor is the name of the volume that a claim gets. A claim without a class, where no class is the default, is one of
// an existing volume: where none is right, it is assumed to be in no file.
func (m *missing) volumeFor(c *corev1.PersistentVolumeClaim, free []*corev1.PersistentVolume, taken map[string]*corev1.PersistentVolume) string {
	if c.Spec.StorageClassName == nil && m.defaultClass {
		return ""
	}
	asked := c.DeepCopy()
	asked.Namespace = namespaceOf(c)
	found, err := volume.FindMatchingVolume(asked, slices.Clone(free), nil, taken, false, true)
	switch {
	case err == nil && found != nil:
		return found.Name
	case c.Spec.StorageClassName != nil && *c.Spec.StorageClassName == "":
		return "of-" + c.Name
	default:
		return ""
	}
}

// late has volumes of a class made where their pods run. A cluster makes those of an immediate class before that, in a
// place that no file says.
func (m *missing) late(c *storagev1.StorageClass) {
	immediate := c.VolumeBindingMode == nil || *c.VolumeBindingMode == storagev1.VolumeBindingImmediate
	if !immediate || !m.used[c.Name] && !(isDefault(c) && m.usedDefault) {
		return
	}
	c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	m.notes = append(m.notes, TitleOf(c)+": volumeBindingMode: volumes are made before their pods; assumed: where the pods can run")
}
