package karpenterv1

import (
	"fmt"
	"strconv"
	"strings"
)

// Disruption says when a pool's nodes may be disrupted voluntarily.
type Disruption struct {
	// How long a node must have been quiet before it may be consolidated, or Never.
	// +kubebuilder:default="0s"
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter,omitempty"`
	// Which nodes may be taken away to save money.
	// +kubebuilder:default="WhenEmptyOrUnderutilized"
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// How many of the pool's nodes may be disrupted at once. The tightest of the
	// active budgets counts. An empty list means no cap.
	// +kubebuilder:default={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(x, has(x.schedule) == has(x.duration))",message="schedule and duration belong together: set both or neither"
	// +optional
	Budgets []Budget `json:"budgets,omitzero"`
}

// ConsolidationPolicy says which nodes may be taken away to save money.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

// The consolidation policies.
const (
	// Empty nodes only.
	ConsolidateWhenEmpty ConsolidationPolicy = "WhenEmpty"
	// Empty nodes, and nodes whose pods can live for less elsewhere. The default.
	ConsolidateWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	// As above, but only where the saving is worth the disturbance.
	ConsolidateBalanced ConsolidationPolicy = "Balanced"
)

// Budget caps how many of a pool's nodes may be disrupted at once.
type Budget struct {
	// The disruptions that the budget caps. Absent means all of them.
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// A number of nodes ("5"), or a share of the pool's nodes, rounded up ("10%").
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	Nodes string `json:"nodes"`
	// When the budget becomes active, as a cron line of five fields or one of @annually,
	// @yearly, @monthly, @weekly, @daily, @midnight, @hourly; always in UTC. Absent
	// means always active.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// How long the budget stays active after each hit of the schedule, in whole
	// minutes and hours.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+h)?([0-9]+m)?(0s)?$`
	// +kubebuilder:validation:MinLength=2
	// +optional
	Duration *string `json:"duration,omitempty"`
}

// DisruptionReason is a reason why a node may go that a budget can cap.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted;Unhealthy
type DisruptionReason string

// The reasons that a budget can cap.
const (
	// The node's pods can live for less elsewhere.
	ReasonUnderutilized DisruptionReason = "Underutilized"
	// No pod needs the node.
	ReasonEmpty DisruptionReason = "Empty"
	// The node is no longer what its pool or node class asks for.
	ReasonDrifted DisruptionReason = "Drifted"
	// A condition of the node has lasted for longer than the repair policy waits.
	ReasonUnhealthy DisruptionReason = "Unhealthy"
)

// BudgetNodes is what Budget.Nodes says: a number of nodes, or a share of them.
type BudgetNodes struct {
	// The number of nodes when IsPercent is false, else the percentage, 0 to 100.
	Value int32
	// Value is a percentage.
	IsPercent bool
}

// ParseBudgetNodes reads a budget's nodes field: a whole number of nodes ("5"),
// or a percentage of 0 to 100 ("10%").
func ParseBudgetNodes(s string) (BudgetNodes, error) {
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || strings.HasPrefix(digits, "+") {
		return BudgetNodes{}, fmt.Errorf("budget %q: want a number of nodes such as 5 or a percentage such as 10%%", s)
	}
	if percent && n > 100 {
		return BudgetNodes{}, fmt.Errorf("budget %q: want at most 100%%", s)
	}
	return BudgetNodes{Value: int32(n), IsPercent: percent}, nil
}
