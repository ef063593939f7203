package convert

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// podSpec is what an object's pods look like; nil for objects that make none.
func podSpec(o runtime.Object) *corev1.PodSpec {
	switch o := o.(type) {
	case *corev1.Pod:
		return &o.Spec
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec
	case *batchv1.Job:
		return &o.Spec.Template.Spec
	default:
		return nil
	}
}

// applyRuntimes gives pods what admission would give them for their RuntimeClass: its overhead, and where it runs. A
// class that is not among the manifests gives nothing.
func (b *Builder) applyRuntimes() {
	for _, spec := range b.specs {
		if spec.RuntimeClassName == nil {
			continue
		}
		if class := b.runtimes[*spec.RuntimeClassName]; class != nil {
			applyRuntime(spec, class)
		}
	}
}

func applyRuntime(spec *corev1.PodSpec, class *nodev1.RuntimeClass) {
	if class.Overhead != nil && spec.Overhead == nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return
	}
	selector := maps.Clone(class.Scheduling.NodeSelector)
	if selector == nil {
		selector = map[string]string{}
	}
	maps.Copy(selector, spec.NodeSelector)
	spec.NodeSelector = selector
	spec.Tolerations = append(spec.Tolerations, class.Scheduling.Tolerations...)
}
