package reader

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// IsExtended tells resources that nodes have by their plugins or drivers. Domains under kubernetes.io are Kubernetes'
// own, and what begins as quotas write their requests is refused by the API server.
func IsExtended(name corev1.ResourceName) bool {
	n := string(name)
	return strings.Contains(n, "/") && !strings.Contains(n, "kubernetes.io/") && !strings.HasPrefix(n, corev1.DefaultResourceRequestsPrefix)
}
