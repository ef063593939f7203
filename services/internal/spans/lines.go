package spans

// Line is a log line that tells what happens; beside its own keys each has time, level, msg, service, version, and trace_id and span_id
// where it belongs to a span.
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
	return []Line{
		{nil, "serving", "The service listens.", []string{"address", "tls"}},
		{actuator, "leading", "This actuator leads from now on.", []string{"fence"}},
		{watcher, "read the cluster", "The watcher has seen all objects.", []string{"pods", "nodes", "duration"}},
		{watcher, "following the actuator's leader", "It has the inventory.", []string{"address", "driver"}},
		{watcher, "driver changed", "It begins or ceases to drive.", []string{"driver"}},
		{watcher, "planned", "A plan was made, and relayed where it says something new.", []string{
			"plan", "revision", "pods", "claims", "disruptions", "left_pending", "accepted", "rejected", "cost_before_micro_usd_per_hour",
			"cost_after_micro_usd_per_hour", "waited", "duration",
		}},
		{watcher, "problem", "A user's object has no effect.", []string{"subject", "code", "reason", "remedy"}},
		{actuator, "plan applied", "A plan's decisions were checked, and stored.", []string{"plan", "accepted", "rejected", "revision"}},
		{actuator, "created launch template", "EC2 has a launch template for a class.", []string{"template", "class"}},
		{actuator, "deleted launch template", "No launch needs it any more.", []string{"template"}},
		{actuator, "launch", "EC2 refused a launch; it is tried again.", []string{"claim", "attempt", "error"}},
		{actuator, "claim", "A claim goes from one state to the next.", []string{"claim", "state", "was", "instance", "node", "type", "zone", "why"}},
		{actuator, "notice", "AWS gives notice about an instance.", []string{"id", "kind", "instance", "claim"}},
		{nil, "stopped", "The service has ended as it was told to.", nil},
	}
}
