package model

// Reason answers one "why". The zero Reason means that nothing stands in the way.
type Reason struct {
	Code Code
	// Message is one sentence with the figures in it.
	Message string
	// Subject is what it is about, as "kind/name"; "" where it is about nothing in particular.
	Subject string
	// Remedy is the one change that would have made the answer another, or all that it takes; "" when there is none.
	Remedy string
}

// OK says that the reason is the zero Reason: nothing stands in the way.
func (r Reason) OK() bool { return r.Code == CodeNone }

// Code is the closed list of answers. The numbers are those of kerf.cluster.v1alpha1.ReasonCode.
type Code int

// CodeNone is the code of the zero Reason; it is never part of a plan.
const CodeNone Code = 0

// Why a pod stays pending.
const (
	CodeNoNodePool Code = iota + 1
	CodeNodePoolInvalid
	CodeNodeClassNotFound
	CodeNodeClassNotReady
	CodeTaint
	CodeRequirements
	CodeLabelUndefined
	CodeResources
	CodeNoOffering
	CodeLimit
	CodeHostPort
	CodeVolumeZone
	CodeVolumeLimit
	CodeTopologySpread
	CodePodAffinity
	CodePodAntiAffinity
	CodeMinValues
	CodeUnsupported
	CodePreemption
	CodeDevices
	CodeVolumeInUse
	CodeBeingDeleted
	CodeNodeLacks
)

// Why a claim is what it is.
const (
	CodeCheapest Code = iota + 30
	CodeMoreExpensive
	CodeTie
	CodeStatic
)

// Why a node goes.
const (
	CodeEmpty Code = iota + 50
	CodePodsFitElsewhere
	CodeCheaperReplacement
	CodeExpired
	CodeDrifted
	CodeInterrupted
	CodeSurplus
	CodeUnhealthy
)

// Why a node stays.
const (
	CodeNotOwned Code = iota + 70
	CodeNotInitialized
	CodeAlreadyDisrupted
	CodeNodeDoNotDisrupt
	CodePodDoNotDisrupt
	CodePDB
	CodePodWithoutController
	CodeConsolidationPolicy
	CodeConsolidateAfter
	CodeBudget
	CodeNominated
	CodeNoCheaper
	CodeNoDestination
	CodePriceUnknown
	CodeStaticPool
	CodeSuperseded
	CodeCapacityBuffer
	CodePayback
	CodeResting
	CodeRollout
	CodeCanary
	CodeRepairGuard
	CodeNotTried
	CodeVolumePinned
	CodePoolGrowing
	CodeZoneShifted
	CodePoolShrinking
)

// Answers of the actuator; the planner only passes them on.
const (
	CodeStale Code = iota + 100
	CodeDuplicate
	CodeNotFound
	CodeGroup
	CodeInvalid
	CodePriceChanged
	CodeAlreadyAccepted
)

// What holds up a claim; the planner only passes them on.
const (
	CodeInsufficientCapacity Code = iota + 120
	CodeLaunchRefused
	CodeThrottled
	CodeRegistrationTimeout
	CodeLaunchTimeout
	CodeInstanceLost
	CodeDrainBlocked
	CodeReplacementFailed
)

// Why a user's object has no effect.
const (
	CodeOverlayInvalid Code = iota + 140
	CodeOverlayConflict
	CodeBufferInvalid
	CodeBufferReference
)
