package lifecycle

import (
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// noticeMargin is how long before EC2's own deadline an interrupted node must be empty.
	noticeMargin = 5 * time.Second
	// MaintenanceLead is how long before a scheduled change of its instance a node is drained.
	MaintenanceLead = time.Hour
	// shortNotice is what a scheduled change must leave for its start to be a deadline: where that has come, or nearly,
	// its pods lose less by what AWS may do to them than by a deletion for certain.
	shortNotice = 2 * time.Minute
)

// Seen is what is known of a claim at one moment.
type Seen struct {
	// Instances are all that carry the claim's tag, in the list that EC2 was asked for at Listed; zero before the first.
	Instances []cloud.Instance
	Listed    time.Time
	// Record is what the claim remembers of one of Instances.
	Record func(cloud.Instance) Instance
	// Node is the claim's; nil when the cluster shows none.
	Node *cluster.Node
	// NodeMissing is since when the cluster has none; zero while it has one, or does not know which of several it is.
	// MustStay says why an instance whose node is missing must stay.
	NodeMissing time.Time
	MustStay    model.Reason
	// Deleted says that a user has deleted the claim's object.
	Deleted bool
	// Released says that the disruption that the claim names was given up.
	Released bool
	// Notices are about the claim's instance, sorted by id.
	Notices []*model.Notice
	// DrainRebalanced says that a recommendation to replace the instance is reason enough to drain its node.
	DrainRebalanced bool
	// Blocked are pods whose last eviction was refused, with the words.
	Blocked map[string]string
	// TaintTime, Unasked and Trouble are those of Event.
	TaintTime time.Time
	Unasked   bool
	Trouble   string
	// Kept and Firm are those of Event, and Later says which pods of the node go where others are not let in; nil for none.
	Kept, Firm bool
	Later      func(model.PodID) bool
	// ReservationDrains is from when the node must go because EC2 takes back what it was launched into, which it does at
	// ReservationEnds; zero for never.
	ReservationDrains, ReservationEnds time.Time
	// Places are those of all claims, for the pods of an interrupted node; it is called for such nodes only.
	Places func() *Places
	// LaunchBy is when a launch is given up; zero for LaunchTimeout after it began.
	LaunchBy time.Time
	// RegisterBy is when an instance is given up that did not become a node; zero for RegistrationTimeout after its launch.
	RegisterBy time.Time
	// InitializeBy is when a node is given up that did not become Initialized; zero for InitializationTimeout after it
	// joined.
	InitializeBy time.Time
	// Begun is when this leader did.
	Begun time.Time
	// Offerings are what a planned claim may be launched as now, and NotReady is why it can't be launched yet.
	Offerings []model.RankedOffering
	NotReady  model.Reason
}

// Advance lets a claim answer to all that is known about it: first to everything that happened, then to what is seen, up
// to the first change of state, because what was seen before says nothing about what comes next. It says whether the
// state has changed.
func Advance(c model.Claim, happened []Event, s Seen, now time.Time) (r Result, moved bool) {
	r.Claim = c
	answer := func(e Event) bool {
		if e.Kind == EventDrain {
			e.node(s)
		}
		next := Step(r.Claim, e, now)
		changed := next.Claim.State != r.Claim.State
		if changed {
			r.Effects = nil // what the former state wanted is not wanted any more
		}
		r.Claim, r.Effects, r.Wake = next.Claim, append(r.Effects, next.Effects...), earlier(r.Wake, next.Wake)
		return changed
	}
	for _, e := range happened {
		moved = answer(e) || moved
	}
	if moved {
		return r, true
	}
	events, wake := observations(r.Claim, s, now)
	r.Wake = earlier(r.Wake, wake)
	return r, slices.ContainsFunc(events, answer)
}

// observations lists what is seen of a claim, the most telling first, and when that changes by itself.
func observations(c model.Claim, s Seen, now time.Time) ([]Event, time.Time) {
	events := make([]Event, 0, 4) // what most claims have; an event is large
	if e, ok := instanceEvent(c, s); ok {
		events = append(events, e)
	}
	drains, wake := drainEvents(c, s, now)
	events = append(events, drains...)
	if c.Disruption != "" && s.Released {
		events = append(events, Event{Kind: EventRollBack, Disruption: c.Disruption})
	}
	switch {
	case s.Node != nil:
		e := Event{Kind: EventNodeSeen, Node: *s.Node, Blocked: s.Blocked, Kept: s.Kept, Firm: s.Firm, TaintTime: s.TaintTime, Unasked: s.Unasked, Trouble: s.Trouble}
		var release time.Time
		e.Held, release = heldBack(c, s, now)
		wake = earlier(wake, release)
		events = append(events, e)
	case !s.NodeMissing.IsZero():
		events = append(events, Event{Kind: EventNodeAbsent, Time: s.NodeMissing, Reason: s.MustStay})
	}
	return append(events, timeEvent(c, s)), wake
}

// timeEvent lets time pass, or begins the launch of a claim that can be launched: not before EC2 was asked, because an
// instance that a former leader made may be there.
func timeEvent(c model.Claim, s Seen) Event {
	tick := Event{Kind: EventTick}
	switch {
	case c.State == model.ClaimLaunching:
		tick.Deadline = s.LaunchBy
	case c.State == model.ClaimLaunched:
		tick.Deadline = s.RegisterBy
	case c.State == model.ClaimRegistered:
		tick.Deadline = s.InitializeBy
		tick.node(s)
	case c.State == model.ClaimDraining:
		tick.node(s)
	case c.State == model.ClaimPlanned && !s.NotReady.OK():
		tick.Reason = s.NotReady
	case c.State == model.ClaimPlanned && !s.Listed.IsZero():
		return Event{Kind: EventStart, Offerings: s.Offerings}
	}
	return tick
}

func (e *Event) node(s Seen) {
	if s.Node != nil {
		e.Node, e.NodeThere = *s.Node, true
	}
}

// instanceEvent says what EC2 shows for the claim.
func instanceEvent(c model.Claim, s Seen) (Event, bool) {
	if s.Listed.IsZero() || c.State == model.ClaimPlanned {
		return Event{}, false
	}
	if c.State == model.ClaimTerminating {
		return endingEvent(c, s)
	}
	var shown *cloud.Instance
	for i := range s.Instances {
		own := s.Instances[i].ID == c.InstanceID || c.InstanceID == ""
		if own && (shown == nil || (s.Instances[i].State.Alive() && !shown.State.Alive())) {
			shown = &s.Instances[i]
		}
	}
	e := Event{Time: s.Listed}
	switch {
	case shown == nil:
		e.Kind = EventInstanceAbsent
		e.node(s)
	case shown.State == cloud.Terminated:
		e.Kind, e.Reason = EventInstanceEnded, whyEnded(shown)
	case shown.State == cloud.ShuttingDown:
		e.Kind, e.Reason = EventInstanceEnding, whyEnded(shown)
	default:
		e.Kind = EventInstanceSeen
		if c.InstanceID == "" { // else the claim remembers it already
			e.Instance = s.Record(*shown)
		}
	}
	return e, true
}

func whyEnded(i *cloud.Instance) model.Reason {
	if i.Unfilled {
		return model.Reason{Code: model.CodeInsufficientCapacity, Message: i.Why}
	}
	return model.Reason{Code: model.CodeInstanceLost, Message: i.Why}
}

// endingEvent looks at every instance of a claim that is to have none.
func endingEvent(c model.Claim, s Seen) (Event, bool) {
	e := Event{Kind: EventInstanceAbsent, Time: s.Listed}
	e.node(s)
	own := c.InstanceID == ""
	for _, i := range s.Instances {
		own = own || i.ID == c.InstanceID
		switch i.State {
		case cloud.Terminated:
			e.Kind = EventInstanceEnded
		case cloud.ShuttingDown:
			return Event{}, false // it takes its time
		default:
			return Event{Kind: EventInstanceSeen, Time: s.Listed}, true
		}
	}
	if !own { // another one of its instances has ended, which says nothing about this one
		e.Kind = EventInstanceAbsent
	}
	return e, true
}

// drainEvents are the causes, other than disruptions, for which a claim's node must go, and when there will be another.
func drainEvents(c model.Claim, s Seen, now time.Time) (events []Event, wake time.Time) {
	if (s.Deleted || (s.Node != nil && s.Node.Terminating)) && c.State < model.ClaimDraining {
		events = append(events, Event{Kind: EventDrain, DisruptionReason: model.ReasonDeleted})
	}
	switch {
	case s.ReservationEnds.IsZero() || c.State < model.ClaimLaunched:
	case now.Before(s.ReservationDrains):
		wake = s.ReservationDrains
	default:
		events = append(events, Event{Kind: EventDrain, DisruptionReason: model.ReasonInterrupted, Deadline: s.ReservationEnds.Add(-noticeMargin)})
	}
	for _, n := range s.Notices {
		if !Interrupts(*n) && (!s.DrainRebalanced || n.Kind != model.NoticeRebalanceRecommendation) {
			continue
		}
		if due := n.StartTime.Add(-MaintenanceLead); now.Before(due) {
			wake = earlier(wake, due)
			continue
		}
		e := Event{Kind: EventDrain, DisruptionReason: model.ReasonInterrupted, Deadline: noticeDeadline(*n, now)}
		if n.InstanceState == "stopped" && s.Node != nil && s.Node.Ready { // the kubelet is not silent yet, or somebody has started it again
			e.Deadline = time.Time{}
		}
		if c.State < model.ClaimDraining || !e.Deadline.IsZero() {
			events = append(events, e)
		}
	}
	return events, wake
}

// noticeDeadline is when a node must be empty by what AWS says of it; zero for no time in particular.
func noticeDeadline(n model.Notice, now time.Time) time.Time {
	if n.Deadline.IsZero() || n.Kind == model.NoticeScheduledChange && n.Deadline.Sub(now) < shortNotice {
		return time.Time{}
	}
	return n.Deadline.Add(-noticeMargin)
}

// Interrupts says that a node is to be drained for the notice, when its time has come. It is another question than which
// nodes leave already (rules.Interrupted): a scheduled change may be weeks away, and of an instance that is ended or gone
// there is nothing to drain. A rebalance recommendation is only a guess of EC2's.
func Interrupts(n model.Notice) bool {
	switch n.Kind {
	case model.NoticeSpotInterruption, model.NoticeScheduledChange:
		return true
	case model.NoticeStateChange:
		return n.InstanceState == "stopping" || n.InstanceState == "stopped" || n.InstanceState == model.StateImpaired
	default:
		return false
	}
}
