package rules

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/core/labels"
	"github.com/kerf-dev/kerf/services/core/model"
)

const (
	// lateness is how long after a drain has ended a controller may make the last pod in place of one that was moved.
	lateness = time.Minute
	// rollout is how long a workload with pods of several revisions is left alone after the newest of them was bound.
	rollout = 10 * time.Minute
)

// Protected says that a pod must not be disrupted. An end without the protection itself protects nothing.
func Protected(p *model.Pod, now time.Time) (model.Reason, time.Time) {
	if !p.DoNotDisrupt || (!p.DoNotDisruptUntil.IsZero() && !now.Before(p.DoNotDisruptUntil)) {
		return model.Reason{}, time.Time{}
	}
	return model.Reason{
		Code: model.CodePodDoNotDisrupt, Subject: "pod/" + string(p.ID),
		Message: fmt.Sprintf("pod %s is annotated %s", p.ID, labels.DoNotDisrupt), Remedy: "remove the annotation from the pod",
	}, p.DoNotDisruptUntil
}

// Owner is what makes a pod again when it is gone; pods in the place of others are known by it, because their names differ.
type Owner struct{ Namespace, Kind, Name string }

// OwnerOf is the owner of a class's pods; its Kind is "" where nothing makes them again.
func OwnerOf(c *model.PodClass) Owner { return Owner{c.Namespace, c.OwnerKind, c.OwnerName} }

// Moves are the times in which pods were moved by choice, by owner.
type Moves struct {
	rest  time.Duration
	spans map[Owner][]span
}

// span is a time that may not have ended; until is zero then.
type span struct{ from, until time.Time }

// NewMoves reads what happened. rest is how long moved pods are left alone: policy.pod_rest, nil for the default.
func NewMoves(records []model.DisruptionRecord, rest *time.Duration) *Moves {
	m := &Moves{rest: model.DefaultPodRest, spans: make(map[Owner][]span)}
	if rest != nil {
		m.rest = *rest
	}
	for i := range records {
		r := &records[i]
		if r.RolledBack || !r.Reason.ByChoice() {
			continue
		}
		for _, w := range r.Workloads {
			o := Owner{w.Namespace, w.Kind, w.Name}
			moved := span{r.AcceptTime, r.EndTime}
			if n := len(m.spans[o]); n == 0 || m.spans[o][n-1] != moved { // a plan's disruptions often begin and end together
				m.spans[o] = append(m.spans[o], moved)
			}
		}
	}
	return m
}

// Rest is how long pods that were moved are left alone.
func (m *Moves) Rest() time.Duration { return m.rest }

// Until is when a pod has rested; zero when it need not rest. A pod that was made while a disruption that names its owner
// went on, or within a minute after, came in the place of a moved one. One that was made later may have come in the place
// of such a pod that ended for another reason.
func (m *Moves) Until(o Owner, p *model.Pod, now time.Time) time.Time {
	if p.BindTime.IsZero() || !p.BindTime.Add(m.rest).After(now) {
		return time.Time{}
	}
	made := p.CreateTime
	if made.IsZero() {
		made = p.BindTime
	}
	var until time.Time
	for _, s := range m.spans[o] {
		var rested time.Time
		switch {
		case made.Before(s.from):
			continue
		case s.until.IsZero() || !made.After(s.until.Add(lateness)):
			rested = p.BindTime.Add(m.rest)
		default:
			rested = s.until.Add(m.rest)
		}
		if rested.After(until) && rested.After(now) {
			until = rested
		}
	}
	return until
}

// Resting says that a pod was moved by choice a short time ago, and is left alone.
func (m *Moves) Resting(o Owner, p *model.Pod, now time.Time) (model.Reason, time.Time) {
	until := m.Until(o, p, now)
	if until.IsZero() {
		return model.Reason{}, until
	}
	return model.Reason{
		Code: model.CodeResting, Subject: "pod/" + string(p.ID),
		Message: fmt.Sprintf("pods of %s %s were moved a short time ago, and are left alone until %s", o.Kind, o.Name, timeOfDay(until)),
		Remedy:  "wait, or lower policy.pod_rest",
	}, until
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
