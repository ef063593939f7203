package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// enter moves the claim to a state and says when.
func enter(c model.Claim, s model.ClaimState, now time.Time) model.Claim {
	c.State, c.StateTime = s, now
	if s <= model.ClaimInitialized {
		c.Reached = s
	}
	return c
}

func does(c model.Claim, kinds ...EffectKind) Result {
	r := Result{Claim: c}
	for _, k := range kinds {
		r.Effects = append(r.Effects, Effect{Kind: k})
	}
	return r
}

func about(c model.Claim, code model.Code, format string, args ...any) model.Reason {
	return model.Reason{Code: code, Message: fmt.Sprintf(format, args...), Subject: "nodeclaim/" + string(c.ID)}
}

// start begins the first attempt. A claim with nothing to be launched as has failed without asking EC2.
func start(c model.Claim, e Event, now time.Time) Result {
	if len(e.Offerings) == 0 {
		return noneLeft(c, "", now)
	}
	c.Failure = model.Reason{}
	return attempt(enter(c, model.ClaimLaunching, now), e.Offerings)
}

// noneLeft ends a claim of which there is nothing that it may be launched as now, and no instance. Said is what EC2 said
// last; "" for nothing.
func noneLeft(c model.Claim, said string, now time.Time) Result {
	message := fmt.Sprintf("none of the claim's %d offerings is available", len(c.Offerings))
	if said != "" {
		message += "; EC2 said last: " + said
	}
	c.Failure = about(c, model.CodeInsufficientCapacity, "%s", message)
	return does(enter(c, model.ClaimFailed, now))
}

// attempt counts a new launch. The offerings are stored with the count, so that a repetition after a crash asks for the
// same under the same token.
func attempt(c model.Claim, offerings []model.RankedOffering) Result {
	c.Attempt++
	c.Offerings = slices.Clone(offerings)
	c.Launch, c.LaunchSize = "", 0
	return does(c, EffectLaunch)
}

// planTimeout gives a claim up that nothing was asked for. Reason, if set, is what holds it up.
func planTimeout(c model.Claim, e Event, now time.Time) Result {
	deadline := c.CreateTime.Add(LaunchTimeout)
	if e.Reason != (model.Reason{}) {
		c.Failure = e.Reason
	}
	if now.Before(deadline) {
		r := does(c)
		r.Wake = deadline
		return r
	}
	if c.Failure == (model.Reason{}) {
		c.Failure = about(c, model.CodeLaunchTimeout, "the claim was not launched within %s", LaunchTimeout)
	}
	return does(enter(c, model.ClaimFailed, now))
}

// cancel ends a claim that EC2 never heard of.
func cancel(c model.Claim, e Event, now time.Time) Result {
	c.DisruptionReason = e.DisruptionReason
	return does(enter(c, model.ClaimGone, now))
}

// launch asks for the launch again: the token makes the repetition harmless.
func launch(c model.Claim, e Event, now time.Time) Result {
	deadline := e.Deadline
	if deadline.IsZero() {
		deadline = c.StateTime.Add(LaunchTimeout)
	}
	if now.Before(deadline) {
		r := does(c, EffectLaunch)
		r.Wake = deadline
		return r
	}
	message := fmt.Sprintf("no instance within %s and %d attempts", LaunchTimeout, c.Attempt)
	if c.Failure.Message != "" {
		message += ": " + c.Failure.Message
	}
	c.Failure = about(c, model.CodeLaunchTimeout, "%s", message)
	return does(enter(c, model.ClaimTerminating, now), EffectTerminate)
}

// Silence is how long somebody has given no answer since a time, of the time up to now.
type Silence func(since time.Time) time.Duration

// LaunchDeadline is when a launch is given up, if a leader that has led since begun has let it wait so long for other
// launches: what EC2 was not asked for is not late, nor what it has put off because there are too many calls. Nor does
// the time count in which EC2 shows no instances, as it does not answer then: a claim that is given up ends once EC2 has
// shown what became of its launch, so that it would be kept beside the next one that is bought for its pods.
func LaunchDeadline(c *model.Claim, begun time.Time, waited time.Duration, ec2 Silence, now time.Time) time.Time {
	since := c.StateTime
	if begun.After(since) {
		since = begun
	}
	if c.Failure.Code == model.CodeThrottled {
		since = now
	}
	return since.Add(LaunchTimeout + waited + ec2(since))
}

// launched records the instance, whether the launch returned it or EC2 shows it with the claim's tag.
func launched(c model.Claim, e Event, now time.Time) Result {
	return does(enter(record(c, e.Instance, now), model.ClaimLaunched, now))
}

func record(c model.Claim, i Instance, now time.Time) model.Claim {
	c.InstanceID, c.ProviderID, c.ImageID = i.ID, i.ProviderID, i.ImageID
	c.LaunchedAs(i.Offering)
	c.Capacity, c.Allocatable = i.Capacity, i.Allocatable
	if i.Labels != nil {
		c.Labels = i.Labels
	}
	c.LaunchTime, c.Failure = i.LaunchTime, model.Reason{}
	if c.LaunchTime.IsZero() {
		c.LaunchTime = now
	}
	return c
}

// launchFailed tries the next offerings, waits, or gives up. A claim whose launch may have made an instance goes by way
// of Terminating, where that instance is looked for.
func launchFailed(c model.Claim, e Event, now time.Time) Result {
	switch e.Failure {
	case FailureCapacity:
		if len(e.Offerings) > 0 {
			return attempt(c, e.Offerings)
		}
		c.Failure = e.Reason
		return does(enter(c, model.ClaimFailed, now))
	case FailureRefused:
		c.Failure = e.Reason
		return does(enter(c, model.ClaimTerminating, now), EffectTerminate)
	case FailureLater:
		if len(e.Offerings) == 0 {
			return noneLeft(c, e.Reason.Message, now)
		}
		c.Failure = e.Reason
		if c.Failure.Code != model.CodeThrottled && c.Attempt%answersBeforeOther == 0 {
			return attempt(c, otherCapacityFirst(e.Offerings))
		}
		return attempt(c, e.Offerings)
	case FailureUnspecified, FailureRetry:
	}
	c.Failure = e.Reason // shown while it lasts; the next tick tries again
	return does(c)
}

// answersBeforeOther is how many answers that nothing was made a claim takes for one capacity type before it tries the
// next: longer than AWS takes to hear of what was just made.
const answersBeforeOther = 6

// otherCapacityFirst has what can be had of other capacity types before that of the first.
func otherCapacityFirst(offerings []model.RankedOffering) []model.RankedOffering {
	if len(offerings) == 0 {
		return nil
	}
	first := func(o model.RankedOffering) bool { return o.CapacityType == offerings[0].CapacityType }
	others := slices.DeleteFunc(slices.Clone(offerings), first)
	return append(others, slices.DeleteFunc(slices.Clone(offerings), func(o model.RankedOffering) bool { return !first(o) })...)
}

// registrationTimeout gives up an instance that did not become a node.
func registrationTimeout(c model.Claim, e Event, now time.Time) Result {
	deadline := e.Deadline
	if deadline.IsZero() {
		deadline = c.LaunchTime.Add(RegistrationTimeout)
	}
	if now.Before(deadline) {
		r := does(c)
		r.Wake = deadline
		return r
	}
	c.Failure = about(c, model.CodeRegistrationTimeout,
		"instance %s did not join the cluster within %s", c.InstanceID, RegistrationTimeout)
	return does(enter(c, model.ClaimTerminating, now), EffectTerminate)
}

// RegistrationDeadline is when an instance is given up that did not become a node, by a leader that has led since
// begun. The time in which the API server shows no nodes does not count: nothing can join then, or be seen to. A node
// that has joined in time is there for Kerf to let it open, which may fail at the API server for a while, as at a
// webhook: it has the time again from then on. So has one that waited for a leader. A leader that has just begun waits
// a moment for those that may have joined while they could not be seen.
func RegistrationDeadline(c *model.Claim, n *cluster.Node, begun time.Time, api Silence) time.Time {
	by := func(since time.Time) time.Time { return since.Add(RegistrationTimeout + api(since)) }
	since := c.LaunchTime
	if n == nil {
		return latest(by(since), settled(begun, api))
	}
	if n.CreateTime.Before(by(since)) { // else one that is made again and again would never be late
		since = latest(since, n.CreateTime)
	}
	return by(latest(since, begun))
}

// InitializationDeadline is when a node is given up that did not become Initialized within timeout, by a leader that has
// led since begun. The time in which the API server shows no nodes does not count.
func InitializationDeadline(c *model.Claim, timeout time.Duration, begun time.Time, api Silence) time.Time {
	return latest(c.StateTime.Add(timeout+api(c.StateTime)), settled(begun, api))
}

// settled is from when on what a leader sees of nodes counts, if it has led since begun.
func settled(begun time.Time, api Silence) time.Time { return begun.Add(SettleTime + api(begun)) }

// register gives the node what the claim says; it counts as registered when it is seen to be so.
func register(c model.Claim, e Event, now time.Time) Result {
	if !synced(e, c.ID) {
		return does(c, EffectSyncNode)
	}
	c.Node = e.Node.Name
	return does(enter(c, model.ClaimRegistered, now))
}

// synced says that the node is as the claim says, and takes pods, or those that it is kept for.
func synced(e Event, id model.ClaimID) bool {
	closed := slices.ContainsFunc(e.Node.Taints, func(t model.Taint) bool {
		return t.Key == labels.TaintUnregistered && !(e.Kept && t.Effect == model.NoSchedule)
	})
	return e.Node.Labels[labels.Registered] == "true" && e.Node.Labels[labels.Claim] == string(id) && !closed
}

// initializationTimeout gives up a node that never became Initialized: no one else would take it away. Where its
// kubelet is silent its pods go at once; else they are moved as those of any node.
func initializationTimeout(c model.Claim, e Event, now time.Time) Result {
	deadline := e.Deadline
	if deadline.IsZero() {
		deadline = c.StateTime.Add(InitializationTimeout)
	}
	if now.Before(deadline) {
		r := does(c)
		r.Wake = deadline
		return r
	}
	missing := "it is gone"
	if e.NodeThere {
		missing = NotInitialized(c, e.Node)
	}
	if missing == "" { // it becomes Initialized, late as it is
		return does(c)
	}
	failure := about(c, model.CodeNotInitialized, "node %s did not become Initialized within %s: %s",
		c.Node, deadline.Sub(c.StateTime), missing)
	out := Event{Kind: EventDrain, DisruptionReason: model.ReasonUnhealthy}
	if !e.Node.Ready {
		out.Deadline = now
	}
	leave := drain
	if !e.NodeThere {
		leave = end
	}
	r := leave(c, out, now)
	r.Claim.Failure = failure
	return r
}

// initialize waits until pods can rely on the node.
func initialize(c model.Claim, e Event, now time.Time) Result {
	if r, ok := keepSynced(c, e); !ok {
		return r
	}
	if e.Node.Labels[labels.Initialized] == "true" {
		c.Failure = model.Reason{}
		c.InitializeTime = now
		c.Capacity, c.Allocatable = e.Node.Capacity, e.Node.Allocatable
		r := Result{Claim: enter(c, model.ClaimInitialized, now)}
		r.Effects = taintEffects(r.Claim, e)
		return r
	}
	if missing := NotInitialized(c, e.Node); missing != "" {
		c.Failure = about(c, model.CodeNotInitialized, "node %s: %s", c.Node, missing)
		return does(c)
	}
	return does(c, EffectInitializeNode)
}

// keepSynced asks for the node to be synced again where a kubelet has registered it anew.
func keepSynced(c model.Claim, e Event) (Result, bool) {
	if synced(e, c.ID) {
		return Result{}, true
	}
	return does(c, EffectSyncNode), false
}

// NotInitialized says what a node still lacks before pods can rely on it; "" when nothing. Kerf's own taint is none of
// it: that one goes when Kerf says so. A resource that the node does not offer itself is there all the same where the
// scheduler has given a pod devices for it.
func NotInitialized(c model.Claim, n cluster.Node) string {
	if !n.Ready {
		return "it is not ready"
	}
	for _, t := range c.StartupTaints {
		if slices.ContainsFunc(n.Taints, func(x model.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect }) {
			return fmt.Sprintf("it still has the startup taint %s:%s", t.Key, t.Effect)
		}
	}
	for _, t := range n.Taints {
		if labels.Ephemeral(t.Key) && t.Key != labels.TaintUnregistered {
			return fmt.Sprintf("it still has the taint %s:%s", t.Key, t.Effect)
		}
	}
	for _, want := range c.Requests {
		byDevices := func(p cluster.Pod) bool { return p.HasDevicesFor(want.Resource) }
		if want.Value > 0 && amount(n.Allocatable, want.Resource) == 0 && !slices.ContainsFunc(n.Pods, byDevices) {
			return fmt.Sprintf("it does not offer %s yet", want.Resource)
		}
	}
	return ""
}

func amount(list model.Amounts, resource model.Resource) int64 {
	for _, a := range list {
		if a.Resource == resource {
			return a.Value
		}
	}
	return 0
}

// keepTaints keeps the node of a claim in use as it should be.
func keepTaints(c model.Claim, e Event, _ time.Time) Result {
	if r, ok := keepSynced(c, e); !ok {
		return r
	}
	c.Failure = model.Reason{} // its node may have been missing
	return Result{Claim: c, Effects: taintEffects(c, e)}
}

// taintEffects keeps new pods off a node that a disruption names, and lets them back once it was given up; and away
// from one that is to go later, if they can go elsewhere, or in any case while others are being moved: where these land
// there, they would be moved again, or keep the node. Where its turn has come it is not let open in between.
func taintEffects(c model.Claim, e Event) []Effect {
	var out []Effect
	has := e.Node.Disrupted()
	switch {
	case c.Disruption != "" && !has:
		out = append(out, Effect{Kind: EffectTaintNode})
	case c.Disruption == "" && has:
		out = append(out, Effect{Kind: EffectUntaintNode})
	}
	soft := slices.Contains(e.Node.Taints, model.Taint{Key: labels.TaintRemovalDeferred, Effect: model.PreferNoSchedule})
	hard := slices.Contains(e.Node.Taints, model.Taint{Key: labels.TaintRemovalDeferred, Effect: model.NoSchedule})
	switch {
	case c.RemovalDeferred && e.Firm && (soft || !hard):
		out = append(out, Effect{Kind: EffectShutNode})
	case c.RemovalDeferred && !e.Firm && (hard || !soft):
		out = append(out, Effect{Kind: EffectDiscourageNode})
	case !c.RemovalDeferred && (soft || hard) && (c.Disruption == "" || has):
		out = append(out, Effect{Kind: EffectEncourageNode})
	}
	return out
}

// deferRemoval notes whether a plan means to remove the claim later. Its node is marked when it is seen.
func deferRemoval(c model.Claim, e Event, _ time.Time) Result {
	c.RemovalDeferred = e.Deferred
	return does(c)
}

func disrupt(c model.Claim, e Event, now time.Time) Result {
	return does(noteDisruption(c, e, now).Claim, EffectTaintNode)
}

func rollBack(c model.Claim, e Event, now time.Time) Result {
	if c.Disruption != e.Disruption {
		return does(c)
	}
	return does(clearDisruption(c, e, now).Claim, EffectUntaintNode)
}

// noteDisruption notes the disruption of a claim that has no node to taint yet.
func noteDisruption(c model.Claim, e Event, _ time.Time) Result {
	c.Disruption, c.DisruptionReason = e.Disruption, e.DisruptionReason
	return does(c)
}

func clearDisruption(c model.Claim, e Event, _ time.Time) Result {
	if c.Disruption == e.Disruption {
		c.Disruption, c.DisruptionReason = "", 0
	}
	return does(c)
}
