package karpenterv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaim asks for one node, and the record of the instance that serves
// it. Kerf keeps the truth about claims elsewhere and mirrors it here; deleting
// the object asks for the node to be drained and its instance ended.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1
type NodeClaim struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// What the node must be. Fixed for the claim's life.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: delete the claim, or change its node pool"
	Spec NodeClaimSpec `json:"spec"`
	// What became of the claim.
	// +optional
	Status NodeClaimStatus `json:"status,omitzero"`
}

// NodeClaimList is a list of node claims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []NodeClaim `json:"items"`
}

// NodeClaimSpec is what the node must be.
type NodeClaimSpec struct {
	// Taints that the node keeps.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Taints []Taint `json:"taints,omitempty"`
	// Taints that the node starts with and that somebody else removes.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	StartupTaints []Taint `json:"startupTaints,omitempty"`
	// Constraints on the node's labels; all of them must hold.
	// +kubebuilder:validation:MaxItems=100
	// +required
	Requirements []Requirement `json:"requirements"`
	// What the node must at least be able to hold.
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero"`
	// The object that says how the instance is made.
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// How long the drain may take before it is forced. Absent means as long as it needs.
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`
	// How old the node may grow before it is replaced, or Never.
	// +kubebuilder:default="720h"
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}

// ResourceRequirements is what a node must at least be able to hold.
type ResourceRequirements struct {
	// The sum of the requests of the pods and DaemonSets that the node is meant for.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClaimStatus is what became of a claim.
type NodeClaimStatus struct {
	// The name of the Node object, once the node has joined.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// The instance, as "aws:///<zone>/<instance id>", once it is launched.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// The image that the instance was started from.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// What the node has, as far as is known.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// What pods can use of it.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// The claim's conditions; see the Condition constants.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// When a pod last came to the node or left it, DaemonSets' pods aside.
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitzero"`
}
