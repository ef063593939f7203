package reader

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// HostPorts are the ports that a pod takes on its node: those of its containers and of its sidecars. What other init
// containers take the scheduler does not count.
func HostPorts(p *corev1.PodSpec) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, c := range slices.Concat(p.Containers, slices.DeleteFunc(slices.Clone(p.InitContainers), func(c corev1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	})) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				out = append(out, port)
			}
		}
	}
	return out
}
