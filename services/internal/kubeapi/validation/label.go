package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/near"
	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// restrictedLabel says why a user must not set or require the label key, or ""
// when it is fine. karpenter.sh/nodepool is fine here, as claims and pods may
// ask for it; a pool may not.
func restrictedLabel(key string) string {
	if key == labels.Hostname {
		return "it differs on each node"
	}
	domain, _, found := strings.Cut(key, "/")
	if !found || key == labels.CapacityType || key == labels.NodePool {
		return ""
	}
	if domain == labels.Karpenter || strings.HasSuffix(domain, "."+labels.Karpenter) {
		return "labels of the domain karpenter.sh are set by the controller"
	}
	return ""
}

// validatePoolLabels finds requirements and labels of a pool that are in AWS's
// domain but that no node will ever have, which is a misspelling as a rule.
func validatePoolLabels(p *karpenterv1.NodePool) field.ErrorList {
	template := field.NewPath("spec", "template")
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(p.Spec.Template.Metadata.Labels)) {
		errs = append(errs, misspelt(key, template.Child("metadata", "labels"))...)
	}
	return append(errs, validateRequiredLabels(p.Spec.Template.Spec.Requirements, template.Child("spec", "requirements"))...)
}

// validateRequiredLabels finds such labels in a list of requirements.
func validateRequiredLabels(rs []karpenterv1.Requirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range rs {
		errs = append(errs, misspelt(r.Key, path.Index(i).Child("key"))...)
	}
	return errs
}

func misspelt(key string, at *field.Path) field.ErrorList {
	if !ownDomain(key) {
		return nil
	}
	known := wellKnownLabels()
	if slices.Contains(known, key) {
		return nil
	}
	return field.ErrorList{unknownLabel(at, key, known)}
}

// unknownLabel names the label that was meant, or else all that there are.
func unknownLabel(path *field.Path, key string, known []string) *field.Error {
	_, name, _ := strings.Cut(key, "/")
	others := []string{corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelArchStable, labels.CapacityType}
	for _, o := range others {
		if strings.HasSuffix(o, "/"+name) {
			return field.Invalid(path, key, "no node has this label; did you mean "+o+"?")
		}
	}
	if question := near.Question(name, known); question != "" {
		return field.Invalid(path, key, "no node has this label; "+question)
	}
	return field.NotSupported(path, key, known)
}

// wellKnownLabels are the keys that a pool may require because instance types
// bring them. Sorted.
func wellKnownLabels() []string {
	keys := []string{
		labels.InstanceCategory, labels.InstanceFamily, labels.InstanceGeneration, labels.InstanceSize,
		labels.InstanceCapabilityFlex, labels.InstanceCPU, labels.InstanceCPUManufacturer, labels.InstanceCPUClockSpeed,
		labels.InstanceMemory, labels.InstanceEBSBandwidth, labels.InstanceNetworkBandwidth, labels.InstanceHypervisor,
		labels.InstanceEncryptionInTransit, labels.InstanceLocalNVMe, labels.InstanceGPUName, labels.InstanceGPUManufacturer,
		labels.InstanceGPUCount, labels.InstanceGPUMemory, labels.InstanceAcceleratorName, labels.InstanceAcceleratorMaker,
		labels.InstanceAcceleratorCount, labels.InstanceTenancy, labels.NitroSandbox, labels.NodeClass,
		labels.CapacityReservationID, labels.CapacityReservationType, labels.CapacityReservationInterruptible,
		labels.PlacementGroupID, labels.PlacementGroupPartition, labels.ZoneID,
	}
	slices.Sort(keys)
	return keys
}

// ownDomain tells whether a label key is in AWS's domain or under it.
func ownDomain(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && (domain == labels.KarpenterAWS || strings.HasSuffix(domain, "."+labels.KarpenterAWS))
}
