package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-dev/kerf/services/planner/model"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// longestLead is how long before its expiry a node is replaced at the earliest. A short life leaves less: its last tenth.
const longestLead = time.Hour

// due says that a node is as old as it may become.
func due(v *view.View, host int) bool {
	t := v.Hosts[host].Claim.ExpireTime
	return !t.IsZero() && !t.After(v.Now)
}

// aging says that a node is about to become too old.
func aging(v *view.View, host int) bool {
	c := v.Hosts[host].Claim
	if c.ExpireTime.IsZero() || due(v, host) || c.CreateTime.IsZero() {
		return false
	}
	lead := min(longestLead, c.ExpireTime.Sub(c.CreateTime)/10)
	return !v.Now.Before(c.ExpireTime.Add(-lead))
}

// expired replaces nodes that are too old, and then those that are about to be, the oldest first.
func (s *search) expired() {
	var late, soon []int
	for _, h := range s.candidates {
		switch {
		case s.v.Removed(h) || !s.verdicts[h].OK():
		case due(s.v, h):
			late = append(late, h)
		case aging(s.v, h):
			soon = append(soon, h)
		}
	}
	byExpiry := func(a, b int) int { return s.v.Hosts[a].Claim.ExpireTime.Compare(s.v.Hosts[b].Claim.ExpireTime) }
	slices.SortStableFunc(late, byExpiry)
	slices.SortStableFunc(soon, byExpiry)
	for _, h := range slices.Concat(late, soon) {
		s.replaceOld(h, model.ReasonExpired, s.expiry(h), nil)
	}
}

func (s *search) expiry(host int) model.Reason {
	h := s.v.Hosts[host]
	text := "it was to live until %s"
	if !due(s.v, host) {
		text = "it is to live until %s, and is replaced in time"
	}
	return model.Reason{
		Code: model.CodeExpired, Subject: h.Name(),
		Message: fmt.Sprintf(text, h.Claim.ExpireTime.UTC().Format("2006-01-02 15:04:05")),
	}
}

// oldestFirst orders nodes by age, those without pods first.
func (s *search) oldestFirst(hosts []int) {
	slices.SortStableFunc(hosts, func(a, b int) int {
		return cmp.Or(cmp.Compare(min(1, len(s.moving[a])), min(1, len(s.moving[b]))),
			s.v.Hosts[a].Claim.CreateTime.Compare(s.v.Hosts[b].Claim.CreateTime), cmp.Compare(a, b))
	})
}

// replaceOld gives a node back for its own sake, once its pods have a place. Another rule may be asked as well.
func (s *search) replaceOld(h int, why model.DisruptionReason, because model.Reason, also func() model.Reason) {
	verdict := s.mayReplace(h, why)
	if verdict.OK() && also != nil {
		verdict = also()
	}
	if !verdict.OK() {
		s.verdicts[h] = verdict
		return
	}
	d, r := s.relocate(h)
	if !r.OK() {
		s.verdicts[h] = r
		return
	}
	d.Reason, d.Explanation = why, because
	s.keep(d)
	if why == model.ReasonDrifted {
		s.canaries[s.v.Hosts[h].Pool.Index]++
	}
}

// mayReplace is asked again for each node: what this plan decided already counts.
func (s *search) mayReplace(h int, why model.DisruptionReason) model.Reason {
	if r := s.taken(h); !r.OK() {
		return r
	}
	late := why == model.ReasonExpired && due(s.v, h)
	if !late {
		for _, c := range settled() {
			if r := c(s, h); !r.OK() {
				return s.about(h, r)
			}
		}
		if r := s.budgets.reason(s.v.Hosts[h].Pool, why, 1); !r.OK() {
			return r
		}
	}
	if !late || !s.patient(h) {
		return s.unforcedFor(h)
	}
	return model.Reason{}
}
