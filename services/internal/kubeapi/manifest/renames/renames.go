// Package renames says what became of fields of pools' older forms, for those who write them in a pool of today.
//
// It knows paths alone, and reads nothing; older forms themselves are package legacy's matter. Start reading at Of.
package renames

import (
	"github.com/kerf-dev/kerf/services/internal/kubeapi/awsv1"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Of says what became of a field of a kind, by its path, as the end of what is wrong with it; "" where it is none of those.
func Of(kind, path string) string {
	if kind != karpenterv1.KindNodePool {
		return ""
	}
	switch path {
	case "spec.template.spec.kubelet":
		return "; the settings are spec.kubelet of the EC2NodeClass since v1"
	case "spec.template.spec.nodeClassRef.apiVersion":
		return "; since v1 it is group: " + awsv1.Group
	case "spec.limits.resources":
		return "; since v1beta1 what is limited stands right under spec.limits"
	case "spec.ttlSecondsAfterEmpty":
		return "; since v1beta1 it is spec.disruption.consolidateAfter, such as 30s, with consolidationPolicy: WhenEmpty"
	case "spec.ttlSecondsUntilExpired":
		return "; since v1 it is spec.template.spec.expireAfter, such as 720h"
	case "spec.consolidation":
		return "; since v1 it is spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized"
	case "spec.providerRef":
		return "; since v1beta1 it is spec.template.spec.nodeClassRef"
	default:
		return ""
	}
}
