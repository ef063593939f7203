package karpenterv1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/internal/kubeapi/karpenterv1"
)

// NodeOverlay says what a user knows better of some nodes than the cloud's lists:
// what they cost, and which resources they have. It changes what is planned with,
// never what is paid.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeoverlays,scope=Cluster,categories=karpenter,shortName=overlays
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1
type NodeOverlay struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// What the user knows.
	// +kubebuilder:validation:XValidation:rule="!has(self.price) || !has(self.priceAdjustment)",message="price and priceAdjustment exclude each other: remove one"
	Spec NodeOverlaySpec `json:"spec"`
	// What became of it.
	// +optional
	Status NodeOverlayStatus `json:"status,omitzero"`
}

// NodeOverlayList is a list of node overlays.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []NodeOverlay `json:"items"`
}

// NodeOverlaySpec is what the user knows of some nodes.
type NodeOverlaySpec struct {
	// The nodes, by their labels: those of the pool, of the instance type and of the
	// offering, zone and capacity type included. All of them must hold; none means
	// every node.
	// +kubebuilder:validation:MaxItems=100
	// +required
	Requirements []Requirement `json:"requirements"`
	// What the nodes cost in place of the list price, in dollars per hour.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^\d+(\.\d+)?$`
	// +optional
	Price *string `json:"price,omitempty"`
	// What is added to the list price: an amount in dollars per hour or a percentage,
	// with its sign, such as -0.01 or +10%. A percentage is never below -100%.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(([+-]\d*\.?\d+)|(\+\d*\.?\d+%)|(-\d{1,2}(\.\d+)?%)|(-100%))$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`
	// Resources that the nodes have in addition, or in another quantity than the
	// lists say. cpu, memory, ephemeral-storage and pods are not the user's to say.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",message="cpu, memory, ephemeral-storage and pods follow from the instance type: remove them"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// The overlay's place among overlays that say something about the same thing: the
	// heaviest wins. Absent counts as 0. Of two that weigh the same one is not used.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// Requirement is one constraint on a node label.
//
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",message="operators In and NotIn need at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches('^[0-9]+$'))",message="operators Gt, Lt, Gte and Lte need exactly one value, a whole number that is not negative"
type Requirement struct {
	// The label's key.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.matches('^([^/]*[.])?karpenter[.]sh/')",message="of the domain karpenter.sh only nodepool and capacity-type can be required"
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="kubernetes.io/hostname differs on each node: remove the requirement"
	Key string `json:"key"`
	// How the label relates to the values.
	Operator karpenterv1.Operator `json:"operator"`
	// The values: at least one for In and NotIn, one whole number for Gt, Lt, Gte and
	// Lte, none for Exists and DoesNotExist.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// NodeOverlayStatus is what became of an overlay.
type NodeOverlayStatus struct {
	// The overlay's conditions; see the Condition constants.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionValidationSucceeded is true when the overlay is valid and conflicts with
// no other; Ready follows it.
const ConditionValidationSucceeded = "ValidationSucceeded"

// Reasons of ConditionValidationSucceeded.
const (
	ReasonRuntimeValidation = "RuntimeValidation"
	ReasonConflict          = "Conflict"
)

// Requirements are the overlay's as a pool would write them.
func (o *NodeOverlay) Requirements() []karpenterv1.Requirement {
	out := make([]karpenterv1.Requirement, len(o.Spec.Requirements))
	for i, r := range o.Spec.Requirements {
		out[i] = karpenterv1.Requirement{Key: r.Key, Operator: r.Operator, Values: r.Values}
	}
	return out
}
