package convert

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// withRuntime is the pod with what admission gives it for its RuntimeClass: the overhead, and where it runs. Admission has
// done so for every pod that the API server knows by a uid, and a RuntimeClass that changes later changes no pod; so this
// is for pods that no API server has seen yet, such as those that a DaemonSet would make. The text says what admission
// would refuse the pod for.
func withRuntime(p *corev1.Pod, refs References) (*corev1.Pod, string) {
	name := p.Spec.RuntimeClassName
	if p.UID != "" || name == nil || *name == "" {
		return p, ""
	}
	class := refs.RuntimeClass(*name)
	if class == nil {
		return p, fmt.Sprintf("spec.runtimeClassName: there is no RuntimeClass %s", *name)
	}
	out := *p // only what is replaced below is changed
	if class.Overhead != nil && out.Spec.Overhead == nil {
		out.Spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return &out, ""
	}
	out.Spec.NodeSelector = maps.Clone(class.Scheduling.NodeSelector)
	if out.Spec.NodeSelector == nil {
		out.Spec.NodeSelector = map[string]string{}
	}
	for _, k := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		v := p.Spec.NodeSelector[k]
		if had, ok := out.Spec.NodeSelector[k]; ok && had != v {
			return p, fmt.Sprintf("spec.nodeSelector: RuntimeClass %s asks for %s=%s, and the pod for %s=%s", *name, k, had, k, v)
		}
		out.Spec.NodeSelector[k] = v
	}
	out.Spec.Tolerations = slices.Concat(p.Spec.Tolerations, class.Scheduling.Tolerations)
	return &out, ""
}
