package spans

import "slices"

// Line is a log line that tells what happens; beside its own keys each has time, level, msg, service, version, and
// trace_id and span_id where it belongs to a span.
type Line struct {
	// Services are who writes it; none for all.
	Services []string
	Message  string
	Text     string
	Keys     []string
}

// Lines are the lines of a cluster's life, in the order in which they come.
func Lines() []Line {
	watcher, actuator := []string{"watcher"}, []string{"actuator"}
	claim := []string{"claim", "plan", "pool"}
	launched := slices.Concat(claim, []string{"instance", "type", "zone"})
	joined := slices.Concat(launched, []string{"node"})
	return []Line{
		{nil, "serving", "The service listens.", []string{"address", "tls"}},
		{actuator, "leading", "This actuator leads from now on.", []string{"fence"}},
		{watcher, "read the cluster", "The watcher has seen all objects.", []string{"pods", "nodes", "duration"}},
		{watcher, "following the actuator's leader", "It has the inventory.", []string{"address", "driver"}},
		{watcher, "driver changed", "It begins or ceases to drive.", []string{"driver"}},
		{watcher, "planned", "A plan was made, and relayed where it says something new.", []string{
			"plan", "revision", "pods", "claims", "disruptions", "left_pending", "wait_for_room", "accepted", "rejected", "cost_before_micro_usd_per_hour",
			"cost_after_micro_usd_per_hour", "waited", "duration",
		}},
		{watcher, "problem", "A user's object has no effect.", []string{"subject", "code", "reason", "remedy"}},
		{actuator, "plan applied", "A plan's decisions were checked, and stored.", []string{"plan", "accepted", "rejected", "revision"}},
		{actuator, "created launch template", "EC2 has a launch template for a class.", []string{"template", "class"}},
		{actuator, "deleted launch template", "No launch needs it any more.", []string{"template"}},
		{actuator, "disrupting nodes", "Nodes go: which, what comes in their place, and why.", []string{
			"disruption", "plan", "reason", "claims", "replacements", "pods", "saving_micro_usd_per_hour", "why",
		}},
		{actuator, "created nodeclaim", "A plan's claim is stored. One that replaces others says so in `replaces`.", slices.Concat(claim, []string{"pods"})},
		{actuator, "launching nodeclaim", "EC2 is asked for its instance.", claim},
		{actuator, "launch refused", "EC2 refused a launch; it is tried again.", []string{"claim", "plan", "attempt", "error"}},
		{actuator, "launched nodeclaim", "EC2 has launched the instance.", launched},
		{actuator, "registered nodeclaim", "The node has joined the cluster.", joined},
		{actuator, "initialized nodeclaim", "The node is ready for pods.", joined},
		{actuator, "draining nodeclaim", "The node's pods are evicted. `disruption` is what takes it away, where a plan does.", slices.Concat(joined, []string{"reason"})},
		{actuator, "terminating nodeclaim", "EC2 is asked to end the instance.", slices.Concat(joined, []string{"reason"})},
		{actuator, "deleted nodeclaim", "Nothing is left of it.", slices.Concat(joined, []string{"reason"})},
		{actuator, "failed nodeclaim", "It never became a ready node; `why` tells why.", slices.Concat(claim, []string{"why"})},
		{actuator, "notice", "AWS gives notice about an instance.", []string{"id", "kind", "instance", "claim"}},
		{nil, "stopped", "The service has ended as it was told to.", nil},
	}
}
