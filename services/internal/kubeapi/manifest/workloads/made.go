package workloads

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// PodOf is the namespace and the labels of the pods that an object makes; nil for one that makes none.
func PodOf(o runtime.Object) metav1.Object {
	of := func(namespace string, t corev1.PodTemplateSpec) metav1.Object {
		return &metav1.ObjectMeta{Namespace: namespace, Labels: t.Labels}
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		return of(o.Namespace, o.Spec.Template)
	case *appsv1.ReplicaSet:
		return of(o.Namespace, o.Spec.Template)
	case *appsv1.StatefulSet:
		return of(o.Namespace, o.Spec.Template)
	case *batchv1.Job:
		return of(o.Namespace, o.Spec.Template)
	default:
		return nil
	}
}

// Makes says that a pod is one that the controller makes which this workload stands for.
func Makes(o runtime.Object, pod metav1.Object) bool {
	set, ok := o.(*appsv1.ReplicaSet)
	namespace := func(name string) string { return cmp.Or(name, metav1.NamespaceDefault) }
	if !ok || namespace(set.Namespace) != namespace(pod.GetNamespace()) {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.GetLabels()))
}
