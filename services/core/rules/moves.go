package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
)

// lateness is how long after a drain has ended a controller may make the last pod in place of one that was moved.
const lateness = time.Minute

// Arriving says that pods may still be made in place of those that a disruption evicts.
func Arriving(r *model.DisruptionRecord, now time.Time) bool {
	return !r.RolledBack && (r.EndTime.IsZero() || now.Before(r.EndTime.Add(lateness)))
}

// Workload is the pods that one controller makes from one template: a controller that is made anew under the same name,
// and a rollout, begin another one.
type Workload struct {
	Owner
	// UID is the controller's: the ReplicaSet's for pods of a Deployment. "" where it is not known, which is one value like
	// any other: the pods of a live cluster have it, and are not those of a record that was stored without.
	UID, Revision string
}

// WorkloadOf is the workload of a class's pods.
func WorkloadOf(c *model.PodClass) Workload { return Workload{OwnerOf(c), c.OwnerUID, c.OwnerRevision} }

// Evicts says how many of its pods a disruption evicts.
func (w Workload) Evicts(pods int) model.WorkloadEvictions {
	return model.WorkloadEvictions{Namespace: w.Namespace, Kind: w.Kind, Name: w.Name, UID: w.UID, Revision: w.Revision, Pods: pods}
}

// Moves says which pods came in the place of those that were moved by choice. It is not safe for concurrent use.
type Moves struct {
	rest  time.Duration
	moved map[Workload]*moved
	// byClass is what was looked up: many pods share a class, and a workload is long to compare.
	byClass map[*model.PodClass]*moved
}

// moved is one workload of which pods were moved.
type moved struct {
	drains []drain
	// first is when the first of the drains began.
	first time.Time
	// pods are those made since first.
	pods []*model.Pod
	// successors are those of them that came in the place of moved ones; nil until someone asks.
	successors map[model.PodID]bool
}

// drain is what one disruption did to one workload.
type drain struct {
	// Pods that are made in this time may be successors; until is zero while the disruption goes on.
	from, until time.Time
	// pods is how many were moved.
	pods int
	// names are the successors' where they keep the names of the moved pods; nil where they do not. Sorted.
	names []model.PodID
}

// NewMoves reads the snapshot's records. rest is how long moved pods are left alone: policy.pod_rest, nil for the default.
// Pods are added afterwards.
func NewMoves(s *model.Snapshot, rest *time.Duration) *Moves {
	m := &Moves{rest: model.Or(rest, model.DefaultPodRest), moved: make(map[Workload]*moved), byClass: make(map[*model.PodClass]*moved)}
	replacements := replacementsOf(s)
	for i := range s.Disruptions {
		r := &s.Disruptions[i]
		if r.RolledBack || !r.Reason.ByChoice() {
			continue
		}
		d := drain{from: begun(r, replacements)}
		if !r.EndTime.IsZero() {
			d.until = r.EndTime.Add(lateness)
		}
		for _, w := range r.Workloads {
			if w.Kind == "" {
				continue // nothing made them again
			}
			d.pods, d.names = w.Pods, nil
			if KeepsName(w.Kind) {
				d.names = r.Pods
			}
			m.add(Workload{Owner{w.Namespace, w.Kind, w.Name}, w.UID, w.Revision}, d)
		}
	}
	return m
}

// KeepsName says of the kind of an owner that its pods are made again under the same name, and so only once the one
// before is gone.
func KeepsName(kind string) bool { return kind == "StatefulSet" }

// MayKeepName says of the kind of an owner that it may do what KeepsName says. Of what is not Kubernetes' own nothing is
// known: operators such as those of databases make their pods again as they were, often with a volume that is on the node.
func MayKeepName(kind string) bool {
	switch kind {
	case "", "ReplicaSet", "Deployment", "Rollout", "ReplicationController", "Job":
		return false
	default:
		return true
	}
}

// replacementsOf finds the claims that replace others in the snapshot's records.
func replacementsOf(s *model.Snapshot) map[model.ClaimID]*model.Claim {
	out := make(map[model.ClaimID]*model.Claim)
	for i := range s.Disruptions {
		for _, id := range s.Disruptions[i].Replacements {
			out[id] = nil
		}
	}
	if len(out) == 0 {
		return out
	}
	for i := range s.Claims {
		if _, named := out[s.Claims[i].ID]; named {
			out[s.Claims[i].ID] = &s.Claims[i]
		}
	}
	return out
}

// begun is when a disruption began to evict, at the earliest: once it was accepted and its replacements are
// initialized. A pod says when it was made to the second, rounded down, and so does the answer.
func begun(r *model.DisruptionRecord, replacements map[model.ClaimID]*model.Claim) time.Time {
	at := r.AcceptTime
	for _, id := range r.Replacements {
		if c := replacements[id]; c != nil && c.InitializeTime.After(at) {
			at = c.InitializeTime
		}
	}
	return at.Truncate(time.Second)
}

func (m *Moves) add(w Workload, d drain) {
	of := m.moved[w]
	if of == nil {
		of = &moved{first: d.from}
		m.moved[w] = of
	}
	if d.from.Before(of.first) {
		of.first = d.from
	}
	of.drains = append(of.drains, d)
}

// Rest is how long pods that were moved are left alone.
func (m *Moves) Rest() time.Duration { return m.rest }

// of is what was moved of a class's workload; nil where nothing was.
func (m *Moves) of(c *model.PodClass) *moved {
	of, known := m.byClass[c]
	if !known {
		of = m.moved[WorkloadOf(c)]
		m.byClass[c] = of
	}
	return of
}

// Concerns says that pods of a class were moved: then all pods of the class must be added.
func (m *Moves) Concerns(c *model.PodClass) bool { return m.of(c) != nil }

// Add adds a pod, whether it is bound or not, and whether it is being deleted: it may be a successor all the same, so that
// another one is not.
func (m *Moves) Add(c *model.PodClass, p *model.Pod) {
	if of := m.of(c); of != nil && !made(p).Before(of.first) {
		of.pods, of.successors = append(of.pods, p), nil
	}
}

// made is when a pod was created; when it was bound, where it does not say.
func made(p *model.Pod) time.Time {
	if p.CreateTime.IsZero() {
		return p.BindTime
	}
	return p.CreateTime
}

// Until is when a pod has rested; zero when it need not rest. Nothing says which pod came for which, so that they are
// counted: of the pods of a workload that were made while a disruption evicted some of it, or within a minute after, the
// first rest, as many as were moved. A pod that is made later, or for one of those that ended for another reason, does not.
func (m *Moves) Until(c *model.PodClass, p *model.Pod, now time.Time) time.Time {
	until := p.BindTime.Add(m.rest)
	if p.BindTime.IsZero() || !until.After(now) {
		return time.Time{}
	}
	if of := m.of(c); of == nil || made(p).Before(of.first) || !of.succeeds(p) {
		return time.Time{}
	}
	return until
}

// Resting says that a pod was moved by choice a short time ago, and is left alone.
func (m *Moves) Resting(c *model.PodClass, p *model.Pod, now time.Time) (model.Reason, time.Time) {
	until := m.Until(c, p, now)
	if until.IsZero() {
		return model.Reason{}, until
	}
	return model.Reason{
		Code: model.CodeResting, Subject: "pod/" + string(p.ID),
		Message: fmt.Sprintf("pod %s of %s %s was moved a short time ago, and is left alone until %s", p.ID, c.OwnerKind, c.OwnerName, timeOfDay(until)),
		Remedy:  "wait, or lower policy.pod_rest",
	}, until
}

// succeeds says that a pod came in the place of a moved one.
func (of *moved) succeeds(p *model.Pod) bool {
	if of.successors == nil {
		of.settle()
	}
	return of.successors[p.ID]
}

// settle goes through pods and drains in the order of time. A pod that may belong to several drains counts for the one that
// ends first, so that the others have what is left: no other way finds more pods, and none is counted twice.
func (of *moved) settle() {
	of.successors = make(map[model.PodID]bool)
	slices.SortFunc(of.pods, func(a, b *model.Pod) int { return cmp.Or(made(a).Compare(made(b)), cmp.Compare(a.ID, b.ID)) })
	slices.SortStableFunc(of.drains, func(a, b drain) int { return a.from.Compare(b.from) })
	var open []drain // whose time it is and whose pods were not all found; the first to end first
	next := 0
	for _, p := range of.pods {
		at := made(p)
		for ; next < len(of.drains) && !of.drains[next].from.After(at); next++ {
			i, _ := slices.BinarySearchFunc(open, of.drains[next], drain.compareEnd)
			open = slices.Insert(open, i, of.drains[next])
		}
		open = slices.DeleteFunc(open, func(d drain) bool { return d.pods <= 0 || !d.until.IsZero() && d.until.Before(at) })
		if i := slices.IndexFunc(open, func(d drain) bool { return d.mayBe(p.ID) }); i >= 0 {
			of.successors[p.ID] = true
			open[i].pods--
		}
	}
}

// mayBe says whether a successor may have the id.
func (d drain) mayBe(id model.PodID) bool {
	_, named := slices.BinarySearch(d.names, id)
	return d.names == nil || named
}

// compareEnd orders drains by their ends; one that goes on is last.
func (d drain) compareEnd(o drain) int {
	switch {
	case d.until.Equal(o.until):
		return 0
	case o.until.IsZero(), !d.until.IsZero() && d.until.Before(o.until):
		return -1
	}
	return 1
}
