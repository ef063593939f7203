// Package lifecycle is the life of a claim as a pure function: Step takes a claim and something that happened or was
// seen, and returns the claim as it is now and what must be done about it.
//
// It never acts and has no clock; it must know neither etcd nor AWS nor Kubernetes beyond the values of the ports. The
// caller stores the returned claim before it carries out an effect, may drop an effect (the next observation asks for
// it again) and may repeat one (all are idempotent).
//
// Start reading at Step and the table below it; testdata/table.golden prints the table. drain.go plans evictions.
package lifecycle

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// How long things may take. The first two are those that Karpenter's users are used to.
const (
	// LaunchTimeout is how long a claim may wait for its instance, the time apart in which its launch waits for others, and
	// that in which EC2 is silent.
	LaunchTimeout = 5 * time.Minute
	// RegistrationTimeout is how long an instance may take to join the cluster as a node, the time apart in which the API
	// server is silent; and how long Kerf may take to let it open after that.
	RegistrationTimeout = 15 * time.Minute
	// InitializationTimeout is how long a node may take to become Initialized, unless the event says otherwise.
	InitializationTimeout = 30 * time.Minute
	// SettleTime is how long a leader that has just begun leaves alone what is late by its clock alone: it does not know in
	// which of the time before it the API server was silent.
	SettleTime = 3 * time.Minute
	// NodeMissingTimeout is how long the cluster may lack the node of an instance that runs: a kubelet registers its
	// node anew when it is started again, and not before.
	NodeMissingTimeout = 5 * time.Minute
	// VisibilityDelay is how long EC2 may take to show an instance that it has made. Before that, absence proves nothing.
	VisibilityDelay = time.Minute
)

// EventKind is what kind of thing happened or was seen.
type EventKind int

// The events. Those that say "seen" are levels: they are repeated for as long as they hold.
const (
	EventUnspecified EventKind = iota
	// EventStart: the claim's class is ready and Offerings are what it may be launched as now.
	EventStart
	// EventTick: time has passed. Deadline is when a claim that is launching, launched or registered is given up; of
	// the last, and of one that drains, Node is the node, if NodeThere.
	EventTick
	// EventLaunched: the launch returned Instance.
	EventLaunched
	// EventLaunchFailed: the launch returned Failure, with Reason; Offerings are what is left to try where no instance
	// was made.
	EventLaunchFailed
	// EventInstanceSeen: EC2 shows Instance for the claim, and it is not ending.
	EventInstanceSeen
	// EventInstanceEnding: EC2 shows that the claim's instance is shutting down, for Reason.
	EventInstanceEnding
	// EventInstanceEnded: EC2 shows that the claim's instance has ended, for Reason.
	EventInstanceEnded
	// EventInstanceAbsent: EC2 showed no instance for the claim in the list taken at Time. Node is the claim's, if there
	// is one.
	EventInstanceAbsent
	// EventNodeSeen: the cluster shows Node for the claim.
	EventNodeSeen
	// EventNodeAbsent: the cluster has had no node for the claim since Time; Reason, if set, is why its instance must stay.
	EventNodeAbsent
	// EventDrain: the node must go, for DisruptionReason; Deadline, if set, is when it is gone whatever happens. Node
	// is the node, if NodeThere.
	EventDrain
	// EventDisrupt: Disruption was accepted and names the claim.
	EventDisrupt
	// EventRollBack: the disruption that names the claim was given up.
	EventRollBack
	// EventDefer: Deferred says whether a plan means to remove the claim later.
	EventDefer

	lastEvent = EventDefer
)

// String returns the event's name as the table prints it.
func (k EventKind) String() string {
	names := [...]string{
		"Unspecified", "Start", "Tick", "Launched", "LaunchFailed", "InstanceSeen", "InstanceEnding", "InstanceEnded",
		"InstanceAbsent", "NodeSeen", "NodeAbsent", "Drain", "Disrupt", "RollBack", "Defer",
	}
	if k < 0 || int(k) >= len(names) {
		return "Unknown"
	}
	return names[k]
}

// Failure is how a launch failed, as far as it matters for what comes next.
type Failure int

// The failures.
const (
	FailureUnspecified Failure = iota
	// FailureRetry: it is not known whether an instance was made, or the same may work later.
	FailureRetry
	// FailureCapacity: EC2 had nothing; no instance was made.
	FailureCapacity
	// FailureRefused: this launch will never work.
	FailureRefused
	// FailureLater: no instance was made, and the same may work later; under another token, because EC2 gives the same
	// answer to the same token.
	FailureLater
)

// Instance is an instance as far as a claim records it.
type Instance struct {
	ID, ProviderID, ImageID string
	Offering                model.RankedOffering
	LaunchTime              time.Time
	// Labels, Capacity and Allocatable are what its node is expected to have. Labels replace the claim's.
	Labels                model.Labels
	Capacity, Allocatable model.Amounts
}

// Event is something that happened or was seen. Which fields count depends on Kind.
type Event struct {
	Kind      EventKind
	Time      time.Time
	Instance  Instance
	Failure   Failure
	Reason    model.Reason
	Offerings []model.RankedOffering

	Node cluster.Node
	// NodeThere says for EventInstanceEnded, EventInstanceAbsent, EventDrain and EventTick that the cluster has a node
	// for the claim.
	NodeThere bool
	// Held are pods ("namespace/name") whose eviction should wait a little; Blocked are those whose last eviction was
	// refused, with the words.
	Held    map[string]bool
	Blocked map[string]string
	// TaintTime is when this leader first saw the taint of a node that goes; zero where it has none.
	TaintTime time.Time
	// Unasked says that the API server itself was not asked yet for the pods of a node that is drained, or had others
	// than are seen; Trouble is what came of asking so far, or of shutting the node.
	Unasked bool
	Trouble string
	// Kept says that the node may stay closed to others, though it is in use otherwise, until pods that are on their
	// way to it are there; Firm that no new pods are to go to a node that is to be removed later, not even those that
	// find no other.
	Kept, Firm bool

	Disruption       model.DisruptionID
	DisruptionReason model.DisruptionReason
	Deadline         time.Time
	Deferred         bool
}

// EffectKind is what must be done.
type EffectKind int

// The effects.
const (
	EffectUnspecified EffectKind = iota
	// EffectLaunch: launch the claim with the token of its attempt.
	EffectLaunch
	// EffectTerminate: end every instance of the claim.
	EffectTerminate
	// EffectSyncNode: bring the node to the claim's labels and taints, and let pods in.
	EffectSyncNode
	// EffectInitializeNode: mark the node as Initialized.
	EffectInitializeNode
	// EffectTaintNode: keep new pods off the node.
	EffectTaintNode
	// EffectUntaintNode: let new pods onto the node again.
	EffectUntaintNode
	// EffectDiscourageNode: let new pods onto the node only where they find no other.
	EffectDiscourageNode
	// EffectShutNode: let no new pods onto the node for now.
	EffectShutNode
	// EffectEncourageNode: let new pods onto the node as onto any other.
	EffectEncourageNode
	// EffectRemoveNode: remove the node object and Kerf's finalizer on it.
	EffectRemoveNode
	// EffectEvict: carry out Eviction.
	EffectEvict
	// EffectAskPods: ask the API server which pods are on the node.
	EffectAskPods
)

// String returns the effect's name as the table prints it.
func (k EffectKind) String() string {
	names := [...]string{
		"Unspecified", "Launch", "Terminate", "SyncNode", "InitializeNode", "TaintNode", "UntaintNode",
		"DiscourageNode", "ShutNode", "EncourageNode", "RemoveNode", "Evict", "AskPods",
	}
	if k < 0 || int(k) >= len(names) {
		return "Unknown"
	}
	return names[k]
}

// Effect is something to do for the claim.
type Effect struct {
	Kind     EffectKind
	Eviction cluster.Eviction
}

// Result is the answer to an event.
type Result struct {
	Claim   model.Claim
	Effects []Effect
	// Ignored says why the event changed nothing where the table has no entry for it.
	Ignored model.Reason
	// Wake is when the claim should be looked at again though nothing is seen to change; zero for never.
	Wake time.Time
}

// Step answers an event.
func Step(c model.Claim, e Event, now time.Time) Result {
	var handle handler
	if e.Kind > EventUnspecified && e.Kind <= lastEvent {
		handle = table(c.State)[e.Kind]
	}
	if handle == nil {
		return Result{Claim: c, Ignored: model.Reason{
			Code:    model.CodeInvalid,
			Message: fmt.Sprintf("a claim that is %s does not handle %s", c.State, e.Kind),
			Subject: "nodeclaim/" + string(c.ID),
		}}
	}
	return handle(c, e, now)
}

type handler func(model.Claim, Event, time.Time) Result

// answers is how a state answers to each event; nil is not at all.
type answers [lastEvent + 1]handler

// table is the state machine. What is not in it is ignored.
func table(s model.ClaimState) answers {
	switch s {
	case model.ClaimPlanned:
		return answers{
			EventStart: start,
			EventTick:  planTimeout,
			EventDrain: cancel,

			EventDisrupt:  noteDisruption,
			EventRollBack: clearDisruption,
		}
	case model.ClaimLaunching:
		return answers{
			EventTick:         launch,
			EventLaunched:     launched,
			EventInstanceSeen: launched,
			EventLaunchFailed: launchFailed,
			EventDrain:        end,
			EventDisrupt:      noteDisruption,
			EventRollBack:     clearDisruption,
		}
	case model.ClaimLaunched:
		return answers{
			EventTick:           registrationTimeout,
			EventNodeSeen:       register,
			EventInstanceEnding: lost,
			EventInstanceEnded:  lost,
			EventInstanceAbsent: lostWhenSettled,
			EventDrain:          drainOpen,
			EventDisrupt:        noteDisruption,
			EventRollBack:       clearDisruption,
		}
	case model.ClaimRegistered:
		return answers{
			EventTick:           initializationTimeout,
			EventNodeSeen:       initialize,
			EventNodeAbsent:     nodeMissing,
			EventInstanceEnding: lost,
			EventInstanceEnded:  lost,
			EventInstanceAbsent: lostWhenSettled,
			EventDrain:          drain,
			EventDisrupt:        disrupt,
			EventRollBack:       rollBack,
		}
	case model.ClaimInitialized:
		return answers{
			EventNodeSeen:       keepTaints,
			EventNodeAbsent:     nodeMissing,
			EventDefer:          deferRemoval,
			EventInstanceEnding: lost,
			EventInstanceEnded:  lost,
			EventInstanceAbsent: lostWhenSettled,
			EventDrain:          drain,
			EventDisrupt:        disrupt,
			EventRollBack:       rollBack,
		}
	case model.ClaimDraining:
		return answers{
			EventTick:           drainTimeout,
			EventNodeSeen:       drainOn,
			EventNodeAbsent:     end,
			EventInstanceEnding: end,
			EventInstanceEnded:  end,
			EventInstanceAbsent: lostWhenSettled,
			EventDrain:          shortenDrain,
		}
	case model.ClaimTerminating:
		return answers{
			EventLaunched:       terminateLate,
			EventInstanceSeen:   terminate,
			EventInstanceEnded:  gone,
			EventInstanceAbsent: goneWhenSettled,
		}
	default:
		return answers{} // unspecified, or an end
	}
}
