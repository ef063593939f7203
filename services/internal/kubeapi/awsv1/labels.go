package awsv1

import (
	"slices"
	"strings"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// Group is the API group of EC2NodeClass and the domain of AWS's node labels.
const Group = "karpenter.k8s.aws"

// Labels that a node has because of its instance type. A type that has no value
// for a label has no such label.
const (
	LabelInstanceCategory             = Group + "/instance-category"
	LabelInstanceFamily               = Group + "/instance-family"
	LabelInstanceGeneration           = Group + "/instance-generation"
	LabelInstanceSize                 = Group + "/instance-size"
	LabelInstanceCapabilityFlex       = Group + "/instance-capability-flex"
	LabelInstanceCPU                  = Group + "/instance-cpu"              // vCPUs
	LabelInstanceCPUManufacturer      = Group + "/instance-cpu-manufacturer" // intel, amd or aws
	LabelInstanceCPUClockSpeed        = Group + "/instance-cpu-sustained-clock-speed-mhz"
	LabelInstanceMemory               = Group + "/instance-memory"            // MiB
	LabelInstanceEBSBandwidth         = Group + "/instance-ebs-bandwidth"     // Mbit/s, maximum
	LabelInstanceNetworkBandwidth     = Group + "/instance-network-bandwidth" // Mbit/s, baseline
	LabelInstanceHypervisor           = Group + "/instance-hypervisor"        // nitro, xen or empty for metal
	LabelInstanceEncryptionInTransit  = Group + "/instance-encryption-in-transit-supported"
	LabelInstanceLocalNVMe            = Group + "/instance-local-nvme" // GB
	LabelInstanceGPUName              = Group + "/instance-gpu-name"
	LabelInstanceGPUManufacturer      = Group + "/instance-gpu-manufacturer"
	LabelInstanceGPUCount             = Group + "/instance-gpu-count"
	LabelInstanceGPUMemory            = Group + "/instance-gpu-memory" // MiB
	LabelInstanceAcceleratorName      = Group + "/instance-accelerator-name"
	LabelInstanceAcceleratorMaker     = Group + "/instance-accelerator-manufacturer"
	LabelInstanceAcceleratorCount     = Group + "/instance-accelerator-count"
	LabelInstanceTenancy              = Group + "/instance-tenancy" // default or dedicated
	LabelNitroSandbox                 = Group + "/nitro-sandbox"
	LabelNodeClass                    = Group + "/ec2nodeclass"
	LabelCapacityReservationID        = Group + "/capacity-reservation-id"
	LabelCapacityReservationType      = Group + "/capacity-reservation-type"
	LabelCapacityReservationInterrupt = Group + "/capacity-reservation-interruptible"
	LabelPlacementGroupID             = Group + "/placement-group-id"
	LabelPlacementGroupPartition      = Group + "/placement-group-partition"
	LabelZoneID                       = "topology.k8s.aws/zone-id"
	// The EBS CSI driver's name for the zone, read as topology.kubernetes.io/zone.
	LabelEBSZone = "topology.ebs.csi.aws.com/zone"
)

// Annotations and the finalizer.
const (
	// The hash of the node class that a claim was made from; see HashEC2NodeClass.
	AnnotationNodeClassHash = Group + "/ec2nodeclass-hash"
	// The version of the hash: two hashes are compared only when their versions agree.
	AnnotationNodeClassHashVersion = Group + "/ec2nodeclass-hash-version"
	// On node classes, so that one goes only after the last instance made from it.
	FinalizerTermination = Group + "/termination"
)

// WellKnownLabels are the keys that a pod may require although no pool defines
// them, because instance types bring them. Sorted; karpenterv1.WellKnownLabels
// come on top.
func WellKnownLabels() []string {
	labels := []string{
		LabelInstanceCategory, LabelInstanceFamily, LabelInstanceGeneration, LabelInstanceSize,
		LabelInstanceCapabilityFlex, LabelInstanceCPU, LabelInstanceCPUManufacturer, LabelInstanceCPUClockSpeed,
		LabelInstanceMemory, LabelInstanceEBSBandwidth, LabelInstanceNetworkBandwidth, LabelInstanceHypervisor,
		LabelInstanceEncryptionInTransit, LabelInstanceLocalNVMe, LabelInstanceGPUName, LabelInstanceGPUManufacturer,
		LabelInstanceGPUCount, LabelInstanceGPUMemory, LabelInstanceAcceleratorName, LabelInstanceAcceleratorMaker,
		LabelInstanceAcceleratorCount, LabelInstanceTenancy, LabelNitroSandbox, LabelNodeClass,
		LabelCapacityReservationID, LabelCapacityReservationType, LabelCapacityReservationInterrupt,
		LabelPlacementGroupID, LabelPlacementGroupPartition, LabelZoneID,
	}
	slices.Sort(labels)
	return labels
}

// NormalizeLabel gives the stable form of a label key that has several, and any
// other key as it is.
func NormalizeLabel(key string) string {
	if key == LabelEBSZone {
		return karpenterv1.LabelZone
	}
	return karpenterv1.NormalizeLabel(key)
}

// ownDomain tells whether a label key is in this API group's domain or under it.
func ownDomain(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && (domain == Group || strings.HasSuffix(domain, "."+Group))
}
