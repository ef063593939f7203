package reader_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/reader"
)

func TestIsExtended(t *testing.T) {
	for name, want := range map[corev1.ResourceName]bool{
		"nvidia.com/gpu": true, "cpu": false, "hugepages-2Mi": false, "kubernetes.io/batteries": false,
		"deviceclass.resource.kubernetes.io/gpu": false, "requests.nvidia.com/gpu": false,
	} {
		if got := reader.IsExtended(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
