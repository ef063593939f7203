package model

import "time"

// NodePool is a user's policy for a kind of nodes.
type NodePool struct {
	Name PoolName
	// Weight is the preference among pools, higher first.
	Weight        int32
	NodeClass     NodeClassName
	Labels        Labels
	Annotations   Labels
	Taints        []Taint
	StartupTaints []Taint
	Requirements  []Requirement
	// Limits are the most that the pool's nodes may have together; what is not listed is unlimited.
	Limits Amounts
	// ExpireAfter is nil for nodes that never grow too old.
	ExpireAfter *time.Duration
	// TerminationGracePeriod is nil for drains that take as long as they need.
	TerminationGracePeriod *time.Duration
	ConsolidationPolicy    ConsolidationPolicy
	// ConsolidateAfter is how long a node must have been quiet; nil means that it is never consolidated.
	ConsolidateAfter *time.Duration
	Budgets          []DisruptionBudget
	// Replicas is set for a static pool, which does not follow its pods.
	Replicas *int64
	Hash     string
	// NotReady is why the pool can't be used; OK when it can.
	NotReady Reason
	// Devices are what the pool's owner says that drivers will publish for its new nodes.
	Devices []DeviceTemplate
}

// ConsolidationPolicy says which nodes may be taken away to save money.
type ConsolidationPolicy int

// The policies. The zero ConsolidationPolicy is invalid.
const (
	WhenEmpty ConsolidationPolicy = iota + 1
	WhenEmptyOrUnderutilized
	Balanced
)

// String is the policy as NodePools write it.
func (p ConsolidationPolicy) String() string {
	switch p {
	case WhenEmpty:
		return "WhenEmpty"
	case WhenEmptyOrUnderutilized:
		return "WhenEmptyOrUnderutilized"
	case Balanced:
		return "Balanced"
	}
	return "invalid"
}

// DisruptionBudget caps voluntary disruption of a pool's nodes.
type DisruptionBudget struct {
	// Count is that many nodes, or with IsPercent that share of the pool's nodes (0 to 100), rounded up.
	Count     int32
	IsPercent bool
	// Reasons are the disruptions that it caps; none means all.
	Reasons []DisruptionReason
	// Schedule is a cron line in UTC at which the budget becomes active; "" means always active.
	Schedule string
	// Duration is how long it stays active after each hit of the schedule.
	Duration time.Duration
}

// DisruptionReason is why a node may go.
type DisruptionReason int

// The reasons. The zero DisruptionReason is invalid where one is needed.
const (
	ReasonEmpty DisruptionReason = iota + 1
	ReasonUnderutilized
	ReasonDrifted
	ReasonExpired
	ReasonInterrupted
	ReasonUnhealthy
	ReasonDeleted
	ReasonSurplus
)

// ByChoice says whether a disruption for the reason could as well wait.
func (r DisruptionReason) ByChoice() bool {
	return r == ReasonEmpty || r == ReasonUnderutilized || r == ReasonDrifted || r == ReasonExpired
}

// String is the reason as NodePools write it.
func (r DisruptionReason) String() string {
	switch r {
	case ReasonEmpty:
		return "Empty"
	case ReasonUnderutilized:
		return "Underutilized"
	case ReasonDrifted:
		return "Drifted"
	case ReasonExpired:
		return "Expired"
	case ReasonInterrupted:
		return "Interrupted"
	case ReasonUnhealthy:
		return "Unhealthy"
	case ReasonDeleted:
		return "Deleted"
	case ReasonSurplus:
		return "Surplus"
	}
	return "invalid"
}

// NodeClass is how instances are made: what was found in AWS for an EC2NodeClass.
type NodeClass struct {
	Name    NodeClassName
	Catalog CatalogID
	// Zones are those in which the class has a subnet.
	Zones []string
	// Images are those that the class may launch; the first that fits an instance type is used.
	Images []MachineImage
	Hash   string
	// NotReady is why the class can't launch; OK when it can.
	NotReady   Reason
	Generation int64
	// Reservations are the capacity reservations that the class may launch into, sorted.
	Reservations []string
}

// MachineImage is a machine image and the instance types that can boot it.
type MachineImage struct {
	ID           string
	Name         string
	Requirements []Requirement
	CreateTime   time.Time
}
