package outbox

import (
	"iter"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// podEvents is how many events of pods that are not bought for wait among the others at most: there may be thousands of
	// such pods, and what is told of nodes meanwhile is not to wait for them, or to be dropped for them.
	podEvents = maxHints / 2
	// tellAgain is when a pod is told the same again: it may be another one of that name by then. What the pod was told
	// before, and can still read, is not written.
	tellAgain = 10 * time.Minute
)

// pods are those that the newest plan has no place for, or none yet. Their events are made from it as there is room for
// them.
type pods struct {
	// untold are those that were not told yet what the newest plan says, and told are what each was told last, and
	// when. Both have pods of the newest plan alone.
	untold []cluster.Event
	told   map[model.PodID]toldPod
}

type toldPod struct {
	message string
	at      time.Time
}

// Pods takes what the newest plan has for users of pods without a place, and of those that wait for the room of others:
// why, and what would help; where, and until when. Those without a place come first.
func (o *Outbox) Pods(pending iter.Seq2[model.PodID, model.Reason], placed []model.Placement) {
	next := pods{told: map[model.PodID]toldPod{}}
	var changed []cluster.Event // what pods are told anew; those that were told nothing yet come first, as messages may change with each plan
	take := func(pod model.PodID, e cluster.Event) {
		var ok bool
		if e.Namespace, e.Name, ok = pod.Object(); !ok { // a capacity buffer's
			return
		}
		e.Kind = "Pod"
		was, is := o.pods.told[pod]
		if is = is && o.agenda.Now().Before(was.at.Add(tellAgain)); is {
			next.told[pod] = was
		}
		switch {
		case !is:
			next.untold = append(next.untold, e)
		case was.message != e.Message:
			changed = append(changed, e)
		}
	}
	for pod, why := range pending {
		if why.Message == "" {
			continue
		}
		message := why.Message
		if why.Remedy != "" {
			message += "; " + why.Remedy
		}
		take(pod, cluster.Event{Warning: true, Reason: "FailedScheduling", Message: message})
	}
	for _, p := range placed {
		if !p.WaitUntil.IsZero() {
			take(p.Pod, cluster.Event{
				Reason:  "Nominated",
				Message: "it waits for the room of pods that are ending on node " + string(p.Node) + ", until " + p.WaitUntil.UTC().Format(time.RFC3339) + " at the latest",
			})
		}
	}
	next.untold = append(next.untold, changed...)
	o.pods = next
}

// tellPods queues events of pods while there is room. Events that could not be written wait among the others, too.
func (o *Outbox) tellPods() {
	for len(o.pods.untold) > 0 && len(o.events)-o.late < podEvents && len(o.events) < maxEvents/2 {
		e := o.pods.untold[0]
		o.pods.untold = o.pods.untold[1:]
		o.pods.told[model.PodID(e.Namespace+"/"+e.Name)] = toldPod{e.Message, o.agenda.Now()}
		o.Event(e)
	}
}
