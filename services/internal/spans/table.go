package spans

import "go.opentelemetry.io/otel/attribute"

// Table is all spans, in the order in which they begin.
func Table() []Span {
	claim := []attribute.Key{Claim, PlanID, Inventory, Message}
	return []Span{
		{
			Name: Batch, Attributes: []attribute.Key{Revision, Pods, PlanID},
			Text: "From the first event that a plan is for until the actuator's answer to it.",
			Links: "to the plans whose claims have changed since the plan before, and to that plan itself where it failed, was refused in part, " +
				"had not looked at everything, or asked for this one at its time",
		},
		{
			Name: Plan, Parent: Batch, Attributes: []attribute.Key{Revision, Pods, PlanID, AwaitRoom},
			Text: "The plan is made and verified. For the pods that it has wait for others to leave nodes it buys nothing.",
			Events: []Event{
				{LeftPending, "The plan finds nothing for these pods; one event for each reason.", []attribute.Key{Reason, Message, Pods}},
				{Disrupt, "The plan takes nodes away; one event for each disruption.", []attribute.Key{Decision, Reason, Message}},
				{ThrownAway, "A plan broke a rule, and was made again without what broke it.", []attribute.Key{Message, Excluded}},
			},
		},
		{
			Name: Apply, Parent: Batch, Attributes: []attribute.Key{PlanID, Inventory},
			Text: "The actuator's leader checks the plan, and stores what it accepts.",
			Events: []Event{
				{Accepted, "A claim or a disruption will be carried out.", []attribute.Key{Decision}},
				{Rejected, "A claim or a disruption is refused.", []attribute.Key{Decision, Reason, Message}},
			},
			Links: "to the plans that the nodes were launched by that this plan takes away",
		},
		{
			Name: Launch, Parent: Apply, Attributes: []attribute.Key{Claim, PlanID, Attempt},
			Text: "One request for an instance, until EC2 answers.",
		},
		{Name: Register, Parent: Apply, Attributes: claim, Text: "From EC2's answer until the node has joined the cluster."},
		{Name: Initialize, Parent: Apply, Attributes: claim, Text: "From EC2's answer until the node is ready for pods."},
		{
			Name: Bind, Parent: Batch, Attributes: []attribute.Key{PlanID, Pods},
			Text: "From when the first of the pods that the plan has a place for was unschedulable until the last of them was bound.",
			Events: []Event{
				{Bound, "The scheduler has bound a pod.", []attribute.Key{Pod, Node, Waited}},
				{Gone, "A pod was deleted before it was bound.", []attribute.Key{Pod}},
			},
		},
		{Name: Drain, Parent: Apply, Attributes: claim, Text: "The node's pods are evicted."},
		{Name: Terminate, Parent: Apply, Attributes: claim, Text: "From the end of the drain until EC2 shows that the instance has ended."},
	}
}
