package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// untaintedFor is how long before its end, beside what its pods need, a drain goes on though the node is not tainted:
// what is evicted there may come back.
const untaintedFor = 2 * time.Minute

// excludeWait is how long a drain waits for load balancers to be told, where somebody takes the label off again.
const excludeWait = 5 * time.Second

// drain begins to move the pods off.
func drain(c model.Claim, e Event, now time.Time) Result {
	c.DisruptionReason, c.Failure = e.DisruptionReason, model.Reason{}
	c.DrainDeadline = e.Deadline
	if grace := c.TerminationGracePeriod; grace != nil {
		c.DrainDeadline = earlier(c.DrainDeadline, now.Add(*grace))
	}
	return does(enter(c, model.ClaimDraining, now), EffectTaintNode)
}

// drainOpen ends an instance whose node has not registered. Where the node is open all the same, it runs pods, which
// are moved as those of any node, and it has registered: the leader that opened it has ended before that was stored.
func drainOpen(c model.Claim, e Event, now time.Time) Result {
	closed := func(t model.Taint) bool { return t.Key == labels.TaintUnregistered && t.Effect == model.NoExecute }
	if !e.NodeThere || slices.ContainsFunc(e.Node.Taints, closed) {
		return end(c, e, now)
	}
	c.Node, c.Reached = e.Node.Name, model.ClaimRegistered
	return drain(c, e, now)
}

// excluded says that load balancers are told to leave the node alone.
func excluded(n cluster.Node) bool {
	_, is := n.Labels[labels.ExcludeBalancers]
	return is
}

// shortenDrain lets a later cause shorten a drain, never lengthen it.
func shortenDrain(c model.Claim, e Event, _ time.Time) Result {
	if d := earlier(c.DrainDeadline, e.Deadline); !d.Equal(c.DrainDeadline) {
		c.DrainDeadline, c.DisruptionReason = d, e.DisruptionReason
	}
	return does(c)
}

// earlier returns the earlier of two times, where zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// drainOn goes on with a drain once the node lets nothing new in.
func drainOn(c model.Claim, e Event, now time.Time) Result {
	if !e.Node.Disrupted() {
		return drainUntainted(c, e, now)
	}
	if until := earlier(c.StateTime.Add(excludeWait), c.DrainDeadline); !excluded(e.Node) && now.Before(until) {
		r := does(c, EffectTaintNode) // the disruption's taint is older than the drain, and came without the label
		r.Wake = until
		return r
	}
	return drainNext(c, e, now)
}

// drainUntainted lets nothing leave before nothing new can come, as long as there is time: where the node can't be
// tainted, because a webhook refuses it or is down, its pods go all the same before they end with the instance.
func drainUntainted(c model.Claim, e Event, now time.Time) Result {
	until := halfway(c)
	if late := c.DrainDeadline.Add(-untaintedFor - longestGrace(e.Node)); !until.IsZero() && late.After(until) {
		until = late
	}
	if until.IsZero() || now.Before(until) {
		if e.Trouble != "" && c.Failure.Code != model.CodeNotInitialized { // what it left Registered for stays
			c.Failure = about(c, model.CodeDrainBlocked, "%s", e.Trouble)
		}
		r := does(c, EffectTaintNode)
		r.Wake = until
		return r
	}
	r := drainNext(c, e, now)
	if r.Claim.State == model.ClaimDraining {
		r.Effects = append(r.Effects, Effect{Kind: EffectTaintNode})
	}
	return r
}

// longestGrace is that of a node's pods.
func longestGrace(n cluster.Node) time.Duration {
	longest := time.Duration(0)
	for _, p := range n.Pods {
		longest = max(longest, p.GracePeriod)
	}
	return longest
}

// halfway is when half of a drain's time is over; zero where it has no end.
func halfway(c model.Claim) time.Time {
	if c.DrainDeadline.IsZero() {
		return time.Time{}
	}
	return c.StateTime.Add(c.DrainDeadline.Sub(c.StateTime) / 2)
}

// drainNext evicts the next pods, and ends the instance once none is left.
func drainNext(c model.Claim, e Event, now time.Time) Result {
	d := PlanDrain(DrainInput{Node: e.Node, Begun: c.StateTime, TaintTime: e.TaintTime, Deadline: c.DrainDeadline, Held: e.Held, Blocked: e.Blocked, Unasked: e.Unasked, Trouble: e.Trouble}, now)
	if c.Failure.Code == model.CodeDrainBlocked {
		c.Failure = model.Reason{}
	}
	if d.Done {
		return does(enter(c, model.ClaimTerminating, now), EffectTerminate)
	}
	if d.Waits != "" {
		c.Failure = about(c, model.CodeDrainBlocked, "%s", d.Waits)
	}
	r := Result{Claim: c, Wake: d.Wake}
	if d.Ask {
		r.Effects = append(r.Effects, Effect{Kind: EffectAskPods})
	}
	for _, ev := range d.Evictions {
		r.Effects = append(r.Effects, Effect{Kind: EffectEvict, Eviction: ev})
	}
	return r
}

// drainTimeout ends the instance of a drain whose time is over while it is not known which node is its: nothing can be
// evicted there.
func drainTimeout(c model.Claim, e Event, now time.Time) Result {
	if e.NodeThere || c.DrainDeadline.IsZero() {
		return does(c)
	}
	if now.Before(c.DrainDeadline) {
		r := does(c)
		r.Wake = c.DrainDeadline
		return r
	}
	return end(c, e, now)
}

// end goes straight to ending the instance: no pod is left to move, or none ever came.
func end(c model.Claim, e Event, now time.Time) Result {
	if e.Kind == EventDrain {
		c.DisruptionReason = e.DisruptionReason
	}
	return does(enter(c, model.ClaimTerminating, now), EffectTerminate)
}

// nodeMissing ends an instance whose node somebody took out of the cluster. Its pods have been made again elsewhere,
// and those that it still runs do harm: they are the second of their name.
func nodeMissing(c model.Claim, e Event, now time.Time) Result {
	deadline := e.Time.Add(NodeMissingTimeout)
	c.Failure = about(c, model.CodeUnhealthy, "node %s is not in the cluster, though instance %s runs", c.Node, c.InstanceID)
	switch {
	case now.Before(deadline):
		r := does(c)
		r.Wake = deadline
		return r
	case e.Reason != (model.Reason{}):
		c.Failure = e.Reason
		return does(c)
	}
	r := end(c, e, now)
	r.Claim.DisruptionReason = model.ReasonUnhealthy
	return r
}

// lost ends a claim whose instance went without being asked to; Reason is why, where EC2 says so.
func lost(c model.Claim, e Event, now time.Time) Result {
	c.Failure = about(c, cmp.Or(e.Reason.Code, model.CodeInstanceLost), "instance %s ended without being asked to", c.InstanceID)
	if e.Reason.Message != "" {
		c.Failure.Message += ": " + e.Reason.Message
	}
	return does(enter(c, model.ClaimTerminating, now), EffectTerminate)
}

// lostWhenSettled believes an absence only once EC2 has had the time to show the instance, and never against a node that
// is ready: an answer of EC2's with a hole in it, or a tag that somebody took off, must not end a machine that works.
func lostWhenSettled(c model.Claim, e Event, now time.Time) Result {
	if e.Time.Sub(c.LaunchTime) < VisibilityDelay || e.Node.Ready {
		return does(c)
	}
	if c.State == model.ClaimDraining {
		return end(c, e, now)
	}
	return lost(c, e, now)
}

// terminateLate ends an instance that a launch returned after the claim was given up.
func terminateLate(c model.Claim, e Event, now time.Time) Result {
	failure := c.Failure
	c = record(c, e.Instance, now)
	c.Failure = failure
	return does(c, EffectTerminate)
}

func terminate(c model.Claim, _ Event, _ time.Time) Result { return does(c, EffectTerminate) }

// gone ends the claim once neither instance nor node is left. What never became Initialized has failed.
func gone(c model.Claim, e Event, now time.Time) Result {
	if e.NodeThere {
		return does(c, EffectRemoveNode)
	}
	failed := c.Reached < model.ClaimRegistered && c.Failure != (model.Reason{})
	if failed || (c.Reached == model.ClaimRegistered && c.Failure.Code == model.CodeNotInitialized) {
		return does(enter(c, model.ClaimFailed, now))
	}
	return does(enter(c, model.ClaimGone, now))
}

// goneWhenSettled believes an absence only once EC2 has had the time to show the instance. A node that is ready says that
// the instance runs, whatever EC2 shows.
func goneWhenSettled(c model.Claim, e Event, now time.Time) Result {
	if e.Node.Ready {
		return does(c, EffectTerminate)
	}
	since := c.LaunchTime
	if c.InstanceID == "" {
		since = c.StateTime
	}
	if settled := since.Add(VisibilityDelay); e.Time.Before(settled) {
		r := does(c)
		r.Wake = settled
		return r
	}
	return gone(c, e, now)
}
