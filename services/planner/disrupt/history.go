package disrupt

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// rollout is how long an owner's pods are left alone after the newest of several revisions was bound.
const rollout = 10 * time.Minute

// owner is what makes a pod again when it is gone.
type owner struct{ namespace, kind, name string }

func ownerOf(c *view.Class) owner { return owner{c.Namespace, c.OwnerKind, c.OwnerName} }

// history is what happened lately to the pods of each owner. The zero times are those of owners that nothing happened to.
type history struct {
	rest time.Duration
	// moved are the times in which pods came in the place of some of an owner's that were moved by choice.
	moved map[owner][]span
	// rolling is until when an owner counts as being rolled out.
	rolling map[owner]time.Time
}

func newHistory(v *view.View) *history {
	h := &history{rest: model.DefaultPodRest, moved: make(map[owner][]span), rolling: make(map[owner]time.Time)}
	if r := v.Policy.PodRest; r != nil {
		h.rest = *r
	}
	for i := range v.Snapshot.Disruptions {
		r := &v.Snapshot.Disruptions[i]
		if r.RolledBack || !r.Reason.ByChoice() {
			continue
		}
		for _, w := range r.Workloads {
			o := owner{w.Namespace, w.Kind, w.Name}
			h.moved[o] = append(h.moved[o], span{r.AcceptTime, r.EndTime})
		}
	}
	h.findRollouts(v)
	return h
}

// span is a time that may not have ended; until is zero then.
type span struct{ from, until time.Time }

// late is how long after a drain has ended a controller may make the last pod in its place.
const late = time.Minute

// has says whether a pod that was made at a time came in the place of one that was moved in the span.
func (s span) has(t time.Time) bool {
	return !t.Before(s.from) && (s.until.IsZero() || !t.After(s.until.Add(late)))
}

// findRollouts looks for owners with pods of more than one revision.
func (h *history) findRollouts(v *view.View) {
	type revisions struct {
		first  string
		many   bool
		newest time.Time
	}
	byOwner := make(map[owner]*revisions)
	mixed := make(map[owner]bool)
	for _, c := range v.Classes { // most owners have one revision: that is seen without looking at pods
		if c.OwnerKind == "" || c.OwnerRevision == "" {
			continue
		}
		o := ownerOf(c)
		r := byOwner[o]
		switch {
		case r == nil:
			byOwner[o] = &revisions{first: c.OwnerRevision}
		case r.first != c.OwnerRevision:
			mixed[o] = true
		}
	}
	if len(mixed) == 0 {
		return
	}
	clear(byOwner)
	for i := range v.Pods {
		p := &v.Pods[i]
		o := ownerOf(p.Class)
		if p.Terminating || !mixed[o] {
			continue
		}
		r := byOwner[o]
		if r == nil {
			r = &revisions{first: p.Class.OwnerRevision}
			byOwner[o] = r
		}
		r.many = r.many || r.first != p.Class.OwnerRevision
		if p.BindTime.After(r.newest) {
			r.newest = p.BindTime
		}
	}
	for o, r := range byOwner {
		if until := r.newest.Add(rollout); r.many && until.After(v.Now) {
			h.rolling[o] = until
		}
	}
}

// rests says until when a pod is left alone because it was moved; zero when it need not be.
func (h *history) rests(p view.Pod, now time.Time) time.Time {
	if p.BindTime.IsZero() || !p.BindTime.Add(h.rest).After(now) {
		return time.Time{}
	}
	born := p.CreateTime
	if born.IsZero() {
		born = p.BindTime
	}
	var until time.Time
	for _, s := range h.moved[ownerOf(p.Class)] {
		rests := time.Time{}
		switch {
		case s.has(born):
			rests = p.BindTime.Add(h.rest)
		case born.After(s.from): // it may have come in the place of one that was moved, and has ended for another reason
			rests = s.until.Add(h.rest)
		}
		if rests.After(until) && rests.After(now) {
			until = rests
		}
	}
	return until
}

// rested says whether pods that were moved lately are on a node.
func rested(s *search, host int) model.Reason {
	var longest time.Time
	var who view.Pod
	for _, i := range s.moving[host] {
		if until := s.history.rests(s.v.Pods[i], s.v.Now); until.After(longest) {
			longest, who = until, s.v.Pods[i]
		}
	}
	if longest.IsZero() {
		return model.Reason{}
	}
	return model.Reason{
		Code: model.CodeResting, Subject: "pod/" + string(who.ID),
		Message: fmt.Sprintf("pods of %s %s were moved a short time ago, and are left alone until %s", who.Class.OwnerKind,
			who.Class.OwnerName, clock(longest)),
		Remedy: "wait, or lower policy.pod_rest",
	}
}

// rolledOut says whether a workload on a node is being rolled out.
func rolledOut(s *search, host int) model.Reason {
	for _, i := range s.moving[host] {
		c := s.v.Pods[i].Class
		if until, rolling := s.history.rolling[ownerOf(c)]; rolling {
			return model.Reason{
				Code: model.CodeRollout, Subject: "pod/" + string(s.v.Pods[i].ID),
				Message: fmt.Sprintf("%s %s is being rolled out; without another new pod it counts as settled at %s", c.OwnerKind,
					c.OwnerName, clock(until)),
				Remedy: "wait for the rollout",
			}
		}
	}
	return model.Reason{}
}

// clock is a time of the day, in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// failures counts, for a pool, the replacements for drift that failed in a row, up to now, and when the last one did.
func (s *search) failures(pool *view.Pool) (n int, last time.Time) {
	var success time.Time
	each := func(visit func(r *model.DisruptionRecord)) {
		for i := range s.v.Snapshot.Disruptions {
			if r := &s.v.Snapshot.Disruptions[i]; r.Reason == model.ReasonDrifted && !r.EndTime.IsZero() && s.ofPool(r, pool) {
				visit(r)
			}
		}
	}
	each(func(r *model.DisruptionRecord) {
		if !r.RolledBack && r.EndTime.After(success) {
			success = r.EndTime
		}
	})
	each(func(r *model.DisruptionRecord) {
		if !r.RolledBack || r.EndTime.Before(success) || !s.unready(r) {
			return
		}
		n++
		if r.EndTime.After(last) {
			last = r.EndTime
		}
	})
	return n, last
}

// unready says whether some replacement of a disruption did not become ready, as far as is known. Where all did, it was given
// up for another reason, such as a pod that must not be disturbed.
func (s *search) unready(r *model.DisruptionRecord) bool {
	return len(r.Replacements) == 0 || slices.ContainsFunc(r.Replacements, func(id model.ClaimID) bool {
		c := s.v.ClaimIndex[id]
		return c == nil || (c.State != model.ClaimInitialized && c.Reached < model.ClaimInitialized)
	})
}

// ofPool says whether a disruption was of a pool's nodes. Where those are gone, what took their place tells.
func (s *search) ofPool(r *model.DisruptionRecord, pool *view.Pool) bool {
	for _, id := range slices.Concat(r.Candidates, r.Replacements) {
		if c := s.v.ClaimIndex[id]; c != nil {
			return c.NodePool == pool.Name
		}
	}
	return false
}

const (
	// firstHold is how long drift of a pool is held after a replacement failed; it doubles with each failure in a row.
	firstHold   = 15 * time.Minute
	longestHold = 4 * time.Hour
)

// canary says whether one more drifted node of a pool may go.
func (s *search) canary(pool *view.Pool) model.Reason {
	reason := model.Reason{Code: model.CodeCanary, Subject: "nodepool/" + string(pool.Name)}
	if n, last := s.failures(pool); n > 0 {
		hold := firstHold
		for range min(n-1, 8) {
			hold = min(2*hold, longestHold)
		}
		if until := last.Add(hold); until.After(s.v.Now) {
			reason.Message = fmt.Sprintf("the last replacement for a drifted node of the pool failed (%s in a row); the next try is at %s",
				fit.Count(n, "failure"), clock(until))
			reason.Remedy = "see why new nodes of the pool do not become ready"
			return reason
		}
	}
	if s.canaries[pool.Index] == 0 || s.proven(pool) {
		return model.Reason{}
	}
	reason.Message = "one drifted node of the pool goes first; the others follow once its replacement is ready"
	reason.Remedy = "wait for the replacement"
	return reason
}

// proven says whether a node that was launched as the pool asks for now is well.
func (s *search) proven(pool *view.Pool) bool {
	for i, h := range s.v.Hosts {
		if h.Node == nil || h.Claim == nil || h.Pool != pool || h.Leaving || s.v.Removed(i) {
			continue
		}
		if h.Claim.State != model.ClaimInitialized || !h.Node.Ready || !s.drift[i].OK() {
			continue
		}
		if h.Claim.PoolHash == pool.Hash && (pool.Class == nil || h.Claim.ClassHash == pool.Class.Hash) {
			return true
		}
	}
	return false
}
