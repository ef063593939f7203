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

// replacer replaces nodes for their own sake: those that are too old or have drifted.
type replacer struct {
	s *search
	// canaries is how many drifted nodes of each pool are on their way out, those of this plan included.
	canaries []int
	// holds say of a pool why its drift is held after failures; a pool is there once it was asked for.
	holds map[*view.Pool]model.Reason
}

func newReplacer(s *search) *replacer {
	r := &replacer{s: s, canaries: make([]int, len(s.v.Pools)), holds: make(map[*view.Pool]model.Reason)}
	for _, h := range s.v.Hosts {
		if h.Node != nil && h.Claim != nil && h.Pool != nil && h.Claim.Disruption != "" && h.Claim.DisruptionReason == model.ReasonDrifted {
			r.canaries[h.Pool.Index]++
		}
	}
	return r
}

// replaceExpired replaces nodes that are too old, and then those that are about to be, the oldest first.
func (x *replacer) replaceExpired() {
	var late, soon []int
	for _, h := range x.s.candidates {
		switch {
		case x.s.v.Removed(h) || !x.s.verdicts[h].OK():
		case expired(x.s.v, h):
			late = append(late, h)
		case expiring(x.s.v, h):
			soon = append(soon, h)
		}
	}
	byExpiry := func(a, b int) int { return x.s.v.Hosts[a].Claim.ExpireTime.Compare(x.s.v.Hosts[b].Claim.ExpireTime) }
	slices.SortStableFunc(late, byExpiry)
	slices.SortStableFunc(soon, byExpiry)
	because := func(h int) model.Reason {
		r, _ := rules.Expiring(x.s.v.Hosts[h].Claim, x.s.v.Now)
		return x.s.about(h, r)
	}
	x.replaceAll(late, model.ReasonExpired, because, nil)
	x.replaceAll(soon, model.ReasonExpired, because, nil)
}

// oldestFirst orders nodes by age, those without pods first.
func (x *replacer) oldestFirst(hosts []int) {
	slices.SortStableFunc(hosts, func(a, b int) int {
		return cmp.Or(cmp.Compare(min(1, len(x.s.moving[a])), min(1, len(x.s.moving[b]))),
			x.s.v.Hosts[a].Claim.CreateTime.Compare(x.s.v.Hosts[b].Claim.CreateTime), cmp.Compare(a, b))
	})
}

// maxReplacedTogether is how many nodes that are to be replaced for their own sake go as one set.
const maxReplacedTogether = 8

// replaceAll replaces nodes for their own sake, once their pods have a place: in sets, so that small ones can share what
// takes their place, and what can't go so by itself. Another rule may be asked as well.
func (x *replacer) replaceAll(hosts []int, why model.DisruptionReason, because, also func(h int) model.Reason) {
	for len(hosts) > 0 && !x.s.Scheduler.Stopped() {
		var set []int
		set, hosts = x.nextOld(hosts, why, also)
		if len(set) > 1 && x.replaceTogether(set, why, because) {
			continue
		}
		for _, h := range set {
			if !x.replaceOld(h, why, because(h)) && why == model.ReasonDrifted {
				x.canaries[x.s.v.Hosts[h].Pool.Index]--
			}
		}
	}
}

// nextOld takes nodes of one pool that may go together, and counts drifted ones as on their way; those that may not go are
// told why.
func (x *replacer) nextOld(hosts []int, why model.DisruptionReason, also func(h int) model.Reason) (set, rest []int) {
	pool := x.s.v.Hosts[hosts[0]].Pool
	for i, h := range hosts {
		if len(set) == maxReplacedTogether || x.s.v.Hosts[h].Pool != pool {
			return set, hosts[i:]
		}
		verdict := x.mayReplace(h, why, set)
		if verdict.OK() && also != nil {
			verdict = also(h)
		}
		if verdict.Code == model.CodeCanary && len(set) > 0 {
			return set, hosts[i:] // until it is clear whether the canary can be replaced
		}
		if !verdict.OK() {
			x.s.verdicts[h] = verdict
			continue
		}
		set = append(set, h)
		if why == model.ReasonDrifted {
			x.canaries[pool.Index]++
		}
	}
	return set, nil
}

// replaceTogether gives nodes of a pool back, in as many decisions as share no replacement.
func (x *replacer) replaceTogether(set []int, why model.DisruptionReason, because func(h int) model.Reason) bool {
	pool := x.s.v.Hosts[set[0]].Pool
	if pool.Replicas != nil {
		return false // each has a replacement of its own
	}
	mark := x.s.Scheduler.Mark()
	d, left, waits := x.s.move(set, x.s.reliable)
	var unplaced []market.Item
	if waits.OK() {
		d.Replacements, unplaced = x.buyLike(pool, left)
	}
	if !waits.OK() || len(unplaced) > 0 || !x.s.dependentsStay(d.Evicted).OK() {
		x.s.Scheduler.Revert(mark)
		return false
	}
	for _, part := range x.s.parts(d) {
		part.Reason, part.Explanation = why, because(part.Hosts[0])
		x.s.keep(part)
	}
	return true
}

// replaceOld replaces a node for its own sake, or says why not.
func (x *replacer) replaceOld(h int, why model.DisruptionReason, because model.Reason) bool {
	if r := x.mayReplace(h, why, nil); !r.OK() { // what this plan decided meanwhile counts
		x.s.verdicts[h] = r
		return false
	}
	d, r := x.relocate(h)
	if !r.OK() {
		x.s.verdicts[h] = r
		return false
	}
	d.Reason, d.Explanation = why, because
	x.s.keep(d)
	return true
}

// mayReplace says whether a node may go beside some others: what this plan decided already counts.
func (x *replacer) mayReplace(h int, why model.DisruptionReason, others []int) model.Reason {
	if r := x.s.taken(h); !r.OK() {
		return r
	}
	late := why == model.ReasonExpired && expired(x.s.v, h)
	if !late {
		if r := x.s.ask(settled(), h); !r.OK() {
			return r
		}
		if r := x.s.budgets.reason(x.s.v.Hosts[h].Pool, why, len(others)+1); !r.OK() {
			return r
		}
	}
	if late && x.s.patient(h) {
		return model.Reason{}
	}
	if r := x.s.podsAgree(h, false); !r.OK() {
		return r
	}
	return x.s.pdbs.reason(x.s.movable(append(slices.Clone(others), h)...))
}
