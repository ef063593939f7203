package model

// The reason codes that the actuator gives itself, with the numbers of kerf.cluster.v1alpha1.ReasonCode (a test of package
// convert compares them).
const (
	ReasonNodePoolNotFound     ReasonCode = 1
	ReasonNodePoolInvalid      ReasonCode = 2
	ReasonNodeClassNotFound    ReasonCode = 3
	ReasonNodeClassNotReady    ReasonCode = 4
	ReasonRequirements         ReasonCode = 6
	ReasonNoOffering           ReasonCode = 9
	ReasonLimit                ReasonCode = 10
	ReasonUnsupported          ReasonCode = 18
	ReasonExpired              ReasonCode = 53
	ReasonDrifted              ReasonCode = 54
	ReasonInterrupted          ReasonCode = 55
	ReasonUnhealthy            ReasonCode = 57
	ReasonNotInitialized       ReasonCode = 71
	ReasonAlreadyDisrupted     ReasonCode = 72
	ReasonNodeDoNotDisrupt     ReasonCode = 73
	ReasonPodDoNotDisrupt      ReasonCode = 74
	ReasonBudget               ReasonCode = 79
	ReasonNoCheaper            ReasonCode = 81
	ReasonStaticPool           ReasonCode = 84
	ReasonCanary               ReasonCode = 90
	ReasonRepairGuard          ReasonCode = 91
	ReasonStale                ReasonCode = 100
	ReasonDuplicate            ReasonCode = 101
	ReasonNotFound             ReasonCode = 102
	ReasonGroup                ReasonCode = 103
	ReasonInvalid              ReasonCode = 104
	ReasonPriceChanged         ReasonCode = 105
	ReasonAlreadyAccepted      ReasonCode = 106
	ReasonInsufficientCapacity ReasonCode = 120
	ReasonLaunchRefused        ReasonCode = 121
	ReasonThrottled            ReasonCode = 122
	ReasonRegistrationTimeout  ReasonCode = 123
	ReasonLaunchTimeout        ReasonCode = 124
	ReasonInstanceLost         ReasonCode = 125
	ReasonDrainBlocked         ReasonCode = 126
	ReasonReplacementFailed    ReasonCode = 127
)
