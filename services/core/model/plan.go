package model

import "time"

// Plan is the answer to one Input: what to launch, what to remove, and why. All lists are sorted by id.
type Plan struct {
	// ID is "p-" and 16 hexadecimal digits of the input hash.
	ID                PlanID
	Revision          uint64
	InventoryRevision int64
	// InputHash is the SHA-256 of the normalised Input in hexadecimal.
	InputHash string
	Now       time.Time

	// NodeClaims are the claims to create, replacements included.
	NodeClaims []NodeClaim
	// Disruptions are the nodes to remove.
	Disruptions []Disruption
	// Placements are where pending pods, and pods of nodes that are going away already, are expected to run.
	Placements []Placement
	// Pending are the pods that nothing was found for.
	Pending []PendingPod
	// Nodes say for each node that Kerf owns why it stays or goes.
	Nodes []NodeVerdict

	// CostBefore is what the claims cost now, micro-dollars per hour; claims being taken away do not count.
	CostBefore int64
	// CostAfter is what they cost once the plan is carried out.
	CostAfter int64
	// CostEstimated says that some of the prices in these sums, or in savings, are estimates.
	CostEstimated bool
	// LowerBound is nil when none is known.
	LowerBound *LowerBound

	// ReconsiderTime is when time alone first changes what the plan was made from; zero when it never does.
	ReconsiderTime time.Time

	// Summary is nil where nodes to remove were not asked for.
	Summary *DisruptionSummary

	// Traceparent is the trace that the plan was made in, in W3C's form; "" for none.
	Traceparent string

	// Problems say which of the users' objects have no effect, and why, sorted by subject.
	Problems []Reason

	// Objects are what became of node overlays and capacity buffers, sorted by subject.
	Objects []ObjectState
}

// ObjectState is what became of a user's object that a plan was made with.
type ObjectState struct {
	// Subject is "nodeoverlay/NAME" or "capacitybuffer/NAMESPACE/NAME".
	Subject string
	// Generation is that of the object which the plan was made with; 0 where it is not known.
	Generation int64
	// NotReady is why it has no effect; OK when it has one.
	NotReady Reason
	// Capacity is what a buffer has; nil for others.
	Capacity *BufferCapacity
}

// BufferCapacity is for how many of a buffer's pods there is capacity.
type BufferCapacity struct {
	// Replicas is for how many it asks now. Nodes are about to come for Coming of them, and nothing was found for
	// Missing, and Why for the first of these.
	Replicas, Coming, Missing int64
	Why                       Reason
	// TemplateGeneration is that of its PodTemplate; 0 where it has none.
	TemplateGeneration int64
}

// NodeClaim is a claim that the plan asks for.
type NodeClaim struct {
	ID           ClaimID
	NodePool     PoolName
	NodeClass    NodeClassName
	Requirements []Requirement
	// Offerings are best first; every one of them holds all the pods.
	Offerings []RankedOffering
	// Requests is what its pods and DaemonSets ask for in sum on the first offering.
	Requests Amounts
	Pods     []PodID
	// Price is that of the first offering, micro-dollars per hour.
	Price int64
	// Disruption is the one that it is a replacement in; "" when it is for pending pods only.
	Disruption DisruptionID
	Reason     Reason
	// RunnersUp are other ways to run its pods that were weighed and lost, best first, at most five.
	RunnersUp []RunnerUp
	// Annotations tell how the claim came about, in addition to the pool's. Sorted by key.
	Annotations Labels
}

// RunnerUp is another way to run a claim's pods, and why it lost.
type RunnerUp struct {
	Offering RankedOffering
	// Pods is how many of the claim's pods one such node holds.
	Pods   int
	Reason Reason
}

// Disruption takes claims away. Its replacements and its candidates stand or fall together.
type Disruption struct {
	ID     DisruptionID
	Reason DisruptionReason
	// Candidates are the claims to take away: sorted, or where it is staged in the order in which they are drained.
	Candidates []ClaimID
	// Replacements are claims of this plan that must be initialized before the drain begins.
	Replacements []ClaimID
	// Destinations say where each displaced pod goes.
	Destinations []Placement
	// Evictions is how many pods are evicted.
	Evictions int
	// Saving is in micro-dollars per hour; 0 where the reason is not money.
	Saving          int64
	SavingEstimated bool
	Explanation     Reason
	// Churn is what its evictions are weighed at, micro-dollars.
	Churn int64
	// PayBack is how long it takes for the saving to make up for the evictions; 0 where the reason is not money.
	PayBack time.Duration
	// Workloads are whose pods are evicted. Sorted.
	Workloads []WorkloadEvictions
	// Staged says that the candidates are more than budgets let go at once, and are drained as budgets let them.
	Staged bool
}

// DisruptionSummary is how far the search for nodes to remove got.
type DisruptionSummary struct {
	// Candidates are nodes that may be removed to save money, as far as the checks of each by itself go; Judged those
	// of them that were judged, and Tried the sets of nodes that were tried out.
	Candidates, Judged, Tried int
	// Floor is what the pods of all nodes with a claim would cost at least if nothing kept any of them where it is,
	// with the policy's overhead for each node, micro-dollars per hour; 0 where nothing is proven.
	Floor int64
	// ResumeAfter is where the search ended; "" when nothing was left out.
	ResumeAfter ClaimID
}

// Placement is where a pod is expected to run: exactly one of Node and Claim is set.
type Placement struct {
	Pod PodID
	// Node is a node that exists.
	Node NodeName
	// Claim is a claim of this plan or one in flight.
	Claim ClaimID
	// Order is the pod's turn among the plan's placements, from 0 and each once: bound one after the other in this order,
	// each pod keeps its constraints on those before it. 0 for all in the destinations of a disruption.
	Order int32
	// WaitUntil is until when the pod waits at the latest for the room of pods that are ending on the node; zero where it
	// has room now.
	WaitUntil time.Time
}

// PendingPod is a pod that the plan leaves pending.
type PendingPod struct {
	Pod PodID
	// Reason is the nearest miss of all.
	Reason Reason
	// Pools are the nearest misses for each pool.
	Pools []PoolMiss
}

// PoolMiss is why a pool can't help a pod.
type PoolMiss struct {
	NodePool PoolName
	// InstanceType is the one that comes nearest; "" when the pool as a whole is out of the question.
	InstanceType TypeName
	Reason       Reason
}

// NodeVerdict is what became of a node that was considered for disruption.
type NodeVerdict struct {
	Node  NodeName
	Claim ClaimID
	// Price is in micro-dollars per hour; 0 when it is not known.
	Price          int64
	PriceEstimated bool
	Reason         Reason
	// Disruption is the one that takes the node; "" when it stays.
	Disruption DisruptionID
	// Waste is what the node costs beyond what its pods would cost at the lowest prices, micro-dollars per hour, or its
	// price where its pods have room on other nodes and a rule of users keeps it: about what removing it could save. 0
	// where it is not known.
	Waste int64
	// Deferred says that a later plan is to remove it, as soon as budgets, and pods that have just started, let that
	// happen; nil where that was not looked for.
	Deferred *bool
	// PodDeletionCost is how costly it is that pods on this node are deleted, compared to those on other nodes, when their
	// workload is scaled down; 0 where that is not known.
	PodDeletionCost int32
}

// Verdict is what became of one decision of a plan that was applied.
type Verdict struct {
	// Decision is the id of a claim or a disruption.
	Decision string
	Accepted bool
	// Reason is why it was rejected; OK when it was accepted, but for CodeAlreadyAccepted.
	Reason Reason
}

// LowerBound is a price that no plan for the same pods can beat: at the prices that offerings are weighed at, and with the
// policy's overhead for each node.
type LowerBound struct {
	// Price is in micro-dollars per hour.
	Price int64
	// Gap is what the plan's claims cost, weighed and with overhead, over the bound, less one.
	Gap  float64
	Kind BoundKind
}

// BoundKind is how a lower bound was proven.
type BoundKind int

// The kinds of bounds; the numbers are those of kerf.planner.v1alpha1.BoundKind. The zero BoundKind is invalid.
const (
	// BoundResource is by relaxation to the cheapest price of each resource.
	BoundResource BoundKind = iota + 1
	// BoundLP is by the dual of the configuration LP.
	BoundLP
	// BoundFarley is by scaling a dual that is not yet optimal.
	BoundFarley
	// BoundExact is a plan proven to be the cheapest.
	BoundExact
)
