package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

// rollout is how long a workload with pods of several revisions is left alone after the newest of them was bound.
const rollout = 10 * time.Minute

// Protected says that a pod must not be disrupted. An end without the protection itself protects nothing.
func Protected(p *model.Pod, now time.Time) (model.Reason, time.Time) {
	if !p.DoNotDisrupt || (!p.DoNotDisruptUntil.IsZero() && !now.Before(p.DoNotDisruptUntil)) {
		return model.Reason{}, time.Time{}
	}
	until := ""
	if !p.DoNotDisruptUntil.IsZero() {
		until = " until " + p.DoNotDisruptUntil.UTC().Format(time.RFC3339)
	}
	return model.Reason{
		Code: model.CodePodDoNotDisrupt, Subject: "pod/" + string(p.ID),
		Message: fmt.Sprintf("pod %s is annotated %s%s", p.ID, labels.DoNotDisrupt, until), Remedy: "remove the annotation from the pod",
	}, p.DoNotDisruptUntil
}

// Unsupported is why the pods of a class are not planned for; "" where they are. Where a pod of another scheduler will
// run is not for Kerf to say, as that may have rules of its own.
func Unsupported(c *model.PodClass, p *model.Policy) string {
	name := cmp.Or(c.SchedulerName, model.DefaultScheduler)
	switch {
	case c.Unsupported != "" || c.Daemon || c.Mirror:
		return c.Unsupported
	case len(p.SchedulerNames) == 0 && name == model.DefaultScheduler || slices.Contains(p.SchedulerNames, name):
		return ""
	default:
		return fmt.Sprintf("spec.schedulerName: %s is not among the schedulers of the policy (scheduler_names)", name)
	}
}

// Evicted says that a drain evicts pods of a class: they are not the kubelet's own, and do not tolerate the taint of
// nodes that go, as those of most DaemonSets do.
func Evicted(c *model.PodClass) bool {
	taint := model.Taint{Key: labels.TaintDisrupted, Effect: model.NoSchedule}
	return !c.Mirror && !slices.ContainsFunc(c.Tolerations, func(t model.Toleration) bool { return t.Tolerates(taint) })
}

// ToBeEvicted says that the drain of a node that goes has yet to evict a pod, so that its disruption budget does not
// count it yet: it has counted one that is ending.
func ToBeEvicted(p *model.Pod, c *model.PodClass) bool {
	return !p.Terminating && !c.Daemon && Evicted(c)
}

// HoldsDrain says that a pod, which some budgets cover, keeps the drain of its node from going on now: what would be
// evicted after it waits for as long, which may be for days where an app is not well.
func HoldsDrain(p *model.Pod, c *model.PodClass, covering []*model.PodDisruptionBudget, now time.Time) bool {
	if p.Terminating || !Evicted(c) {
		return false
	}
	protected, _ := Protected(p, now)
	return !protected.OK() || NeverEvicted(covering) || slices.ContainsFunc(covering, func(b *model.PodDisruptionBudget) bool {
		return b.DisruptionsAllowed <= 0 && CountsEviction(b, p)
	})
}

// CountsEviction says whether a disruption budget counts the eviction of a pod that it covers.
func CountsEviction(b *model.PodDisruptionBudget, p *model.Pod) bool {
	return p.Ready || !b.AllowsUnhealthy
}

// NeverEvicted says that the API server never evicts a pod, by the disruption budgets that cover it.
func NeverEvicted(covering []*model.PodDisruptionBudget) bool {
	return len(covering) > 1 || slices.ContainsFunc(covering, func(b *model.PodDisruptionBudget) bool { return b.NeverAllows })
}

// Owner is what makes a pod again when it is gone; pods in the place of others are known by it, because their names differ.
type Owner struct{ Namespace, Kind, Name string }

// OwnerOf is the owner of a class's pods; its Kind is "" where nothing makes them again.
func OwnerOf(c *model.PodClass) Owner { return Owner{c.Namespace, c.OwnerKind, c.OwnerName} }

// overdue is how long after its grace a pod may still be there: its kubelet kills it then, and takes its volumes off.
const overdue = 10 * time.Second

// Leaves says that a pod which is being deleted will soon have left its node, so that pods may wait for its room: its
// grace ends within wait, which is policy.room_wait, nil for the default. It holds until the time that is returned,
// when the pod is overdue. Nothing ends pods where the kubelet is silent; those that come back to the node, a
// DaemonSet's and under its old name a StatefulSet's or maybe an operator's, leave no room; and devices, and volumes that
// one pod at a time may use, are given anew only once their pod is gone.
func Leaves(p *model.Pod, c *model.PodClass, n *model.Node, wait *time.Duration, now time.Time) (soon bool, until time.Time) {
	stays := c.Daemon || c.Mirror || MayKeepName(c.OwnerKind) || len(c.DeviceClaims) > 0 ||
		slices.ContainsFunc(c.Volumes, func(v model.VolumeTopology) bool { return v.Exclusive })
	if !p.Terminating || p.TerminationDeadline.IsZero() || !n.Ready || stays {
		return false, time.Time{}
	}
	d := model.Or(wait, model.DefaultRoomWait)
	until = p.TerminationDeadline.Add(overdue)
	return d > 0 && !p.TerminationDeadline.After(now.Add(d)) && now.Before(until), until
}

// Patient says that a pod may still wait for the room of others, for wait as Leaves has it: it has not been
// unschedulable for longer than one of them may take. So no pod waits for one after the other.
func Patient(p *model.Pod, wait *time.Duration, now time.Time) bool {
	return p.UnschedulableTime.IsZero() || now.Before(p.UnschedulableTime.Add(model.Or(wait, model.DefaultRoomWait)+overdue))
}

// Rollouts are workloads whose pods are of more than one revision. The zero Rollouts is empty.
type Rollouts struct {
	byOwner map[Owner]*revisions
}

type revisions struct {
	first  string
	mixed  bool
	newest time.Time
}

// Add counts a pod that is not being deleted, with the revision of its class and when it was bound (zero: not yet).
func (r *Rollouts) Add(o Owner, revision string, bound time.Time) {
	if o.Kind == "" || revision == "" {
		return
	}
	if r.byOwner == nil {
		r.byOwner = make(map[Owner]*revisions)
	}
	x := r.byOwner[o]
	if x == nil {
		x = &revisions{first: revision}
		r.byOwner[o] = x
	}
	x.mixed = x.mixed || x.first != revision
	if bound.After(x.newest) {
		x.newest = bound
	}
}

// Until is when a workload counts as rolled out, unless a pod is bound before then; zero when it does.
func (r *Rollouts) Until(o Owner, now time.Time) time.Time {
	x := r.byOwner[o]
	if x == nil || !x.mixed || !x.newest.Add(rollout).After(now) {
		return time.Time{}
	}
	return x.newest.Add(rollout)
}

// Next is when the first of all workloads counts as rolled out; zero when all do.
func (r *Rollouts) Next(now time.Time) (first time.Time) {
	for o := range r.byOwner {
		first = Earliest(first, r.Until(o, now))
	}
	return first
}

// RollingOut says that a workload is in the middle of a rollout; the pod is one of its pods.
func (r *Rollouts) RollingOut(o Owner, pod model.PodID, now time.Time) (model.Reason, time.Time) {
	until := r.Until(o, now)
	if until.IsZero() {
		return model.Reason{}, until
	}
	return model.Reason{
		Code: model.CodeRollout, Subject: "pod/" + string(pod),
		Message: fmt.Sprintf("%s %s is being rolled out; without another new pod it counts as settled at %s", o.Kind, o.Name, timeOfDay(until)),
		Remedy:  "wait for the rollout",
	}, until
}
