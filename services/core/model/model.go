// Package model holds the types of all services as plain values: what a cluster is made of, what a plan says, and why.
//
// The types mirror the messages of kerf.cluster.v1alpha1 and kerf.planner.v1alpha1, with what the actuator stores of
// them in addition, so that everything behind this package works on integers, typed ids and sorted lists. It knows
// neither protocol buffers nor Kubernetes nor AWS, and decides nothing. Start reading with Input (snapshot.go) and Plan
// (plan.go).
//
// Conventions: cpu is millicores, memory bytes, money micro-dollars per hour. A zero time.Time or "" means absent;
// where zero means something else than absent the field is a pointer, or its comment says otherwise. Disruption.Reason
// is the kind of a disruption; what the contract calls its reason is Explanation. Values are not changed after they
// were built.
package model

import (
	"cmp"
	"slices"
)

// Ids are typed, so that a pod can't be taken for a node.
type (
	// PodID is "namespace/name", or that of a buffer's virtual pod; see BufferID.Pod.
	PodID string
	// ClassID names a PodClass: "c-" and a hash.
	ClassID string
	// NodeName is the name of a Kubernetes node.
	NodeName string
	// ClaimID names a claim; it is also the NodeClaim's name.
	ClaimID string
	// PoolName names a node pool.
	PoolName string
	// NodeClassName names a node class.
	NodeClassName string
	// CatalogID names a catalog.
	CatalogID string
	// TypeName names an instance type, for example "m5.large".
	TypeName string
	// DisruptionID names a disruption.
	DisruptionID string
	// PlanID names a plan.
	PlanID string
)

// Resource is a resource's Kubernetes name, for example "cpu" or "nvidia.com/gpu".
type Resource string

// Resources that the planner itself has to name.
const (
	CPU    Resource = "cpu"
	Memory Resource = "memory"
	Pods   Resource = "pods"
	// Nodes counts nodes; it appears in limits only.
	Nodes Resource = "nodes"
	// AttachLimit, with a CSI driver's name behind it, is how many volumes that driver attaches to nodes of an instance
	// type, in Kubernetes' own words. Nodes and pods have it in fields of their own.
	AttachLimit Resource = "attachable-volumes-csi-"
)

// Amount is a quantity of one resource.
type Amount struct {
	Resource Resource
	// Value is millicores for cpu, bytes for memory, ephemeral-storage and hugepages, a count for everything else.
	Value int64
}

// Amounts are quantities sorted by resource, each resource at most once.
type Amounts []Amount

// Get returns the quantity of a resource, and whether it is listed at all.
func (a Amounts) Get(r Resource) (int64, bool) {
	i, ok := slices.BinarySearchFunc(a, r, func(x Amount, r Resource) int { return cmp.Compare(x.Resource, r) })
	if !ok {
		return 0, false
	}
	return a[i].Value, true
}

// Size compares what differs in shape: a core weighs as much as 4 GiB, which is what they cost on EC2.
func (a Amounts) Size() int64 { return a.Value(CPU)*(4<<30)/1000 + a.Value(Memory) }

// Value returns the quantity of a resource, 0 when it is not listed.
func (a Amounts) Value(r Resource) int64 {
	v, _ := a.Get(r)
	return v
}

// Label is one key and value, of a label or an annotation.
type Label struct {
	Key   string
	Value string
}

// Labels are sorted by key, each key at most once.
type Labels []Label

// LabelsOf are the labels of a map.
func LabelsOf[V ~string](m map[string]V) Labels {
	out := make(Labels, 0, len(m))
	for k, v := range m {
		out = append(out, Label{Key: k, Value: string(v)})
	}
	slices.SortFunc(out, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Get returns the value of a key, and whether the key is there.
func (l Labels) Get(key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(l, key, func(x Label, k string) int { return cmp.Compare(x.Key, k) })
	if !ok {
		return "", false
	}
	return l[i].Value, true
}
