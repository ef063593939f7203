package outbox

import (
	"cmp"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
)

// Event queues an event about an object.
func (o *Outbox) Event(e cluster.Event) {
	o.events = append(o.events, e)
	if n := len(o.events) - maxEvents; n > 0 {
		o.events = o.events[n:]
	}
}

// maxHints bounds the events that wait so that hints are still taken, and what a publication has of what can wait.
const maxHints = 50

// hint queues an event that users can do without, unless many events wait for their first try: they are written one by
// one, and statuses come after them. It says whether it did.
func (o *Outbox) hint(e cluster.Event) bool {
	if len(o.events)-o.late >= maxHints {
		return false
	}
	o.Event(e)
	return true
}

// Changed tells what users look for in a claim that was stored as another one.
func (o *Outbox) Changed(old, c model.Claim) {
	if old.State != c.State {
		o.step(old, c)
	}
	if c.TerminationGracePeriod != nil && !c.DrainDeadline.IsZero() && !c.DrainDeadline.Equal(old.DrainDeadline) {
		o.expires(c)
	}
	if c.Failure != old.Failure && c.Failure.Message != "" && o.failures[c.ID] != c.Failure.Message {
		o.failures[c.ID] = c.Failure.Message
		o.Event(cluster.Event{
			Kind: "NodeClaim", Name: string(c.ID), Warning: true, Reason: eventReason(c.Failure.Code), Message: c.Failure.Message,
		})
	}
}

// expires tells until when a drain waits for pods that may not be evicted.
func (o *Outbox) expires(c model.Claim) {
	e := cluster.Event{
		Kind: "NodeClaim", Name: string(c.ID), Warning: true, Reason: "TerminationGracePeriodExpiring",
		Message: "pods that are not evicted by then are removed by force at " + c.DrainDeadline.UTC().Format(time.RFC3339),
	}
	o.Event(e)
	if c.Node != "" {
		e.Kind, e.Name = "Node", string(c.Node)
		o.Event(e)
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
		if g := o.going[c.ID]; g.disruption == c.Disruption && g.why != "" {
			e.Message += ": " + g.why
		}
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

// Goes notes why claims go, for when they do: a plan says it, and what is stored of a disruption does not.
func (o *Outbox) Goes(d model.DisruptionID, claims []model.ClaimID, why string) {
	for _, id := range claims {
		o.going[id] = going{d, why}
	}
}

// NotEnded tells that AWS refuses to end a claim's instance, as one that somebody protects from it. It is tried again
// without a word.
func (o *Outbox) NotEnded(c model.Claim, err error) {
	why := "instance " + cmp.Or(c.InstanceID, "(none known)") + " can't be ended, and is tried again: " + cloud.ErrorText(err)
	if o.failures[c.ID] == why {
		return
	}
	if o.hint(cluster.Event{Kind: "NodeClaim", Name: string(c.ID), Warning: true, Reason: "FailedTerminating", Message: why}) {
		o.failures[c.ID] = why
	}
}

// NoQueue tells of a pool that AWS's notices are not heard, since the queue of the actuator's configuration is not
// there, or may not be read. It says whether it did.
func (o *Outbox) NoQueue(pool model.PoolName, err error) bool {
	return o.hint(cluster.Event{
		Kind: "NodePool", Name: string(pool), Warning: true, Reason: "QueueUnavailable",
		Message: "AWS's notices of spot interruptions are not heard, and nodes end without a drain: " + cloud.ErrorText(err),
	})
}

// OfUser tells of a NodeClaim that a user has written that nothing is done for it. It says whether it did.
func (o *Outbox) OfUser(id model.ClaimID) bool {
	return o.hint(cluster.Event{
		Kind: "NodeClaim", Name: string(id), Warning: true, Reason: "NotSupported",
		Message: "Kerf launches nothing for a NodeClaim without a NodePool: write a NodePool, with spec.replicas for nodes that wait for no pod, drain the node that this one may have of Karpenter, and delete this NodeClaim",
	})
}

// eventReason words a code as Kubernetes' events do.
func eventReason(code model.Code) string {
	switch code {
	case model.CodeInsufficientCapacity:
		return "InsufficientCapacityError"
	case model.CodeNodeClassNotReady, model.CodeNodeClassNotFound, model.CodeBeingDeleted:
		return "NodeClassNotReady"
	case model.CodeRegistrationTimeout:
		return "RegistrationTimeout"
	case model.CodeLaunchTimeout:
		return "LaunchTimeout"
	case model.CodeInstanceLost:
		return "InstanceLost"
	case model.CodeUnhealthy, model.CodeRepairGuard:
		return "NodeMissing"
	case model.CodeDrainBlocked:
		return "FailedDraining"
	case model.CodeNotInitialized:
		return "NotInitialized"
	default:
		return "LaunchFailed"
	}
}

// Bought tells the pods that a claim was accepted for that a node comes for them.
func (o *Outbox) Bought(c model.Claim) {
	for _, id := range c.Pods {
		if namespace, name, ok := id.Object(); ok { // else a capacity buffer's
			o.hint(cluster.Event{
				Kind: "Pod", Namespace: namespace, Name: name, Reason: "Nominated",
				Message: "NodeClaim " + string(c.ID) + " of NodePool " + string(c.NodePool) + " is launched for it",
			})
		}
	}
}

// Evicted tells that a pod was evicted, and why.
func (o *Outbox) Evicted(e cluster.Eviction) {
	o.hint(cluster.Event{
		Kind: "Pod", Namespace: e.Namespace, Name: e.Name, UID: e.UID, Reason: "Evicted",
		Message: "evicted from node " + string(e.Node) + ", which goes: " + e.Why.String(),
	})
}

// Stays tells what keeps a claim's node, once for each reason that comes up.
func (o *Outbox) Stays(v model.NodeVerdict) {
	word := rules.EventOf(v.Reason.Code)
	if word == "" || o.kept[v.Claim] == v.Reason.Code {
		return
	}
	if !o.hint(cluster.Event{Kind: "NodeClaim", Name: string(v.Claim), Reason: word, Message: v.Reason.Message}) {
		return
	}
	o.kept[v.Claim] = v.Reason.Code
	o.Event(cluster.Event{Kind: "Node", Name: string(v.Node), Reason: word, Message: v.Reason.Message})
}

// Notice tells of a notice of AWS about a claim's instance.
func (o *Outbox) Notice(n model.Notice, c model.Claim) {
	e := cluster.Event{Kind: "NodeClaim", Name: string(c.ID), Warning: true}
	switch n.Kind {
	case model.NoticeSpotInterruption:
		e.Reason, e.Message = "SpotInterrupted", "AWS takes instance "+n.InstanceID+" back"
		if c.CapacityType == model.Reserved {
			e.Reason = "CapacityReservationInstanceInterrupted"
		}
		if !n.Deadline.IsZero() {
			e.Message += " at " + n.Deadline.UTC().Format(time.RFC3339)
		}
	case model.NoticeRebalanceRecommendation:
		e.Reason, e.Message = "SpotRebalanceRecommendation", "AWS may soon take instance "+n.InstanceID+" back"
	case model.NoticeScheduledChange:
		e.Reason, e.Message = "InstanceUnhealthy", "AWS has scheduled maintenance of instance "+n.InstanceID
		if !n.StartTime.IsZero() {
			e.Message += " from " + n.StartTime.UTC().Format(time.RFC3339) + ", and its node is drained an hour before"
		}
	case model.NoticeStateChange:
		if n.InstanceState == model.StateImpaired {
			e.Reason, e.Message = "InstanceUnhealthy", "the status checks of instance "+n.InstanceID+" fail"
			break
		}
		e.Reason, e.Message = "InstanceStopping", "instance "+n.InstanceID+" is "+n.InstanceState
	default:
		return
	}
	o.Event(e)
	if c.Node != "" {
		e.Kind, e.Name = "Node", string(c.Node)
		o.Event(e)
	}
}
