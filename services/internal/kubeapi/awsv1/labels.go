package awsv1

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// Group is the API group of EC2NodeClass and the domain of AWS's node labels.
const Group = labels.KarpenterAWS

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

// ownDomain tells whether a label key is in this API group's domain or under it.
func ownDomain(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && (domain == Group || strings.HasSuffix(domain, "."+Group))
}
