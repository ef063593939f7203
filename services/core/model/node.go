package model

import "time"

// KeyNodeName is the key under which a node's name is one of its labels, so that affinity by the field metadata.name is
// affinity like any other. No Kubernetes label can be called that, and nodes yet to be bought have no name.
const KeyNodeName = "field:metadata.name"

// What begins the labels that say what a node lacks, so that what pods need of nodes is a rule about labels like any other.
// No Kubernetes label can be called that. See package lacks.
const (
	LacksDriver  = "lacks:driver/"
	LacksFeature = "lacks:feature/"
	LacksDevices = "lacks:devices/"
)

// Node is a Kubernetes node, whether Kerf launched it or not.
type Node struct {
	Name       NodeName
	ProviderID string
	// Claim is the claim that the node stands for; "" for a node that Kerf does not own.
	Claim ClaimID
	// Labels are the node's own, and its name under KeyNodeName.
	Labels Labels
	Taints []Taint
	// Allocatable is what pods can use, DaemonSet pods included.
	Allocatable   Amounts
	Capacity      Amounts
	Ready         bool
	Unschedulable bool
	Terminating   bool
	DoNotDisrupt  bool
	// DoNotRepair keeps the node from being replaced for being unhealthy, and from nothing else.
	DoNotRepair bool
	CreateTime  time.Time
	// LastPodEventTime is when a pod other than a DaemonSet's last came or went; zero when none ever did.
	LastPodEventTime time.Time
	// VolumeLimits are attach limits by CSI driver; a driver that is not listed has none.
	VolumeLimits Amounts
	// Devices are those of dynamic resource allocation that are the node's own, in the order in which the scheduler looks
	// at them.
	Devices []NodeDevice
	// Conditions are those that may mean that the node is unhealthy, but for those that are well. Sorted by type.
	Conditions []NodeCondition
	// Drivers are the CSI drivers that have registered, Features what the kubelet declares that it can do. Sorted. They are
	// the last fields; see encoding.
	Drivers, Features []string
}

// NodeCondition is a condition of a node as its reporter last said it.
type NodeCondition struct {
	// Type is for example "Ready", Status "True", "False" or "Unknown".
	Type, Status string
	// TransitionTime is when the status became what it is.
	TransitionTime time.Time
}
