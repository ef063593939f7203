package model

import "time"

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
}

// DecisionKind is a part of a plan.
type DecisionKind int

// The kinds. The zero DecisionKind is invalid.
const (
	KindProvision DecisionKind = iota + 1
	KindDisrupt
)

// Policy is how Kerf weighs what the cluster's objects leave open. The zero value is a sound default.
type Policy struct {
	// PerNodeOverhead is what one more node costs beside its price, micro-dollars per hour; 0 means that only the price
	// counts.
	PerNodeOverhead int64
	// MinSaving is the least that a consolidation must save, micro-dollars per hour; 0 means any saving.
	MinSaving int64
	// MaxOfferingsPerClaim is how many ranked offerings a claim lists at most, 1 to 200; 0 means 60.
	MaxOfferingsPerClaim int
}

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
	// InstanceState is the instance's new state in EC2's words for NoticeStateChange; "" otherwise.
	InstanceState string
}

// NoticeKind is the kind of an announcement.
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
	// Saving is in micro-dollars per hour.
	Saving int64
}
