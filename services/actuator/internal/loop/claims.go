package loop

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/apply"
	"github.com/kerf-dev/kerf/services/actuator/cloud"
	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/actuator/lifecycle"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// noticeMargin is how long before EC2's own deadline an interrupted node must be empty.
	noticeMargin = 5 * time.Second
	// planWindow is how long a plan for the pods of an interrupted node is waited for.
	planWindow = 10 * time.Second
	// evictSlack is what the evictions of an interrupted node need beside the pods' own grace, at least.
	evictSlack = 45 * time.Second
)

// step lets a claim answer to all that is known about it: first to everything that happened, then to what is seen, up to
// the first change of state, because what was seen before says nothing about what comes next.
func (l *leader) step(c model.Claim) (model.Claim, []lifecycle.Effect) {
	var effects []lifecycle.Effect
	answer := func(e lifecycle.Event) (moved bool) {
		r := lifecycle.Step(c, e, l.now)
		moved = r.Claim.State != c.State
		if moved {
			effects = nil // what the former state wanted is not wanted any more
		}
		c, effects = r.Claim, append(effects, r.Effects...)
		l.wake(r.Wake)
		return moved
	}
	moved := false
	for _, e := range l.queue[c.ID] {
		moved = answer(e) || moved
	}
	if moved {
		return c, effects
	}
	if !slices.ContainsFunc(l.observations(c), answer) {
		c = l.compared(c)
	}
	return c, effects
}

// observations lists what is seen of a claim, the most telling first.
func (l *leader) observations(c model.Claim) []lifecycle.Event {
	var events []lifecycle.Event
	if e, ok := l.instanceEvent(c); ok {
		events = append(events, e)
	}
	events = append(events, l.drainEvents(c)...)
	if d, ok := l.disruptions[c.Disruption]; c.Disruption != "" && (!ok || d.RolledBack) {
		events = append(events, lifecycle.Event{Kind: lifecycle.EventRollBack, Disruption: c.Disruption})
	}
	if e, ok := l.nodeEvent(c); ok {
		events = append(events, e)
	}
	return append(events, l.timeEvent(c))
}

// timeEvent lets time pass, or begins the launch of a claim that can be launched.
func (l *leader) timeEvent(c model.Claim) lifecycle.Event {
	tick := lifecycle.Event{Kind: lifecycle.EventTick}
	if c.State == model.ClaimRegistered {
		tick.Deadline = c.StateTime.Add(l.cfg.InitializationTimeout)
		if n := l.nodeOf(c); n != nil {
			tick.Node, tick.NodeThere = *n, true
		}
	}
	if c.State != model.ClaimPlanned {
		return tick
	}
	class, ok := l.world.classes[c.NodeClass]
	switch {
	case !ok:
		tick.Reason = model.Reason{
			Code: model.CodeNodeClassNotFound, Subject: "ec2nodeclass/" + string(c.NodeClass),
			Message: fmt.Sprintf("EC2NodeClass %q does not exist", c.NodeClass),
		}
		return tick
	case class.notReady() != (model.Reason{}):
		tick.Reason = class.notReady()
		return tick
	case l.listed.IsZero():
		return tick // an instance of a former leader's may be there
	}
	return lifecycle.Event{Kind: lifecycle.EventStart, Offerings: l.available(c.Offerings)}
}

// available drops offerings that EC2 had none of lately.
func (l *leader) available(offerings []model.RankedOffering) []model.RankedOffering {
	return slices.DeleteFunc(slices.Clone(offerings), func(o model.RankedOffering) bool {
		return l.now.Before(l.shortUntil(o.InstanceType, o.Zone, o.CapacityType))
	})
}

func (l *leader) shortUntil(instanceType model.TypeName, zone string, capacity model.CapacityType) time.Time {
	here := l.shortages[apply.OfferingKey{InstanceType: instanceType, Zone: zone, CapacityType: capacity}].Until
	everywhere := l.shortages[apply.OfferingKey{InstanceType: instanceType, CapacityType: capacity}].Until
	if everywhere.After(here) {
		return everywhere
	}
	return here
}

// instanceEvent says what EC2 shows for the claim.
func (l *leader) instanceEvent(c model.Claim) (lifecycle.Event, bool) {
	if l.listed.IsZero() || c.State == model.ClaimPlanned {
		return lifecycle.Event{}, false
	}
	instances := l.byClaim[c.ID]
	if c.State == model.ClaimTerminating {
		return l.endingEvent(c, instances)
	}
	var shown *cloud.Instance
	for i := range instances {
		mine := instances[i].ID == c.InstanceID || c.InstanceID == ""
		if mine && (shown == nil || (instances[i].State.Alive() && !shown.State.Alive())) {
			shown = &instances[i]
		}
	}
	e := lifecycle.Event{Time: l.listed}
	switch {
	case shown == nil:
		e.Kind = lifecycle.EventInstanceAbsent
		if n := l.nodeOf(c); n != nil {
			e.Node, e.NodeThere = *n, true
		}
	case shown.State == cloud.Terminated:
		e.Kind = lifecycle.EventInstanceEnded
	case shown.State == cloud.ShuttingDown:
		e.Kind = lifecycle.EventInstanceEnding
	default:
		e.Kind, e.Instance = lifecycle.EventInstanceSeen, l.record(c, *shown)
	}
	return e, true
}

// endingEvent looks at every instance of a claim that is to have none.
func (l *leader) endingEvent(c model.Claim, instances []cloud.Instance) (lifecycle.Event, bool) {
	e := lifecycle.Event{Kind: lifecycle.EventInstanceAbsent, Time: l.listed}
	if n := l.nodeOf(c); n != nil {
		e.Node, e.NodeThere = *n, true
	}
	mine := c.InstanceID == ""
	for _, i := range instances {
		mine = mine || i.ID == c.InstanceID
		switch i.State {
		case cloud.Terminated:
			e.Kind = lifecycle.EventInstanceEnded
		case cloud.ShuttingDown:
			return lifecycle.Event{}, false // it takes its time
		default:
			return lifecycle.Event{Kind: lifecycle.EventInstanceSeen, Time: l.listed}, true
		}
	}
	if !mine { // another one of its instances has ended, which says nothing about this one
		e.Kind = lifecycle.EventInstanceAbsent
	}
	return e, true
}

// record is what a claim remembers of an instance.
func (l *leader) record(c model.Claim, i cloud.Instance) lifecycle.Instance {
	o := model.RankedOffering{InstanceType: i.InstanceType, Zone: i.Zone, CapacityType: i.CapacityType}
	now, ok := l.world.prices[apply.OfferingKey{InstanceType: i.InstanceType, Zone: i.Zone, CapacityType: i.CapacityType}]
	if ok {
		o.Price, o.PriceEstimated = now.Price, now.Estimated
	}
	for _, planned := range c.Offerings {
		if planned.InstanceType == o.InstanceType && planned.Zone == o.Zone && planned.CapacityType == o.CapacityType {
			o = planned
		}
	}
	r := lifecycle.Instance{ID: i.ID, ProviderID: i.ProviderID, ImageID: i.ImageID, Offering: o, LaunchTime: i.LaunchTime}
	labels := map[string]string{}
	for _, x := range c.Labels {
		labels[x.Key] = x.Value
	}
	if class, ok := l.world.classes[c.NodeClass]; ok {
		shape := class.shapes()[i.InstanceType]
		r.Capacity, r.Allocatable = shape.Capacity, shape.Allocatable
		for _, x := range shape.Labels {
			labels[x.Key] = x.Value
		}
		if id := class.zones[i.Zone]; id != "" {
			labels["topology.k8s.aws/zone-id"] = id
		}
	}
	if r.Capacity == nil { // the class went away meanwhile: the plan's figures are near enough until the node tells
		r.Capacity, r.Allocatable = c.Capacity, c.Allocatable
	}
	labels["node.kubernetes.io/instance-type"] = string(i.InstanceType)
	labels["topology.kubernetes.io/zone"] = i.Zone
	labels["karpenter.sh/capacity-type"] = i.CapacityType.String()
	if l.cfg.Region != "" {
		labels["topology.kubernetes.io/region"] = l.cfg.Region
	}
	for k, v := range labels {
		r.Labels = append(r.Labels, model.Label{Key: k, Value: v})
	}
	slices.SortFunc(r.Labels, func(a, b model.Label) int { return cmp.Compare(a.Key, b.Key) })
	return r
}

// nodeOf returns the claim's node: the one with its provider id. Two nodes of one instance are a riddle, and none.
func (l *leader) nodeOf(c model.Claim) *cluster.Node {
	if c.ProviderID == "" || len(l.nodes[c.ProviderID]) != 1 {
		return nil
	}
	return l.nodes[c.ProviderID][0]
}

func (l *leader) nodeEvent(c model.Claim) (lifecycle.Event, bool) {
	n := l.nodeOf(c)
	if n == nil {
		return lifecycle.Event{Kind: lifecycle.EventNodeAbsent}, c.State == model.ClaimDraining
	}
	e := lifecycle.Event{Kind: lifecycle.EventNodeSeen, Node: *n, Blocked: l.blocked}
	if c.State == model.ClaimDraining && c.DisruptionReason == model.ReasonInterrupted {
		e.Held = l.held(c, *n)
	}
	return e, true
}

// drainEvents are the causes, other than disruptions, for which a claim's node must go.
func (l *leader) drainEvents(c model.Claim) []lifecycle.Event {
	var events []lifecycle.Event
	if _, deleted := slices.BinarySearch(l.seen.DeletedClaims, c.ID); deleted && c.State < model.ClaimDraining {
		events = append(events, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: model.ReasonDeleted})
	} else if n := l.nodeOf(c); n != nil && n.Terminating && c.State < model.ClaimDraining {
		events = append(events, lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: model.ReasonDeleted})
	}
	for _, n := range l.noticesOf(c.ID) {
		if !interrupts(*n) {
			continue
		}
		e := lifecycle.Event{Kind: lifecycle.EventDrain, DisruptionReason: model.ReasonInterrupted}
		if !n.Deadline.IsZero() {
			e.Deadline = n.Deadline.Add(-noticeMargin)
		}
		if c.State < model.ClaimDraining || !e.Deadline.IsZero() {
			events = append(events, e)
		}
	}
	return events
}

func (l *leader) noticesOf(id model.ClaimID) []*model.Notice {
	var out []*model.Notice
	for _, n := range l.notices {
		if n.Claim == id {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *model.Notice) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// interrupts says that the notice means the end of the node. A rebalance recommendation is only a guess of EC2's.
func interrupts(n model.Notice) bool {
	switch n.Kind {
	case model.NoticeSpotInterruption, model.NoticeScheduledChange:
		return true
	case model.NoticeStateChange:
		return n.InstanceState == "stopping" || n.InstanceState == "stopped"
	default:
		return false
	}
}

// held lists pods of an interrupted node that had better wait a little: a claim for them is on its way, or a plan has
// not been made yet. Nobody waits past the time that the evictions need: the pod's own grace and a slack, or half of
// what the notice leaves, whichever ends earlier.
func (l *leader) held(c model.Claim, n cluster.Node) map[string]bool {
	if c.DrainDeadline.IsZero() {
		return nil
	}
	coming, there := map[model.PodID]bool{}, map[model.PodID]bool{}
	for _, other := range l.claims {
		for _, p := range other.Pods {
			coming[p] = coming[p] || other.State.InFlight()
			there[p] = there[p] || (other.State == model.ClaimInitialized && other.ID != c.ID)
		}
	}
	half := c.StateTime.Add(c.DrainDeadline.Sub(c.StateTime) / 2)
	held := map[string]bool{}
	for _, p := range n.Pods {
		latest := c.DrainDeadline.Add(-p.GracePeriod - evictSlack)
		if half.Before(latest) {
			latest = half
		}
		name := model.PodID(p.Namespace + "/" + p.Name)
		until := latest
		if !coming[name] {
			until = c.StateTime.Add(planWindow)
			if latest.Before(until) {
				until = latest
			}
		}
		if l.now.Before(until) && (coming[name] || !there[name]) {
			held[string(name)] = true
			l.wake(until)
		}
	}
	return held
}
