// Package model holds the actuator's nouns: the claim and what surrounds it, as plain values.
//
// It is what the pure packages (lifecycle, apply, interrupt) and the ports (cloud, cluster, store) speak. It must never
// know protobuf, etcd, Kubernetes or AWS types; convert translates. Start reading at Claim.
package model

import "time"

// ClaimID identifies a claim for ever; it is also the name of the NodeClaim object.
type ClaimID string

// State is where a claim is in its life. It only moves forward.
type State int

// The states in order of life. Failed and Gone are ends.
const (
	StateUnspecified State = iota
	StatePlanned
	StateLaunching
	StateLaunched
	StateRegistered
	StateInitialized
	StateDraining
	StateTerminating
	StateGone
	StateFailed
)

// String returns the state's name in the field's words.
func (s State) String() string {
	names := [...]string{
		"Unspecified", "Planned", "Launching", "Launched", "Registered", "Initialized", "Draining", "Terminating", "Gone",
		"Failed",
	}
	if s < 0 || int(s) >= len(names) {
		return "Unknown"
	}

	return names[s]
}

// Ended says that nothing of the claim is left in EC2 and nothing will happen to it any more.
func (s State) Ended() bool { return s == StateGone || s == StateFailed }

// InFlight says that the claim may become a node but is none that can be relied on yet.
func (s State) InFlight() bool { return s >= StatePlanned && s <= StateRegistered }

// CapacityType is how an instance is paid for, in Kubernetes' words.
type CapacityType string

// The capacity types.
const (
	OnDemand CapacityType = "on-demand"
	Spot     CapacityType = "spot"
	Reserved CapacityType = "reserved"
)

// Offering is one (type, zone, capacity type), with the price that the plan saw, in micro-dollars per hour.
type Offering struct {
	InstanceType   string
	Zone           string
	CapacityType   CapacityType
	Price          int64
	PriceEstimated bool
	// ReservationID is the capacity reservation; "" unless the capacity type is Reserved.
	ReservationID string
}

// Label is a key and a value.
type Label struct{ Key, Value string }

// Amount is a quantity of a resource: millicores, bytes, or a count.
type Amount struct {
	Resource string
	Value    int64
}

// Taint is a node taint; Effect in Kubernetes' words.
type Taint struct{ Key, Value, Effect string }

// Requirement is a constraint on one label; Operator in Kubernetes' words (In, NotIn, Exists, …).
type Requirement struct {
	Key       string
	Operator  string
	Values    []string
	MinValues *int32
}

// ReasonCode is a stable code; its values are those of kerf.cluster.v1alpha1.ReasonCode.
type ReasonCode int32

// Reason is the answer to one why. The zero value means "nothing to say".
type Reason struct {
	Code    ReasonCode
	Message string
	Subject string
	Remedy  string
}

// DisruptionReason is why a claim is taken away; its values are those of kerf.cluster.v1alpha1.DisruptionReason.
type DisruptionReason int32

// The disruption reasons.
const (
	DisruptionUnspecified DisruptionReason = iota
	DisruptionEmpty
	DisruptionUnderutilized
	DisruptionDrifted
	DisruptionExpired
	DisruptionInterrupted
	DisruptionUnhealthy
	DisruptionDeleted
	DisruptionSurplus
)

// String returns the reason in the word that users see on NodeClaims.
func (r DisruptionReason) String() string {
	names := [...]string{
		"", "Empty", "Underutilized", "Drifted", "Expired", "Interrupted", "Unhealthy", "Deleted", "Surplus",
	}
	if r < 0 || int(r) >= len(names) {
		return "Unknown"
	}

	return names[r]
}

// Claim is one wish for one node, from the plan that asked for it to the end of its instance. Fields mean what
// kerf.cluster.v1alpha1.Claim says; zero times mean "not yet" or "never".
type Claim struct {
	ID        ClaimID
	NodePool  string
	NodeClass string
	State     State
	// Reached is the furthest state before Draining.
	Reached State

	Requirements  []Requirement
	Offerings     []Offering
	Requests      []Amount
	Pods          []string
	Labels        []Label
	Annotations   []Label
	Taints        []Taint
	StartupTaints []Taint
	PoolHash      string
	ClassHash     string

	// Launched is what the claim was launched as; the zero value before.
	Launched    Offering
	InstanceID  string
	ProviderID  string
	ImageID     string
	Node        string
	Capacity    []Amount
	Allocatable []Amount

	CreateTime             time.Time
	StateTime              time.Time
	LaunchTime             time.Time
	InitializeTime         time.Time
	ExpireTime             time.Time
	TerminationGracePeriod time.Duration // negative: none, the drain takes as long as it needs
	DrainDeadline          time.Time

	PlanID           string
	Replaces         string
	Disruption       string
	DisruptionReason DisruptionReason
	// Attempt counts launches that were begun; with the id it makes the client token.
	Attempt     int
	Failure     Reason
	Drifted     Reason
	Traceparent string
	Fence       int64
}

// Disruption is an accepted disruption and what became of it.
type Disruption struct {
	ID           string
	Reason       DisruptionReason
	Candidates   []ClaimID
	Replacements []ClaimID
	Pods         []string
	AcceptTime   time.Time
	EndTime      time.Time
	RolledBack   bool
	Saving       int64 // micro-dollars per hour
	// Workloads are whose pods it evicts, sorted by namespace, kind and name.
	Workloads []WorkloadEvictions
}

// WorkloadEvictions is how many pods of one owner a disruption evicts. Kind and Name are "" for pods without an owner.
type WorkloadEvictions struct {
	Namespace, Kind, Name string
	Pods                  int
}

// NoticeKind is what AWS announced; its values are those of kerf.cluster.v1alpha1.NoticeKind.
type NoticeKind int32

// The kinds of notices.
const (
	NoticeUnspecified NoticeKind = iota
	NoticeSpotInterruption
	NoticeRebalanceRecommendation
	NoticeStateChange
	NoticeScheduledChange
)

// Notice is an announcement about an instance, stored before its message leaves the queue.
type Notice struct {
	ID         string
	Kind       NoticeKind
	InstanceID string
	Claim      ClaimID
	EventTime  time.Time
	Deadline   time.Time // zero: the announcement sets none
	// State is the announced instance state of a state change ("stopping", "terminated", …); "" otherwise.
	State string
}

// Shortage remembers that EC2 had no capacity for an offering.
type Shortage struct {
	InstanceType string
	Zone         string // "" means every zone
	CapacityType CapacityType
	Until        time.Time
	Message      string
}
