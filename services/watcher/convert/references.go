package convert

import (
	appsv1 "k8s.io/api/apps/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// AnnotationDefaultClass marks the storage class of claims that name none; annotationBetaDefaultClass did so before,
// and does still.
const (
	AnnotationDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	annotationBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// IsDefaultStorageClass says that a class is marked as the default.
func IsDefaultStorageClass(c *storagev1.StorageClass) bool {
	return c.Annotations[AnnotationDefaultClass] == "true" || c.Annotations[annotationBetaDefaultClass] == "true"
}

// DefaultStorageClass is the newest of the classes that are marked as the default, by name where two are as new; nil when
// none is.
func DefaultStorageClass(classes []*storagev1.StorageClass) *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, sc := range classes {
		if !IsDefaultStorageClass(sc) {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&sc.CreationTimestamp) ||
			(best.CreationTimestamp.Equal(&sc.CreationTimestamp) && sc.Name < best.Name) {
			best = sc
		}
	}
	return best
}

// DefaultPriorityClass is the class of pods that name none: of those marked so the one with the lowest value, as
// admission has it; nil when none is marked.
func DefaultPriorityClass(classes []*schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
	var best *schedulingv1.PriorityClass
	for _, pc := range classes {
		if pc.GlobalDefault && (best == nil || pc.Value < best.Value || (pc.Value == best.Value && pc.Name < best.Name)) {
			best = pc
		}
	}
	return best
}

// ReplicaSetRevision is the revision of a ReplicaSet that a Deployment made; "" for nil and for others.
func ReplicaSetRevision(rs *appsv1.ReplicaSet) string {
	if rs == nil {
		return ""
	}
	return rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// StatefulSetRevision is the revision that a StatefulSet rolls out; "" for nil.
func StatefulSetRevision(s *appsv1.StatefulSet) string {
	if s == nil {
		return ""
	}
	return s.Status.UpdateRevision
}
