package lifecycle

import (
	"iter"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/actuator/cluster"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// planWindow is how long a plan for the pods of an interrupted node is waited for.
	planWindow = 10 * time.Second
	// evictSlack is what the evictions of an interrupted node need beside the pods' own grace, at least.
	evictSlack = 45 * time.Second
	// mostLater is how long pods that go where others are not let in wait for these.
	mostLater = 3 * time.Second
)

// heldBack lists pods of a draining node that should wait a little, and when the answer changes by itself, zero for never.
func heldBack(c model.Claim, s Seen, now time.Time) (map[string]bool, time.Time) {
	switch {
	case c.State != model.ClaimDraining:
	case c.DisruptionReason == model.ReasonInterrupted && !slices.ContainsFunc(s.Notices, stops):
		return uncertain(c, s, now)
	case s.Later != nil:
		return later(c, *s.Node, s.Later, now)
	}
	return nil, time.Time{}
}

// later lists pods that go to nodes which are kept for them, while others of the node are still to be evicted. The
// others' successors go first: they may take what the nodes that are open have left, and nothing of what is kept. Else
// these would take it, as gladly as any, and the others find no room.
func later(c model.Claim, n cluster.Node, goes func(model.PodID) bool, now time.Time) (map[string]bool, time.Time) {
	until := c.StateTime.Add(mostLater)
	if !now.Before(until) {
		return nil, time.Time{}
	}
	held, others := map[string]bool{}, false
	for _, p := range n.Pods {
		switch name := p.Namespace + "/" + p.Name; {
		case goes(model.PodID(name)):
			held[name] = true
		case tier(p) == 0 && !p.DoNotDisrupt && leaves(p, now) && p.DeletionTime.IsZero():
			others = true
		}
	}
	if !others {
		return nil, time.Time{}
	}
	return held, until
}

// stops says that the instance works no longer: nothing is won by waiting there.
func stops(n *model.Notice) bool { return n.Kind == model.NoticeStateChange && Interrupts(*n) }

// uncertain lists pods of an interrupted node that should wait a little: a claim for them is on its way, or a plan has
// not been made yet: it is asked for when the drain begins, and anew where what was bought has failed, or another
// leader began before there was one. No pod waits past the time that the evictions need: the pod's own grace and a
// slack, or half of what the notice leaves, whichever ends earlier; where it leaves all the time, a pod waits for as
// long as a claim is on its way, but no longer than two instances may take to join, one after the other: what is bought
// may fail again and again. It says when the answer changes by itself, zero for never.
func uncertain(c model.Claim, s Seen, now time.Time) (map[string]bool, time.Time) {
	all := s.Places()
	half := halfway(c)
	held := map[string]bool{}
	var wake time.Time
	for _, p := range s.Node.Pods {
		name := p.Namespace + "/" + p.Name
		until := c.StateTime.Add(2 * RegistrationTimeout)
		if !half.IsZero() {
			until = earlier(half, c.DrainDeadline.Add(-p.GracePeriod-evictSlack))
		}
		coming := all.coming[model.PodID(name)]
		if !coming {
			asked := latest(c.StateTime, s.Begun, all.failed[model.PodID(name)])
			until = earlier(until, asked.Add(planWindow))
		}
		if now.Before(until) && (coming || !all.readyBeside(c.ID, model.PodID(name))) {
			held[name] = true
			wake = earlier(wake, until)
		}
	}
	return held, wake
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// Places says for which pods a claim is on its way, and which claims are ready for a pod. It is made of all claims, so
// once for all nodes that are interrupted together.
type Places struct {
	coming map[model.PodID]bool
	ready  map[model.PodID][]model.ClaimID
	failed map[model.PodID]time.Time // when the last claim was given up that never was ready
}

// NewPlaces looks at all claims.
func NewPlaces(claims iter.Seq[*model.Claim]) *Places {
	out := &Places{coming: map[model.PodID]bool{}, ready: map[model.PodID][]model.ClaimID{}, failed: map[model.PodID]time.Time{}}
	for c := range claims {
		for _, p := range c.Pods {
			switch {
			case c.State.InFlight():
				out.coming[p] = true
			case c.State == model.ClaimInitialized:
				out.ready[p] = append(out.ready[p], c.ID)
			case c.Reached < model.ClaimInitialized && c.StateTime.After(out.failed[p]):
				out.failed[p] = c.StateTime
			}
		}
	}
	return out
}

// readyBeside says that another claim than the given one is ready for the pod.
func (x *Places) readyBeside(id model.ClaimID, p model.PodID) bool {
	return slices.ContainsFunc(x.ready[p], func(other model.ClaimID) bool { return other != id })
}
