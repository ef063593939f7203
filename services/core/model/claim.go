package model

import "time"

// ClaimState is where a claim is in its life; a claim moves only forward.
type ClaimState int

// The states in order. The zero ClaimState is invalid.
const (
	ClaimPlanned ClaimState = iota + 1
	ClaimLaunching
	ClaimLaunched
	ClaimRegistered
	ClaimInitialized
	ClaimDraining
	ClaimTerminating
	ClaimGone
	ClaimFailed
)

// String is the state's name.
func (s ClaimState) String() string {
	switch s {
	case ClaimPlanned:
		return "Planned"
	case ClaimLaunching:
		return "Launching"
	case ClaimLaunched:
		return "Launched"
	case ClaimRegistered:
		return "Registered"
	case ClaimInitialized:
		return "Initialized"
	case ClaimDraining:
		return "Draining"
	case ClaimTerminating:
		return "Terminating"
	case ClaimGone:
		return "Gone"
	case ClaimFailed:
		return "Failed"
	}
	return "invalid"
}

// Ended says that nothing of the claim is left in EC2 and that nothing will happen to it any more.
func (s ClaimState) Ended() bool { return s == ClaimGone || s == ClaimFailed }

// InFlight says that the claim may become a node but is not Initialized yet.
func (s ClaimState) InFlight() bool { return s >= ClaimPlanned && s <= ClaimRegistered }

// Claim is one node that a plan asked for, from that plan to the end of its instance.
type Claim struct {
	ID        ClaimID
	NodePool  PoolName
	NodeClass NodeClassName
	State     ClaimState
	// Reached is the last state that it reached before Draining.
	Reached ClaimState
	// Requirements are what the node must be.
	Requirements []Requirement
	// Offerings are what it may be launched as, best first.
	Offerings []RankedOffering
	// Requests is what its pods and DaemonSets ask for in sum.
	Requests Amounts
	// Pods are those that it was bought for.
	Pods          []PodID
	Labels        Labels
	Annotations   Labels
	Taints        []Taint
	StartupTaints []Taint
	PoolHash      string
	ClassHash     string

	// InstanceType, Zone and CapacityType are zero before the launch.
	InstanceType TypeName
	Zone         string
	CapacityType CapacityType
	// Price is that at launch, micro-dollars per hour.
	Price      int64
	InstanceID string
	ProviderID string
	ImageID    string
	// Node is "" before the node registered.
	Node        NodeName
	Capacity    Amounts
	Allocatable Amounts

	CreateTime     time.Time
	StateTime      time.Time
	LaunchTime     time.Time
	InitializeTime time.Time
	// ExpireTime is when the node becomes too old; zero means never.
	ExpireTime             time.Time
	TerminationGracePeriod *time.Duration
	// DrainDeadline is when the drain ends by force; zero while it may take its time.
	DrainDeadline time.Time

	PlanID PlanID
	// Replaces is the disruption that this claim is a replacement of; "" when it is none.
	Replaces DisruptionID
	// Disruption is the disruption that takes this claim away; "" when none does.
	Disruption       DisruptionID
	DisruptionReason DisruptionReason
	// Attempt counts the launches that were begun; with the id it makes the client token.
	Attempt int
	// Launch names the call that launches it together with other claims, LaunchSize of them; "" where it is launched
	// alone, or not yet.
	Launch     string
	LaunchSize int
	// Failure is why it failed or what holds it up; OK when all is well.
	Failure Reason
	// Drifted is how it no longer is what its pool or class asks for; OK when it still is.
	Drifted     Reason
	Traceparent string
	Fence       int64
	// ReservationID is the capacity reservation that it was launched into; "" unless CapacityType is Reserved.
	ReservationID string
	// RemovalDeferred says that the newest plan means to remove it once budgets, and pods that have just started, let
	// that happen.
	RemovalDeferred bool
	// Arrivals are how many pods are to come in place of those that it was bought for and that its disruption evicts.
	// Sorted by owner.
	Arrivals []Arrivals
}

// InFlight is the claim that a plan's claim of a pool will be.
func (c *NodeClaim) InFlight(p *NodePool, now time.Time) Claim {
	return Claim{
		ID: c.ID, NodePool: c.NodePool, NodeClass: c.NodeClass, State: ClaimPlanned,
		Requirements: c.Requirements, Offerings: c.Offerings, Requests: c.Requests, Pods: c.Pods, Price: c.Price,
		Labels: p.Labels, Taints: p.Taints, StartupTaints: p.StartupTaints, CreateTime: now, StateTime: now,
	}
}

// LaunchedAs notes which offering the claim became.
func (c *Claim) LaunchedAs(o RankedOffering) {
	c.InstanceType, c.Zone, c.CapacityType, c.Price, c.ReservationID = o.InstanceType, o.Zone, o.CapacityType, o.Price, o.ReservationID
}

// Live says whether the claim has, or will have, an instance: it is neither gone nor failed.
func (c *Claim) Live() bool {
	return !c.State.Ended()
}

// Arrivals are pods that one controller, by its uid, is to make in place of others that are evicted.
type Arrivals struct {
	OwnerUID string
	Pods     int
}
