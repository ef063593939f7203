package outbox

import (
	"cmp"
	"strings"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// Event queues an event about an object.
func (o *Outbox) Event(e cluster.Event) {
	o.events = append(o.events, e)
	if n := len(o.events) - maxEvents; n > 0 {
		o.events = o.events[n:]
	}
}

// Changed tells what users look for in a claim that was stored as another one.
func (o *Outbox) Changed(old, c model.Claim) {
	if old.State != c.State {
		o.step(old, c)
	}
	if c.State.Ended() {
		delete(o.claims, c.ID)
		delete(o.failures, c.ID)
	}
	if c.Failure != old.Failure && c.Failure.Message != "" && o.failures[c.ID] != c.Failure.Message {
		o.failures[c.ID] = c.Failure.Message
		o.Event(cluster.Event{
			Kind: "NodeClaim", Name: string(c.ID), Warning: true, Reason: eventReason(c.Failure.Code), Message: c.Failure.Message,
		})
	}
}

// step tells of the steps of a claim's life that users look for.
func (o *Outbox) step(old, c model.Claim) {
	e := cluster.Event{Kind: "NodeClaim", Name: string(c.ID)}
	node := string(c.Node)
	switch c.State {
	case model.ClaimLaunched:
		e.Reason = "Launched"
		e.Message = string(c.InstanceType) + " in " + c.Zone + " (" + c.CapacityType.String() + ") is instance " + c.InstanceID
	case model.ClaimRegistered:
		e.Reason, e.Message = "Registered", "node "+node+" has joined the cluster"
	case model.ClaimInitialized:
		e.Reason, e.Message = "Initialized", "node "+node+" is ready"
	case model.ClaimDraining:
		e.Reason, e.Message = "Disrupted", "node "+node+" is being drained: "+c.DisruptionReason.String()
		if old.Node != "" {
			o.Event(cluster.Event{Kind: "Node", Name: string(old.Node), Reason: e.Reason, Message: e.Message})
		}
	case model.ClaimTerminating:
		e.Reason, e.Message = "Terminating", "instance "+cmp.Or(c.InstanceID, "(none known)")+" is being ended"
	default:
		return
	}
	o.Event(e)
}

// eventReason words a code as Kubernetes' events do.
func eventReason(code model.Code) string {
	switch code {
	case model.CodeInsufficientCapacity:
		return "InsufficientCapacityError"
	case model.CodeNodeClassNotReady, model.CodeNodeClassNotFound:
		return "NodeClassNotReady"
	case model.CodeRegistrationTimeout:
		return "RegistrationTimeout"
	case model.CodeLaunchTimeout:
		return "LaunchTimeout"
	case model.CodeInstanceLost:
		return "InstanceLost"
	case model.CodeDrainBlocked:
		return "FailedDraining"
	case model.CodeNotInitialized:
		return "NotInitialized"
	default:
		return "LaunchFailed"
	}
}

// Pending tells users why nothing was found for a pod, and what would help.
func (o *Outbox) Pending(pod model.PodID, why model.Reason) {
	namespace, name, ok := strings.Cut(string(pod), "/")
	if !ok || why.Message == "" {
		return
	}
	message := why.Message
	if why.Remedy != "" {
		message += "; " + why.Remedy
	}
	o.Event(cluster.Event{
		Kind: "Pod", Namespace: namespace, Name: name, Warning: true, Reason: "FailedScheduling", Message: message,
	})
}
