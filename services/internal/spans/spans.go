// Package spans is the one home of the spans that Kerf makes beside those of gRPC's calls: their names, attributes,
// events and links, and the words of the reference. Services start spans by these names.
//
// It must never know how a span is made or sent. Start reading at table.go.
package spans

import "go.opentelemetry.io/otel/attribute"

// The names of spans.
const (
	Batch      = "watcher.Batch"
	Bind       = "watcher.Bind"
	Plan       = "planner.Plan"
	Apply      = "actuator.Apply"
	Launch     = "actuator.Launch"
	Register   = "actuator.Register"
	Initialize = "actuator.Initialize"
	Drain      = "actuator.Drain"
	Terminate  = "actuator.Terminate"
)

// The names of events.
const (
	Bound       = "pod bound"
	Gone        = "pod gone"
	LeftPending = "pods left pending"
	Disrupt     = "disruption"
	ThrownAway  = "plan thrown away"
	Accepted    = "decision accepted"
	Rejected    = "decision rejected"
)

// The keys of attributes.
const (
	PlanID     = attribute.Key("kerf.plan.id")
	Revision   = attribute.Key("kerf.snapshot.revision")
	Inventory  = attribute.Key("kerf.inventory.revision")
	Everything = attribute.Key("kerf.plan.everything")
	Pods       = attribute.Key("kerf.pods")
	Pod        = attribute.Key("kerf.pod")
	Node       = attribute.Key("kerf.node")
	Waited     = attribute.Key("kerf.waited_seconds")
	Claim      = attribute.Key("kerf.claim.id")
	Attempt    = attribute.Key("kerf.attempt")
	Decision   = attribute.Key("kerf.decision.id")
	Reason     = attribute.Key("kerf.reason")
	Message    = attribute.Key("kerf.message")
	Excluded   = attribute.Key("kerf.excluded")
	AwaitRoom  = attribute.Key("kerf.pods.wait_for_room")
)

// Span is a row of the reference.
type Span struct {
	Name string
	// Parent is what it hangs on.
	Parent     string
	Text       string
	Attributes []attribute.Key
	Events     []Event
	// Links says which other traces it points to; "" for none.
	Links string
}

// Event is something that happens within a span.
type Event struct {
	Name       string
	Text       string
	Attributes []attribute.Key
}

// MostEvents bounds the events of one span, and its links.
const MostEvents = 64
