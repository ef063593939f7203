package autoscalingv1beta1

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-dev/kerf/services/core/labels"
)

// CapacityBuffer asks for capacity for pods that are not there yet.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitybuffers,scope=Namespaced,shortName=cb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".spec.provisioningStrategy"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"ReadyForProvisioning\")].status"
// +kubebuilder:printcolumn:name="Provisioning",type="string",JSONPath=".status.conditions[?(@.type==\"Provisioning\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type CapacityBuffer struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// What the user wants.
	Spec CapacityBufferSpec `json:"spec"`
	// What became of it.
	// +optional
	Status CapacityBufferStatus `json:"status,omitzero"`
}

// CapacityBufferList is a list of capacity buffers.
//
// +kubebuilder:object:root=true
type CapacityBufferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []CapacityBuffer `json:"items"`
}

// CapacityBufferSpec is the capacity that the user wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.podTemplateRef) != has(self.scalableRef)",message="want exactly one of podTemplateRef and scalableRef"
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",message="podTemplateRef needs replicas or limits"
type CapacityBufferSpec struct {
	// How the capacity is kept. buffer.x-k8s.io/active-capacity makes it anew whenever pods
	// have taken it. buffer.kerf.dev/one-shot-capacity makes it once: each pod with the
	// template's labels that is made after the buffer takes the place of one of its
	// replicas, until all are used up.
	// +kubebuilder:validation:Enum=buffer.x-k8s.io/active-capacity;buffer.kerf.dev/one-shot-capacity
	// +kubebuilder:default="buffer.x-k8s.io/active-capacity"
	// +optional
	ProvisioningStrategy ProvisioningStrategy `json:"provisioningStrategy,omitempty"`
	// A PodTemplate of the same namespace: what one replica is.
	// +optional
	PodTemplateRef *LocalReference `json:"podTemplateRef,omitempty"`
	// A workload of the same namespace: its pods' template says what one replica is,
	// and its replicas what a percentage is of.
	// +optional
	ScalableRef *ScalableReference `json:"scalableRef,omitempty"`
	// For how many pods there shall be capacity. With a percentage the larger of both counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// For how many pods there shall be capacity, in per cent of the workload's replicas,
	// rounded up: none where it has none. A PodTemplate counts as one replica.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`
	// The most that all replicas may request together. Where neither replicas nor
	// percentage is set there is capacity for as many as fit.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// ProvisioningStrategy is how a buffer's capacity is kept.
type ProvisioningStrategy string

// The strategies.
const (
	// The capacity is made anew whenever pods have taken it.
	StrategyActive ProvisioningStrategy = "buffer.x-k8s.io/active-capacity"
	// The capacity is made once, and used up.
	StrategyOneShot ProvisioningStrategy = "buffer.kerf.dev/one-shot-capacity"
)

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// The object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ScalableReference names a workload of the same namespace.
//
// +kubebuilder:validation:XValidation:rule="self.apiGroup == 'apps' && self.kind in ['Deployment', 'StatefulSet', 'ReplicaSet']",message="want apiGroup apps and kind Deployment, StatefulSet or ReplicaSet"
type ScalableReference struct {
	// The workload's API group: apps.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:default=apps
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// The workload's kind.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// The workload's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// CapacityBufferStatus is what became of a buffer.
type CapacityBufferStatus struct {
	// The pod template that one replica is made from.
	// +optional
	PodTemplateRef *LocalReference `json:"podTemplateRef,omitempty"`
	// For how many pods there shall be capacity, limits applied.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// The generation of the pod template that the replicas were counted for.
	// +optional
	PodTemplateGeneration *int64 `json:"podTemplateGeneration,omitempty"`
	// The strategy that is followed.
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// The buffer's conditions; see the Condition constants.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of a buffer.
const (
	// What the buffer refers to is there, and its size is known.
	ConditionReadyForProvisioning = "ReadyForProvisioning"
	// The buffer's capacity is there.
	ConditionProvisioning = "Provisioning"
)

// Reasons of ConditionReadyForProvisioning.
const (
	ReasonPodTemplateNotFound = "PodTemplateNotFound"
	ReasonScalableRefNotFound = "ScalableRefNotFound"
	ReasonResolutionFailed    = "ResolutionFailed"
)

// Reasons of ConditionProvisioning.
const (
	ReasonFitsExistingCapacity    = "FitsExistingCapacity"
	ReasonRequiresNewCapacity     = "RequiresNewCapacity"
	ReasonNotReadyForProvisioning = "NotReadyForProvisioning"
	ReasonBufferEmpty             = "BufferEmpty"
)

// SetDefaults fills in what an API server with Kerf's CustomResourceDefinitions
// would. It changes b; doing it twice changes nothing.
func (b *CapacityBuffer) SetDefaults() {
	if b.Spec.ProvisioningStrategy == "" {
		b.Spec.ProvisioningStrategy = StrategyActive
	}
	if ref := b.Spec.ScalableRef; ref != nil && ref.APIGroup == "" {
		ref.APIGroup = "apps"
	}
}

// TimeError is an annotation whose value is no time.
type TimeError struct{ Annotation, Value string }

// Error implements error.
func (e *TimeError) Error() string {
	return fmt.Sprintf("metadata.annotations[%s]: %q: want a time such as 2026-11-27T18:00:00Z", e.Annotation, e.Value)
}

// Times are when the capacity begins and ends to be wanted; zero where nothing is said.
func (b *CapacityBuffer) Times() (starts, expires time.Time, err *TimeError) {
	for _, a := range []struct {
		name string
		at   *time.Time
	}{{labels.BufferStartsAt, &starts}, {labels.BufferExpiresAt, &expires}} {
		text, ok := b.Annotations[a.name]
		if !ok {
			continue
		}
		t, parseErr := time.Parse(time.RFC3339, text)
		if parseErr != nil || t.IsZero() {
			return time.Time{}, time.Time{}, &TimeError{a.name, text}
		}
		*a.at = t.UTC()
	}
	return starts, expires, nil
}
