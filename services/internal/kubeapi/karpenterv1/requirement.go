package karpenterv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Requirement is one constraint on a node label.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || (has(self.values) && self.values.size() > 0)",message="operator In needs at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches('^[0-9]+$'))",message="operators Gt, Lt, Gte and Lte need exactly one value, a whole number that is not negative"
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !has(self.minValues) || (has(self.values) && self.values.size() >= self.minValues)",message="operator In with minValues needs at least that many values"
type Requirement struct {
	// The label's key.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.matches('^([^/]*[.])?karpenter[.]sh/')",message="labels of the domain karpenter.sh are set by the controller: only karpenter.sh/capacity-type can be required"
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="kubernetes.io/hostname differs on each node: remove the requirement"
	Key string `json:"key"`
	// How the label relates to the values.
	Operator Operator `json:"operator"`
	// The values: at least one for In, one whole number for Gt, Lt, Gte and Lte, none
	// for Exists and DoesNotExist.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
	// How many different values of the key the instance types that are left must
	// offer, so that a launch has choices. Absent means no minimum.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	MinValues *int32 `json:"minValues,omitempty"`
}

// Operator relates a label to a requirement's values.
//
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
type Operator string

// The operators. Gt and Lt are strict; Gte and Lte are not.
const (
	OpIn           Operator = "In"
	OpNotIn        Operator = "NotIn"
	OpExists       Operator = "Exists"
	OpDoesNotExist Operator = "DoesNotExist"
	OpGt           Operator = "Gt"
	OpLt           Operator = "Lt"
	OpGte          Operator = "Gte"
	OpLte          Operator = "Lte"
)

// Taint keeps pods that don't tolerate it off a node.
type Taint struct {
	// The taint's key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Key string `json:"key"`
	// The taint's value.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	// +optional
	Value string `json:"value,omitempty"`
	// What happens to pods that don't tolerate it.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`
	// When the taint was added; accepted for compatibility and not used.
	// +optional
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

// Core is the taint as Kubernetes' own type.
func (t Taint) Core() corev1.Taint {
	return corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
}
