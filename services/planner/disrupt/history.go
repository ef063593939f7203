package disrupt

import (
	"fmt"
	"time"

	"github.com/kerf-dev/kerf/services/planner/fit"
	"github.com/kerf-dev/kerf/services/planner/model"
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
	// moved is when a disruption by choice that moved some of an owner's pods was accepted, the earliest that still counts.
	moved map[owner]time.Time
	// rolling is until when an owner counts as being rolled out.
	rolling map[owner]time.Time
}

func newHistory(v *view.View) *history {
	h := &history{rest: model.DefaultPodRest, moved: make(map[owner]time.Time), rolling: make(map[owner]time.Time)}
	if r := v.Policy.PodRest; r != nil {
		h.rest = *r
	}
	for i := range v.Snapshot.Disruptions {
		r := &v.Snapshot.Disruptions[i]
		if r.RolledBack || !byChoice(r.Reason) {
			continue
		}
		for _, w := range r.Workloads {
			o := owner{w.Namespace, w.Kind, w.Name}
			if t, known := h.moved[o]; !known || r.AcceptTime.Before(t) {
				h.moved[o] = r.AcceptTime
			}
		}
	}
	h.findRollouts(v)
	return h
}

// byChoice says whether a disruption could as well have waited.
func byChoice(r model.DisruptionReason) bool {
	return r == model.ReasonEmpty || r == model.ReasonUnderutilized || r == model.ReasonDrifted || r == model.ReasonExpired
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
	since, moved := h.moved[ownerOf(p.Class)]
	if !moved || p.BindTime.IsZero() || p.BindTime.Before(since) {
		return time.Time{}
	}
	if until := p.BindTime.Add(h.rest); until.After(now) {
		return until
	}
	return time.Time{}
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
		if !r.RolledBack || r.EndTime.Before(success) {
			return
		}
		n++
		if r.EndTime.After(last) {
			last = r.EndTime
		}
	})
	return n, last
}

// ofPool says whether a disruption was of a pool's nodes.
func (s *search) ofPool(r *model.DisruptionRecord, pool *view.Pool) bool {
	for _, id := range r.Candidates {
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
