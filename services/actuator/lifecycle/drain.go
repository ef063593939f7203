package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

// stuckAfter is how long past its own deadline a deleted pod is waited for, because its kubelet is gone and nothing
// will end it; and past that of a drain any pod.
const stuckAfter = time.Minute

// hungAfter is how long past its own deadline a deleted pod that still runs is believed to let its volumes go: as long as
// Kubernetes waits for one to be unmounted before it takes it away from a node that does not answer. A kubelet that works
// has long killed the pod then, unless it can't: its processes hang, and so do the mounts.
const hungAfter = 6 * time.Minute

// bindingTime is how long pods may still come to a node that is tainted: the scheduler chose it before it saw the
// taint, and binds them meanwhile.
const bindingTime = 2 * time.Second

// lastTier is the highest value of tier.
const lastTier = 3

// minGrace is the least that a pod gets when it is deleted by force.
const minGrace = time.Second

// DrainInput is what the next step of a drain depends on.
type DrainInput struct {
	// Node is the node as it is; it has the disrupted taint, unless that can't be put there in time.
	Node cluster.Node
	// Begun is when the drain did, and Deadline when it ends by force, which may have been before; zero for never.
	Begun, Deadline time.Time
	// TaintTime is that of Event.
	TaintTime time.Time
	// Held and Blocked are those of Event.
	Held    map[string]bool
	Blocked map[string]string
	// Unasked and Trouble are those of Event.
	Unasked bool
	Trouble string
}

// Drain is the next step of a drain.
type Drain struct {
	// Evictions to ask for now, in the order in which the scheduler comes upon their successors, about: those first
	// that are tied to few nodes, because others take the room there as gladly as any, and of each kind the largest
	// first, because a large one finds none where small ones have taken some everywhere.
	Evictions []cluster.Eviction
	// Ask says that the API server itself is to be asked for the node's pods: none is seen that leaves.
	Ask bool
	// Done says that nothing holds the instance any more.
	Done bool
	// Waits says what the drain waits for, when that is not just pods that are on their way; "" otherwise.
	Waits string
	// Wake is when the answer changes without anything being seen to change; zero for never.
	Wake time.Time
}

// PlanDrain decides which pods leave next. Pods go in tiers, each only when the one before is gone: plain pods,
// DaemonSet pods, critical pods, critical DaemonSet pods. A pod that must not be disrupted waits for its own protection
// to end; any pod is deleted by force, budgets or not, early enough before the deadline to have its own grace period.
// What is left a while after the deadline goes with the instance. Where no pod is seen the API server is asked, once
// none can come any more: the watch of pods may be behind that of nodes, whose taint is seen already, and pods that came
// just before or after would end with the instance.
func PlanDrain(in DrainInput, now time.Time) Drain {
	var d Drain
	first := lastTier + 1
	var left []cluster.Pod
	for _, p := range in.Node.Pods {
		if !leaves(p, now) {
			continue
		}
		left = append(left, p)
		first = min(first, tier(p))
	}
	bound := earlier(cmp.Or(in.TaintTime, in.Begun).Add(bindingTime), in.Deadline)
	switch {
	case len(left) > 0:
	case now.Before(bound):
		return Drain{Wake: bound}
	case in.Unasked && (in.Deadline.IsZero() || now.Before(in.Deadline)):
		return Drain{Ask: true, Waits: in.Trouble, Wake: in.Deadline}
	default:
		return volumes(in, now)
	}
	if !in.Deadline.IsZero() {
		end := in.Deadline.Add(stuckAfter)
		if in.Begun.After(in.Deadline) {
			end = in.Begun.Add(stuckAfter)
		}
		if !now.Before(end) {
			return Drain{Done: true} // somebody refuses to have them deleted
		}
		d.wake(end)
	}
	var waits []string
	for _, p := range left {
		if wait := d.pod(in, p, tier(p) == first, now); wait != "" {
			waits = append(waits, wait)
		}
	}
	pods := make(map[string]cluster.Pod, len(left))
	for _, p := range left {
		pods[p.UID] = p
	}
	slices.SortStableFunc(d.Evictions, func(a, b cluster.Eviction) int { return harderToPlace(pods[a.UID], pods[b.UID]) })
	if len(waits) > 0 {
		d.Waits = waits[0]
		if len(waits) > 1 {
			d.Waits += fmt.Sprintf(" (and %d more)", len(waits)-1)
		}
	}
	return d
}

// harderToPlace orders pods.
func harderToPlace(a, b cluster.Pod) int {
	switch {
	case a.Tied && !b.Tied:
		return -1
	case !a.Tied && b.Tied:
		return 1
	}
	return cmp.Compare(b.Size, a.Size)
}

// volumes decides once all pods are gone: their disks must be let go before the instance ends, or they could be lost or
// stay attached for minutes. Where the kubelet is gone and has left pods behind, nothing is let go of any more; nor is
// what a pod that hangs has mounted.
func volumes(in DrainInput, now time.Time) Drain {
	dead := !in.Node.Ready && slices.ContainsFunc(in.Node.Pods, func(p cluster.Pod) bool { return stuck(p, now) })
	if dead || (!in.Deadline.IsZero() && !now.Before(in.Deadline)) {
		return Drain{Done: true}
	}
	hangs := map[string]time.Time{} // from when on, by uid
	for _, p := range in.Node.Pods {
		if stuck(p, now) {
			hangs[p.UID] = p.DeletionTime.Add(hungAfter)
		}
	}
	d := Drain{Wake: in.Deadline}
	var names []string
	for _, v := range in.Node.Volumes {
		var until time.Time
		for _, uid := range v.Pods {
			until = earlier(until, hangs[uid])
		}
		if until.IsZero() || now.Before(until) {
			names = append(names, v.Name)
			d.wake(until)
		}
	}
	if len(names) == 0 {
		return Drain{Done: true}
	}
	d.Waits = attached(in.Node.Name, names)
	return d
}

// namedVolumes is how many volumes a text names.
const namedVolumes = 3

// attached names volumes of a node, as many as help.
func attached(node model.NodeName, volumes []string) string {
	names, are := "volume "+volumes[0], "is"
	if len(volumes) > 1 {
		names, are = "volumes "+strings.Join(volumes[:min(namedVolumes, len(volumes))], ", "), "are"
	}
	if more := len(volumes) - namedVolumes; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s of node %s %s still attached", names, node, are)
}

// pod adds what is to be done about one pod and returns what it waits for, if that is worth telling.
func (d *Drain) pod(in DrainInput, p cluster.Pod, turn bool, now time.Time) string {
	force := forceTime(in.Deadline, p)
	if !force.IsZero() {
		if !now.Before(force) {
			if p.DeletionTime.IsZero() || p.DeletionTime.After(in.Deadline) {
				grace := max(in.Deadline.Sub(now), minGrace)
				d.Evictions = append(d.Evictions, evict(p, min(grace, max(p.GracePeriod, minGrace))))
			}
			return ""
		}
		d.wake(force)
	}
	name := p.Namespace + "/" + p.Name
	switch {
	case !p.DeletionTime.IsZero():
		d.wake(p.DeletionTime.Add(stuckAfter))
		return ""
	case p.DoNotDisrupt && (p.DoNotDisruptUntil.IsZero() || now.Before(p.DoNotDisruptUntil)):
		d.wake(p.DoNotDisruptUntil)
		return fmt.Sprintf("pod %s must not be disrupted", name)
	case !turn || in.Held[name]:
		return ""
	}
	d.Evictions = append(d.Evictions, evict(p, 0))
	if why, ok := in.Blocked[name]; ok {
		return fmt.Sprintf("pod %s: %s", name, why)
	}
	return ""
}

func (d *Drain) wake(t time.Time) { d.Wake = earlier(d.Wake, t) }

// forceTime is when the pod must be deleted to have its grace period before the deadline; zero for never.
func forceTime(deadline time.Time, p cluster.Pod) time.Time {
	if deadline.IsZero() {
		return time.Time{}
	}
	return deadline.Add(-p.GracePeriod)
}

// evict asks for the pod to go; a grace above zero asks by force.
func evict(p cluster.Pod, grace time.Duration) cluster.Eviction {
	return cluster.Eviction{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Force: grace > 0, Grace: grace, Again: !p.DeletionTime.IsZero()}
}

// leaves says that the drain has to move the pod: it is not finished, not the kubelet's own, does not stay by its own
// choice, and is not deleted with nothing to end it.
func leaves(p cluster.Pod, now time.Time) bool {
	if p.Finished || p.Mirror || p.ToleratesDisrupted {
		return false
	}
	return !stuck(p, now)
}

// stuck says that the pod was to be gone long ago.
func stuck(p cluster.Pod, now time.Time) bool {
	return !p.Finished && !p.DeletionTime.IsZero() && !now.Before(p.DeletionTime.Add(stuckAfter))
}

// Unseen says why a node of which no pod is seen is not empty: the API server has one there that leaves. "" where it
// has none.
func Unseen(node model.NodeName, pods []cluster.Pod, now time.Time) string {
	for _, p := range pods {
		if leaves(p, now) {
			return fmt.Sprintf("pod %s/%s has come to node %s, which the watch of pods has not brought yet", p.Namespace, p.Name, node)
		}
	}
	return ""
}

// LeavingPods returns the pods, as "namespace/name" and sorted, that a drain of the node moves elsewhere: those that leave
// and are not a DaemonSet's.
func LeavingPods(n cluster.Node, now time.Time) []string {
	var pods []string
	for _, p := range n.Pods {
		if !p.Daemon && leaves(p, now) {
			pods = append(pods, p.Namespace+"/"+p.Name)
		}
	}
	slices.SortFunc(pods, strings.Compare)
	return pods
}

// tier is the pod's place in the order of leaving, from 0.
func tier(p cluster.Pod) int {
	t := 0
	if p.Daemon {
		t++
	}
	if p.Critical {
		t += 2
	}
	return t
}
