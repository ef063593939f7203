// Package cluster is the actuator's port to Kubernetes: what it observes there and the few things that it changes. It
// must never know a Kubernetes type. Start at Cluster.
package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Cluster is the Kubernetes cluster. Implementations are safe for concurrent use; every change is idempotent.
type Cluster interface {
	Observer
	// UpdateNode brings a node to the given labels, taints and finalizer. ErrNotFound if there is no such node, or
	// another one has its name.
	UpdateNode(ctx context.Context, c NodeChange) error
	// Evict asks for a pod's eviction, or deletes it when e.Force is set; either way the pod says that it was
	// disrupted. Errors: ErrBlocked (a disruption budget says not now; a Blocked has the server's words), ErrNotFound
	// (the pod is gone, or is another pod of that name).
	Evict(ctx context.Context, e Eviction) error
	// PodsOn is which pods are on a node by the API server's own word, which is never older than what Observe shows:
	// caches of pods may be older than those of nodes. A node that is not there has none.
	PodsOn(ctx context.Context, node model.NodeName) ([]Pod, error)
	// Publish shows claims, pools and classes as Kubernetes objects, and tells users by events. Each entry is applied on
	// its own; where the error is a NotPublished, all others are done.
	Publish(ctx context.Context, p Publication) error
}

// Observer is what can be seen of a cluster. It never blocks on the API server.
type Observer interface {
	// Observe returns what the informers' caches hold; an error means that the caches have not filled yet.
	Observe() (State, error)
	// Changed signals, coalesced, that Observe may have something new.
	Changed() <-chan struct{}
	// Claim returns what the caches' object of a claim says of it, and whether there is one that Kerf made. An error
	// means that the object can't be read.
	Claim(id model.ClaimID) (c model.Claim, there bool, err error)
}

// Errors that callers act on; test with errors.Is.
var (
	ErrBlocked  = errors.New("PodDisruptionBudget allows no eviction now")
	ErrNotFound = errors.New("not found")
	ErrNotReady = errors.New("caches have not filled")
)

// Blocked is an ErrBlocked with what the API server says of the budget, its name and figures.
type Blocked struct{ Says string }

// Error implements error.
func (b *Blocked) Error() string { return ErrBlocked.Error() + ": " + b.Says }

// Is implements what errors.Is asks for.
func (b *Blocked) Is(target error) bool { return target == ErrBlocked }

// State is one moment of the cluster, as far as the actuator looks. Every list is sorted by name or id. What a pointer
// points to never changes: a node that has changed has another one, and one that has not the same.
type State struct {
	Nodes   []*Node
	Pools   []Pool
	Classes []Class
	// DeletedClaims are claims whose NodeClaim object a user has deleted; it waits for Kerf's finalizer.
	DeletedClaims []model.ClaimID
	// ClaimObjects are all NodeClaim objects that are there.
	ClaimObjects []model.ClaimID
	// UserClaims are those of them that belong to no pool: a user has written them, and Kerf does nothing for them.
	UserClaims []model.ClaimID
	// Silent is since when the API server shows no nodes, so that those of State may be of then; zero while it does.
	Silent time.Time
	// PodsUnseen says that the API server shows no pods, or no nodes, so that those of State may be of some time ago.
	PodsUnseen bool
}

// Node is a node and the pods on it.
type Node struct {
	Name model.NodeName
	// UID is the object's: another node of that name has another.
	UID         string
	ProviderID  string
	Labels      map[string]string
	Annotations map[string]string
	Taints      []model.Taint
	Capacity    model.Amounts
	Allocatable model.Amounts
	Ready       bool
	// Conditions are what the node's reporters say of it, sorted by type.
	Conditions  []model.NodeCondition
	Cordoned    bool
	Terminating bool // a user, or the cloud, deleted the object; it waits for Kerf's finalizer
	CreateTime  time.Time
	Pods        []Pod
	// Volumes are those that are attached and that a drain has detached, which are all but those of pods that it
	// leaves, sorted by name.
	Volumes []Volume
}

// Volume is one that is attached to a node.
type Volume struct {
	// Name is the PersistentVolume's; of an attachment that names none the attachment's own.
	Name string
	// Pods are the uids of the node's pods that use it.
	Pods []string
}

// Leaving says that the node is on its way out: nothing new is to go there.
func (n *Node) Leaving() bool { return n.Terminating || n.Disrupted() }

// Disrupted says that the node has the taint that keeps new pods off one that goes.
func (n *Node) Disrupted() bool { return n.tainted(labels.TaintDisrupted) }

// Open says that the node takes new pods, as far as Kerf keeps it from that: it has joined, and stays.
func (n *Node) Open() bool {
	return !n.Leaving() && !n.Cordoned && !n.tainted(labels.TaintUnregistered)
}

// Closed says that Kerf keeps pods off a node that has joined, and stays.
func (n *Node) Closed() bool { return !n.Leaving() && n.tainted(labels.TaintUnregistered) }

func (n *Node) tainted(key string) bool {
	return slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == key })
}

// Pod is a pod on a node, as far as a drain cares.
type Pod struct {
	Namespace, Name, UID string
	// Daemon pods ride along; Mirror pods can't be evicted; Critical ones go last; Finished ones need not go.
	Daemon, Mirror, Critical, Finished bool
	// ToleratesDisrupted pods tolerate the taint of a draining node, and stay there.
	ToleratesDisrupted bool
	// DoNotDisrupt pods are not evicted before the drain's deadline, or before DoNotDisruptUntil where that comes
	// first; zero means that it never does.
	DoNotDisrupt      bool
	DoNotDisruptUntil time.Time
	Owner             string    // uid of the controller that will make it again; "" for none
	Ready             bool      // it serves
	StartTime         time.Time // zero before the kubelet has it
	DeletionTime      time.Time
	GracePeriod       time.Duration
	// Size is that of model.Amounts.Size, of what it requests.
	Size int64
	// ByDevices are extended resources that the scheduler has given it devices for, as the node does not offer them itself:
	// a text with commas between them, so that pods can be compared.
	ByDevices string
	// Tied pods have rules of their own about where they run: hard spread, required affinity, a node selector, a volume.
	Tied bool
}

// HasDevicesFor says that the scheduler has given the pod devices for a resource.
func (p *Pod) HasDevicesFor(r model.Resource) bool {
	return p.ByDevices != "" && slices.Contains(strings.Split(p.ByDevices, ","), string(r))
}

// Pool is a NodePool. What only planners look at may be missing.
type Pool struct {
	model.NodePool
	// Terminating says that a user deleted the object.
	Terminating bool
}

// Class is an EC2NodeClass. Invalid says why its spec can't be used, and InvalidWhy the same as the reason of a condition;
// then Spec holds only the name.
type Class struct {
	Spec        cloud.ClassSpec
	Terminating bool
	Invalid     model.Reason
	InvalidWhy  string
}

// NodeChange is what a node should be brought to.
type NodeChange struct {
	Node model.NodeName
	// UID and ProviderID are those of the node that the change is for: a node's name is its address, which the next one may
	// get. "" is for any.
	UID, ProviderID string
	// SetLabels and SetAnnotations are added or overwritten; others stay.
	SetLabels, SetAnnotations map[string]string
	// RemoveLabels are taken off.
	RemoveLabels []string
	// AddTaints are added; RemoveTaints (matched by key and effect) are taken off.
	AddTaints, RemoveTaints []model.Taint
	// Finalizer says whether Kerf's finalizer must be there; nil leaves it.
	Finalizer *bool
	// Delete deletes the node object.
	Delete bool
	// Owner is the claim whose NodeClaim object owns the node; "" leaves it.
	Owner model.ClaimID
	// Refused says that it has failed again and again: as of an Eviction, it leaves the API server to others.
	Refused bool
}

// Eviction names a pod to remove from its node.
type Eviction struct {
	Namespace, Name, UID string
	// Node is the one that it leaves, and Why the reason that the node goes for.
	Node model.NodeName
	Why  model.DisruptionReason
	// Force deletes the pod in spite of budgets, with Grace as its grace period.
	Force bool
	Grace time.Duration
	// Again says that the pod is being deleted already, and has been told why.
	Again bool
	// Refused says that the last try has failed: thousands of pods that budgets hold for hours leave the API server to
	// others.
	Refused bool
}

// Publication is what users should see.
type Publication struct {
	Claims  []model.Claim
	Pools   []PoolStatus
	Classes []ClassStatus
	Events  []Event
	// Consolidatable are those of Claims whose nodes have been quiet for long enough to be consolidated.
	Consolidatable map[model.ClaimID]bool
	// States are what plans made of node overlays and capacity buffers.
	States []model.ObjectState
	// ForgetClaims are claims whose NodeClaim object should go (its finalizer is removed).
	ForgetClaims []model.ClaimID
	// ForgetClasses are classes whose finalizer should be removed.
	ForgetClasses []model.NodeClassName
}

// PoolStatus is the status of a NodePool.
type PoolStatus struct {
	Name      model.PoolName
	Resources model.Amounts // sum over its nodes, "nodes" included
	Hash      string
	NotReady  model.Reason
	// Registration is whether the last launches became nodes.
	Registration Registration
}

// Registration is whether launches become nodes. Where nothing is known of late, what was said before stands.
type Registration struct {
	Known, Healthy bool
	Message        string // why not
}

// ClassStatus is the status of an EC2NodeClass.
type ClassStatus struct {
	Name       model.NodeClassName
	Generation int64
	Hash       string
	// Class is what was found for Generation; where Resolved is not set, that is not known yet.
	Class    cloud.Class
	Resolved bool
	// Invalid is what is wrong with the spec itself, and InvalidWhy the same as the reason of a condition; zero when
	// nothing is.
	Invalid    model.Reason
	InvalidWhy string
	NotReady   model.Reason
}

// Event is a Kubernetes event on an object.
type Event struct {
	Kind, Namespace, Name, UID string // Pod, Node, NodeClaim, NodePool, EC2NodeClass
	Warning                    bool
	Reason, Message            string
}
