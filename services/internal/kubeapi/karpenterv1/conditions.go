package karpenterv1

// ConditionReady is true when all conditions that an object needs are true. It is
// a pool's and a claim's summary.
const ConditionReady = "Ready"

// Conditions of a NodePool.
const (
	// The pool's object passed validation.
	ConditionValidationSucceeded = "ValidationSucceeded"
	// The pool's node class exists and is ready.
	ConditionNodeClassReady = "NodeClassReady"
	// Recent launches of the pool registered. For information only.
	ConditionNodeRegistrationHealthy = "NodeRegistrationHealthy"
)

// Conditions of a NodeClaim.
const (
	// The instance exists.
	ConditionLaunched = "Launched"
	// The node has joined the cluster.
	ConditionRegistered = "Registered"
	// The node can be relied on.
	ConditionInitialized = "Initialized"
	// The node was quiet for long enough to be consolidated.
	ConditionConsolidatable = "Consolidatable"
	// The node is no longer what its pool or node class asks for.
	ConditionDrifted = "Drifted"
	// The node is being disrupted; the condition's reason is the method.
	ConditionDisruptionReason = "DisruptionReason"
	// All pods that can be drained are gone.
	ConditionDrained = "Drained"
	// The instance is being ended.
	ConditionInstanceTerminating = "InstanceTerminating"
)

// Reasons of a pool's ConditionNodeClassReady and ConditionValidationSucceeded.
const (
	ReasonNodePoolValidationFailed = "NodePoolValidationFailed"
	ReasonNodeClassNotFound        = "NodeClassNotFound"
)
