package reader_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestHostPortsAreThoseOfContainersAndSidecars(t *testing.T) {
	c := func(port int32, policy *corev1.ContainerRestartPolicy) corev1.Container {
		return corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: 1, HostPort: port}}, RestartPolicy: policy}
	}
	got := reader.HostPorts(&corev1.PodSpec{
		InitContainers: []corev1.Container{c(1, nil), c(2, new(corev1.ContainerRestartPolicyAlways))},
		Containers:     []corev1.Container{c(3, nil), c(0, nil)},
	})
	if len(got) != 2 || got[0].HostPort != 3 || got[1].HostPort != 2 {
		t.Errorf("the ports are %v", got)
	}
}
