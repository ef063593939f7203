package metrics

import "go.opentelemetry.io/otel/attribute"

// The keys of attributes.
const (
	Pool         = attribute.Key("kerf.node_pool")
	CapacityType = attribute.Key("kerf.capacity_type")
	Zone         = attribute.Key("cloud.availability_zone")
	Reason       = attribute.Key("kerf.reason")
	Disruption   = attribute.Key("kerf.disruption.reason")
	Cause        = attribute.Key("kerf.claim.cause")
	ClaimState   = attribute.Key("kerf.claim.state")
	NodeState    = attribute.Key("kerf.node.state")
	PodPhase     = attribute.Key("kerf.pod.phase")
	WaitsFor     = attribute.Key("kerf.pod.waits_for")
	NoticeKind   = attribute.Key("kerf.notice.kind")
	Scope        = attribute.Key("kerf.plan.scope")
	Result       = attribute.Key("kerf.result")
	Operation    = attribute.Key("kerf.operation")
	Resource     = attribute.Key("kerf.resource")
	Object       = attribute.Key("kerf.object")
	ErrorType    = attribute.Key("error.type")
	Method       = attribute.Key("http.request.method")
	Status       = attribute.Key("http.response.status_code")
	Version      = attribute.Key("service.version")
	Revision     = attribute.Key("vcs.ref.head.revision")
	GoVersion    = attribute.Key("process.runtime.version")
)

// Values of Scope.
const (
	ScopePods       = "pods"
	ScopeEverything = "everything"
)

// Values of Result.
const (
	Accepted   = "accepted"
	Rejected   = "rejected"
	Evicted    = "evicted"
	Blocked    = "blocked"
	Deleted    = "deleted"
	Failed     = "failed"
	Completed  = "completed"
	RolledBack = "rolled_back"
	Ended      = "ended"
	Read       = "read"
	Unreadable = "unreadable"
	// NotLaunched is a claim for which EC2 launched no instance.
	NotLaunched = "not_launched"
)

// Values of NodeState.
const (
	NodeReady    = "ready"
	NodeNotReady = "not_ready"
	NodeLeaving  = "leaving"
)

// Values of WaitsFor: a plan that speaks of the pod, the scheduler to bind it, pods that are ending to leave, a node to
// come, and what no plan can do anything about.
const (
	ForPlan      = "plan"
	ForScheduler = "scheduler"
	ForRoom      = "room"
	ForNode      = "node"
	ForNothing   = "nothing"
)

// CauseProvisioned is the Cause of a claim that pending pods need; that of the others is the reason of the disruption
// that they are replacements of.
const CauseProvisioned = "Provisioned"

// Values of ErrorType where AWS or the store is asked.
const (
	ErrorCapacity     = "capacity"
	ErrorThrottled    = "throttled"
	ErrorInvalid      = "invalid"
	ErrorUnauthorized = "unauthorized"
	ErrorNotReady     = "class_not_ready"
	ErrorFenced       = "fenced"
	ErrorTooLarge     = "too_large"
	ErrorNotFound     = "not_found"
	ErrorOther        = "_OTHER"
)

func closed(k attribute.Key, values ...string) Attribute { return Attribute{Key: k, Values: values} }

func open(k attribute.Key, text string) Attribute { return Attribute{Key: k, Text: text} }

func pool() Attribute { return open(Pool, "a NodePool; empty for nodes of none") }

func capacityType() Attribute { return closed(CapacityType, "on-demand", "spot", "reserved") }

func disruption() Attribute {
	return closed(Disruption, "Empty", "Underutilized", "Drifted", "Expired", "Interrupted", "Unhealthy", "Deleted", "Surplus")
}

func reason() Attribute { return open(Reason, "code of [reasons.md](reasons.md)") }

func waitsFor() Attribute { return closed(WaitsFor, WaitValues()...) }

// WaitValues are all values of WaitsFor.
func WaitValues() []string { return []string{ForPlan, ForScheduler, ForRoom, ForNode, ForNothing} }

func resource() Attribute { return open(Resource, "a resource") }

func scope() Attribute { return closed(Scope, ScopePods, ScopeEverything) }

func noticeKind() Attribute {
	return closed(NoticeKind, "spot_interruption", "rebalance_recommendation", "state_change", "scheduled_change")
}

func failure(values ...string) Attribute {
	return Attribute{Key: ErrorType, Values: append(values, ErrorOther), Text: "absent where nothing failed"}
}
