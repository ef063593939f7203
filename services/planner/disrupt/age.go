package disrupt

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// expired says that a node is as old as it may become.
func expired(v *view.View, host int) bool {
	r, _ := rules.Expired(v.Hosts[host].Claim, v.Now)
	return !r.OK()
}

// expiring says that a node is about to become too old.
func expiring(v *view.View, host int) bool {
	r, _ := rules.Expiring(v.Hosts[host].Claim, v.Now)
	return !r.OK() && !expired(v, host)
}

// replaceable says whether a node's own state is reason enough to replace it.
func (s *search) replaceable(host int) bool {
	return expired(s.v, host) || expiring(s.v, host) || !s.drift[host].OK()
}

// replaceExpired replaces nodes that are too old, and then those that are about to be, the oldest first.
func (s *search) replaceExpired() {
	var late, soon []int
	for _, h := range s.candidates {
		switch {
		case s.v.Removed(h) || !s.verdicts[h].OK():
		case expired(s.v, h):
			late = append(late, h)
		case expiring(s.v, h):
			soon = append(soon, h)
		}
	}
	byExpiry := func(a, b int) int { return s.v.Hosts[a].Claim.ExpireTime.Compare(s.v.Hosts[b].Claim.ExpireTime) }
	slices.SortStableFunc(late, byExpiry)
	slices.SortStableFunc(soon, byExpiry)
	because := func(h int) model.Reason {
		r, _ := rules.Expiring(s.v.Hosts[h].Claim, s.v.Now)
		return s.about(h, r)
	}
	s.replaceAll(late, model.ReasonExpired, because, nil)
	s.replaceAll(soon, model.ReasonExpired, because, nil)
}

// oldestFirst orders nodes by age, those without pods first.
func (s *search) oldestFirst(hosts []int) {
	slices.SortStableFunc(hosts, func(a, b int) int {
		return cmp.Or(cmp.Compare(min(1, len(s.moving[a])), min(1, len(s.moving[b]))),
			s.v.Hosts[a].Claim.CreateTime.Compare(s.v.Hosts[b].Claim.CreateTime), cmp.Compare(a, b))
	})
}

// mostAtOnce is how many nodes that are to be replaced for their own sake go as one set.
const mostAtOnce = 8

// replaceAll gives nodes back for their own sake, once their pods have a place: in sets, so that small ones can share what
// takes their place, and what can't go so by itself. Another rule may be asked as well.
func (s *search) replaceAll(hosts []int, why model.DisruptionReason, because, also func(h int) model.Reason) {
	for len(hosts) > 0 && !s.Scheduler.Stopped() {
		var set []int
		set, hosts = s.nextOld(hosts, why, also)
		if len(set) > 1 && s.replaceTogether(set, why, because) {
			continue
		}
		for _, h := range set {
			if !s.replaceOld(h, why, because(h)) && why == model.ReasonDrifted {
				s.canaries[s.v.Hosts[h].Pool.Index]--
			}
		}
	}
}

// nextOld takes nodes of one pool that may go together, and counts drifted ones as on their way; those that may not go are
// told why.
func (s *search) nextOld(hosts []int, why model.DisruptionReason, also func(h int) model.Reason) (set, rest []int) {
	pool := s.v.Hosts[hosts[0]].Pool
	for i, h := range hosts {
		if len(set) == mostAtOnce || s.v.Hosts[h].Pool != pool {
			return set, hosts[i:]
		}
		verdict := s.mayReplace(h, why, set)
		if verdict.OK() && also != nil {
			verdict = also(h)
		}
		if verdict.Code == model.CodeCanary && len(set) > 0 {
			return set, hosts[i:] // until it is clear whether the canary can be replaced
		}
		if !verdict.OK() {
			s.verdicts[h] = verdict
			continue
		}
		set = append(set, h)
		if why == model.ReasonDrifted {
			s.canaries[pool.Index]++
		}
	}
	return set, nil
}

// replaceTogether gives nodes of a pool back, in as many decisions as share no replacement.
func (s *search) replaceTogether(set []int, why model.DisruptionReason, because func(h int) model.Reason) bool {
	pool := s.v.Hosts[set[0]].Pool
	if pool.Replicas != nil {
		return false // each has a replacement of its own
	}
	mark := s.Scheduler.Mark()
	d, left, waits := s.move(set, s.reliable)
	var homeless []market.Item
	if waits.OK() {
		d.Replacements, homeless = s.buyLike(pool, left)
	}
	if !waits.OK() || len(homeless) > 0 || !s.kept(d.Evicted).OK() {
		s.Scheduler.Revert(mark)
		return false
	}
	for _, part := range s.parts(d) {
		part.Reason, part.Explanation = why, because(part.Hosts[0])
		s.keep(part)
	}
	return true
}

// replaceOld gives a node back for its own sake, or says why not.
func (s *search) replaceOld(h int, why model.DisruptionReason, because model.Reason) bool {
	if r := s.mayReplace(h, why, nil); !r.OK() { // what this plan decided meanwhile counts
		s.verdicts[h] = r
		return false
	}
	d, r := s.relocate(h)
	if !r.OK() {
		s.verdicts[h] = r
		return false
	}
	d.Reason, d.Explanation = why, because
	s.keep(d)
	return true
}

// mayReplace says whether a node may go beside some others: what this plan decided already counts.
func (s *search) mayReplace(h int, why model.DisruptionReason, others []int) model.Reason {
	if r := s.taken(h); !r.OK() {
		return r
	}
	late := why == model.ReasonExpired && expired(s.v, h)
	if !late {
		if r := s.ask(settled(), h); !r.OK() {
			return r
		}
		if r := s.budgets.reason(s.v.Hosts[h].Pool, why, len(others)+1); !r.OK() {
			return r
		}
	}
	if late && s.patient(h) {
		return model.Reason{}
	}
	if r := s.podsAgree(h, false); !r.OK() {
		return r
	}
	return s.pdbs.reason(s.movable(append(slices.Clone(others), h)...))
}
