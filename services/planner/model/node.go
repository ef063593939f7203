package model

import "time"

// Node is a Kubernetes node, whether Kerf launched it or not.
type Node struct {
	Name       NodeName
	ProviderID string
	// Claim is the claim that the node stands for; "" for a node that Kerf does not own.
	Claim  ClaimID
	Labels Labels
	Taints []Taint
	// Allocatable is what pods can use, DaemonSet pods included.
	Allocatable   Amounts
	Capacity      Amounts
	Ready         bool
	Unschedulable bool
	Terminating   bool
	DoNotDisrupt  bool
	CreateTime    time.Time
	// LastPodEventTime is when a pod other than a DaemonSet's last came or went; zero when none ever did.
	LastPodEventTime time.Time
	// VolumeLimits are attach limits by CSI driver; a driver that is not listed has none.
	VolumeLimits Amounts
}
