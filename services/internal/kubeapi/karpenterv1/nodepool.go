package karpenterv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePool is a user's policy for one kind of nodes: what they look like, how
// many there may be, and when they may be taken away.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1
type NodePool struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// What the user wants.
	Spec NodePoolSpec `json:"spec"`
	// What is there.
	// +optional
	Status NodePoolStatus `json:"status,omitzero"`
}

// NodePoolList is a list of node pools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []NodePool `json:"items"`
}

// NodePoolSpec is what the user wants of a pool.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="a pool can't change between static and dynamic: make a new pool to add or remove replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="weight has no meaning on a static pool: remove weight or replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || self.limits.all(k, k == 'nodes')",message="a static pool may limit nodes only: remove the other limits or replicas"
type NodePoolSpec struct {
	// What the pool's nodes look like.
	Template NodeClaimTemplate `json:"template"`
	// When the pool's nodes may be disrupted.
	// +kubebuilder:default={}
	// +optional
	Disruption Disruption `json:"disruption,omitzero"`
	// The most that the pool's nodes may have together, by resource; "nodes" limits
	// their number. A resource that is not listed is unlimited.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// The pool's place among the pools that could serve a pod: a higher weight is
	// tried first. Absent counts as 0.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// The number of nodes of a static pool. Absent for a pool that follows its pods.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// NodeClaimTemplate is what each of the pool's claims starts from.
type NodeClaimTemplate struct {
	// Labels and annotations that the pool's nodes get.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitzero"`
	// What a claim for one node says.
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// TemplateMetadata is the part of the metadata that a template may set.
type TemplateMetadata struct {
	// Labels of the pool's nodes.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, k == 'karpenter.sh/capacity-type' || !k.matches('^([^/]*[.])?karpenter[.]sh/'))",message="labels of the domain karpenter.sh are set by the controller: remove them"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'kubernetes.io/hostname')",message="kubernetes.io/hostname differs on each node: remove it"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`
	// Annotations of the pool's nodes.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// LabelValue is the value of a label: up to 63 letters, digits, '-', '_' and '.',
// with a letter or digit at both ends. It may be empty.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// LabelMap is the labels as Kubernetes' own functions want them; nil when there
// are none.
func (m TemplateMetadata) LabelMap() map[string]string {
	if m.Labels == nil {
		return nil
	}
	labels := make(map[string]string, len(m.Labels))
	for key, value := range m.Labels {
		labels[key] = string(value)
	}
	return labels
}

// NodeClaimTemplateSpec is a NodeClaimSpec without what only a claim has.
type NodeClaimTemplateSpec struct {
	// Taints that the nodes keep.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Taints []Taint `json:"taints,omitempty"`
	// Taints that the nodes start with and that somebody else removes. Pods need not
	// tolerate them to have a node launched.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	StartupTaints []Taint `json:"startupTaints,omitempty"`
	// Constraints on the nodes' labels, and so on instance type, zone, architecture
	// and capacity type; all of them must hold.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.key != 'karpenter.sh/nodepool')",message="karpenter.sh/nodepool is set by the controller: remove the requirement"
	// +required
	Requirements []Requirement `json:"requirements"`
	// The object that says how instances are made. Its name may change, which makes
	// the pool's nodes drift.
	// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group",message="group is immutable"
	// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="kind is immutable"
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// How long a drain may take before it is forced. Absent means as long as it needs.
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`
	// How old a node may grow before it is replaced, or Never.
	// +kubebuilder:default="720h"
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}

// NodeClassReference names the object that says how instances are made.
type NodeClassReference struct {
	// The object's API group, without a version.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	Group string `json:"group"`
	// The object's kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// The object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// NodePoolStatus is what there is of a pool.
type NodePoolStatus struct {
	// What the pool's nodes have together, "nodes" included.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// The number of the pool's nodes.
	// +kubebuilder:default=0
	// +optional
	Nodes *int64 `json:"nodes,omitempty"`
	// The generation of the node class that NodeRegistrationHealthy was judged for.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// The pool's conditions; see the Condition constants.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
