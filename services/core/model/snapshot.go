package model

import (
	"cmp"
	"fmt"
	"time"
)

// Input is all that a decision sees. Decide changes nothing in it.
type Input struct {
	Snapshot Snapshot
	Policy   Policy
	// Kinds are what is asked for; none means everything.
	Kinds []DecisionKind
	// Now is the time to plan for; it must be set.
	Now time.Time
	// Seed breaks ties that nothing else breaks.
	Seed uint64
	// ResumeAfter is where the search for nodes to remove ended last time (DisruptionSummary.ResumeAfter); "" begins anew.
	ResumeAfter ClaimID
	// Exclude are claims to leave alone: none of them is disrupted by choice.
	Exclude []ClaimID
}

// DecisionKind is a part of a plan.
type DecisionKind int

// The kinds. The zero DecisionKind is invalid.
const (
	KindProvision DecisionKind = iota + 1
	KindDisrupt
)

// Policy is how Kerf weighs what the cluster's objects leave open. What is nil is said by the Default of the same name:
// read it with Or.
type Policy struct {
	// PerNodeOverhead is what one more node costs beside its price, micro-dollars per hour; 0 means that only the price
	// counts. It is never left open here: a policy of the contract that does not say it is read as DefaultPerNodeOverhead.
	PerNodeOverhead int64
	// MinSaving is the least that a consolidation must save, micro-dollars per hour; 0 means any saving.
	MinSaving int64
	// MaxOfferingsPerClaim is how many ranked offerings a claim lists at most, 1 to 200; nil means DefaultMaxOfferings.
	MaxOfferingsPerClaim *int
	// Preferences says what a pod's preferences count for: preferred affinity, soft spread, PreferNoSchedule.
	Preferences PreferencePolicy
	// PreferencePrice is what one pod's preference of weight 1 is worth where Preferences is PreferencesPriced,
	// micro-dollars per hour; nil means DefaultPreferencePrice.
	PreferencePrice *int64
	// MinValues says what becomes of a claim that can't have as many values as its pool's minValues ask for.
	MinValues MinValuesPolicy
	// DefaultSpread are the scheduler's default constraints, for pods without constraints of their own. They have no
	// selector: PodClass.DefaultSelector is used.
	DefaultSpread []TopologySpread
	// Work is how much the optimiser may do, in steps of about a microsecond; 0 means only the greedy start, nil as
	// much as the number of pods and instance types warrants. It is no time, so that the same input gives the same plan
	// on every machine.
	Work *int64
	// GapTarget stops the optimiser once the price is proven to be that near to the lowest; nil means DefaultGapTarget.
	GapTarget *float64
	// MaxPodsOfWorkloadPerNode caps how many pods of one owner a new node is packed with, and a node has after a move, 1 or
	// more; 0 means no cap.
	MaxPodsOfWorkloadPerNode int
	// EvictionPrice is what it costs to evict one ordinary pod by choice, micro-dollars; nil means DefaultEvictionPrice.
	EvictionPrice *int64
	// Payback is how soon what a disruption for money saves must make up for its evictions; nil means DefaultPayback.
	Payback *time.Duration
	// PodRest is how long a pod that came in the place of one that was moved by choice is left alone; nil means
	// DefaultPodRest.
	PodRest *time.Duration
	// RoomWait is for how long pods are let wait for the room of pods that are being deleted; nil means DefaultRoomWait.
	RoomWait *time.Duration
	// DisruptionTrials is how many sets of nodes a plan tries to remove at most; nil means as many as the number of nodes
	// warrants.
	DisruptionTrials *int64
	// Repair says when nodes are unhealthy.
	Repair RepairPolicy
	// SchedulerNames are the schedulers whose pods are planned for; none means DefaultScheduler alone.
	SchedulerNames []string
}

// DefaultScheduler is the scheduler of pods that name none.
const DefaultScheduler = "default-scheduler"

// What a Policy means where it does not say.
const (
	DefaultMaxOfferings = 60
	// MostOfferings is the largest MaxOfferingsPerClaim.
	MostOfferings = 200
	// DefaultPerNodeOverhead is a tenth of a cent an hour, about the price of the smallest root disk. Of plans of one price
	// the one with the fewest nodes wins by it, and no plan gets more expensive by more than that for each node that it
	// saves.
	DefaultPerNodeOverhead int64 = 1000
	// DefaultPreferencePrice makes a pod's heaviest preference (weight 100) worth a thousandth of a dollar an hour.
	DefaultPreferencePrice int64 = 10
	DefaultGapTarget             = 0.003
	DefaultEvictionPrice   int64 = 1000
	DefaultPayback               = time.Hour
	// JustStarted is how many times more the eviction of a pod weighs that has just started. Its node was the best
	// there was a moment ago, and what has just changed soon changes again: a saving that is not to be had for long
	// must be large.
	JustStarted = 20
	// SettledAfter is from which age on a pod's eviction weighs no more for that.
	SettledAfter = time.Minute
	// DefaultPodRest is Policy.PodRest where it is nil.
	DefaultPodRest = 30 * time.Minute
	// DefaultRoomWait is Policy.RoomWait where it is nil: the grace that pods have where they don't say another. A node
	// of EC2's takes longer until it can run pods.
	DefaultRoomWait = 30 * time.Second
	// LongestRoomWait is the longest RoomWait that makes sense: a node would have come before.
	LongestRoomWait = 2 * time.Minute
	// LongestPodRest is the longest PodRest: the actuator remembers for that long which pods a disruption moved.
	LongestPodRest = 6 * time.Hour
	// DefaultMaxUnhealthyPercent is Karpenter's share of unhealthy nodes above which it stops repairing.
	DefaultMaxUnhealthyPercent = 20
)

// RepairPolicy says which nodes are unhealthy and to be repaired.
type RepairPolicy struct {
	// Off keeps all unhealthy nodes.
	Off bool
	// Conditions are the ways to be unhealthy; none means DefaultRepairConditions.
	Conditions []RepairCondition
	// MaxUnhealthyPercent is the share of a pool's nodes that may be unhealthy at once for any to be taken away; 0 means
	// DefaultMaxUnhealthyPercent.
	MaxUnhealthyPercent int
}

// RepairCondition is one way to be unhealthy.
type RepairCondition struct {
	// Type is the type of the node's condition, Status "True", "False" or "Unknown".
	Type, Status string
	// After is how long it must last.
	After time.Duration
}

// DefaultRepairConditions are those of the EKS node monitoring agent, with the patience that Karpenter's AWS provider has
// with them.
func DefaultRepairConditions() []RepairCondition {
	const long, short = 30 * time.Minute, 10 * time.Minute
	return []RepairCondition{
		{"Ready", "False", long},
		{"Ready", "Unknown", long},
		{"AcceleratedHardwareReady", "False", short},
		{"StorageReady", "False", long},
		{"NetworkingReady", "False", long},
		{"KernelReady", "False", long},
		{"ContainerRuntimeReady", "False", long},
	}
}

// Or is what a policy says, or otherwise its default.
func Or[T any](said *T, otherwise T) T {
	if said != nil {
		return *said
	}
	return otherwise
}

// PreferencePolicy says what preferences count for.
type PreferencePolicy int

// The policies; the numbers are those of kerf.cluster.v1alpha1. The zero value means PreferencesPriced.
const (
	// PreferencesPriced honours a preference where that costs nothing, or less than the preference is worth.
	PreferencesPriced PreferencePolicy = iota + 1
	// PreferencesIgnored plans as if there were no preferences.
	PreferencesIgnored
	// PreferencesEnforced treats preferences as requirements, and gives up only those that can't be met.
	PreferencesEnforced
)

// MinValuesPolicy says what becomes of a claim that can't be as flexible as its pool's minValues ask for.
type MinValuesPolicy int

// The policies; the numbers are those of kerf.cluster.v1alpha1. The zero value means MinValuesStrict.
const (
	// MinValuesStrict makes no such claim.
	MinValuesStrict MinValuesPolicy = iota + 1
	// MinValuesBestEffort makes it as flexible as it can be, and says so on the claim.
	MinValuesBestEffort
)

// Snapshot is one immutable value of everything that planning looks at. Its lists may come in any order.
type Snapshot struct {
	Revision          uint64
	InventoryRevision int64
	Cluster           string
	ObserveTime       time.Time

	PodClasses           []PodClass
	Pods                 []Pod
	DaemonSets           []DaemonSet
	Nodes                []Node
	Namespaces           []Namespace
	PodDisruptionBudgets []PodDisruptionBudget
	NodePools            []NodePool

	NodeClasses []NodeClass
	Catalogs    []Catalog
	Offerings   []Offering
	Claims      []Claim
	Notices     []Notice
	Disruptions []DisruptionRecord

	NodeOverlays    []NodeOverlay
	CapacityBuffers []CapacityBuffer
}

// Shortage remembers that EC2 had no capacity for an offering.
type Shortage struct {
	InstanceType TypeName
	// Zone is "" for every zone.
	Zone         string
	CapacityType CapacityType
	// Until is when it is worth another try.
	Until   time.Time
	Message string
	// Times is how often in a row it was short: each time, it is believed for longer.
	Times int
	// Tries is how many claims may try it at once now that it is worth another try; 0 is one.
	Tries int
}

// Notice is what AWS announced about an instance.
type Notice struct {
	ID         string
	Kind       NoticeKind
	InstanceID string
	// Claim is "" while it is not known.
	Claim     ClaimID
	EventTime time.Time
	// Deadline is when the instance goes; zero when the message sets no time.
	Deadline time.Time
	// InstanceState is the instance's new state in EC2's words, or StateImpaired, for NoticeStateChange; "" otherwise.
	InstanceState string
	// StartTime is when a scheduled change begins; zero where no time is known. There is a Deadline beside it only
	// where the instance ends then: one that is rebooted goes on.
	StartTime time.Time
}

// StateImpaired is EC2's word for an instance whose status checks fail.
const StateImpaired = "impaired"

// NoticeKind is the kind of a notice.
type NoticeKind int

// The kinds of notices. The zero NoticeKind is invalid.
const (
	NoticeSpotInterruption NoticeKind = iota + 1
	NoticeRebalanceRecommendation
	NoticeStateChange
	NoticeScheduledChange
)

// DisruptionRecord is what became of a disruption that was accepted.
type DisruptionRecord struct {
	ID           DisruptionID
	Reason       DisruptionReason
	Candidates   []ClaimID
	Replacements []ClaimID
	Pods         []PodID
	AcceptTime   time.Time
	// EndTime is zero while it goes on.
	EndTime    time.Time
	RolledBack bool
	// Saving is in micro-dollars per hour; 0 where the reason is not money.
	Saving int64
	// Workloads are whose pods it evicts. Sorted.
	Workloads []WorkloadEvictions
	// Staged says that its candidates are drained as budgets let them, not all at once.
	Staged bool
}

// WorkloadEvictions is how many pods of one controller and revision a disruption evicts. The pods that come in their place
// have other names. Kind and Name are "" for pods without an owner, UID and Revision where they are not known.
type WorkloadEvictions struct {
	Namespace, Kind, Name string
	UID, Revision         string
	Pods                  int
}

// String is namespace/kind/name@uid:revision=pods, without what is not known.
func (w WorkloadEvictions) String() string {
	of := ""
	if w.UID != "" || w.Revision != "" {
		of = "@" + w.UID + ":" + w.Revision
	}
	return fmt.Sprintf("%s/%s/%s%s=%d", w.Namespace, w.Kind, w.Name, of, w.Pods)
}

// Compare orders lists of them: by all that names the pods.
func (w WorkloadEvictions) Compare(o WorkloadEvictions) int {
	return cmp.Or(cmp.Compare(w.Namespace, o.Namespace), cmp.Compare(w.Kind, o.Kind), cmp.Compare(w.Name, o.Name),
		cmp.Compare(w.UID, o.UID), cmp.Compare(w.Revision, o.Revision))
}
