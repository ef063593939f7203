// Package replace replaces nodes for their own sake: those that are too old, and those that are no longer what their
// pool or class asks for. Each goes only once all of its pods have a place.
//
// It must never know what a replacement saves: it may cost more than what it replaces. Start reading with Run.
package replace

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/core/rules"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Fixed makes a claim that takes the place of a static pool's node, for some pods, within limits.
type Fixed func(h *view.Host, items []market.Item, lim *market.Limits) (*purchase.NewClaim, model.Reason)

// Run replaces nodes that are too old, and then those that have drifted.
func Run(dr *draft.Draft, fixed Fixed) {
	r := newReplacer(dr, fixed)
	r.replaceExpired()
	r.replaceDrifted()
}

// replacer replaces nodes for their own sake: those that are too old or have drifted.
type replacer struct {
	draft *draft.Draft
	v     *view.View
	// fixed makes a claim of a static pool to take the place of one of its nodes.
	fixed Fixed
	// canaries is how many drifted nodes of each pool are on their way out, those of this plan included.
	canaries []int
	// pauses say of a pool why its drift is paused after failures; a pool is there once it was asked for.
	pauses map[*view.Pool]model.Reason
	// alone says of a class whether one pod of it by itself fits somewhere, where that was asked; that it does not
	// stays true while decisions are made.
	alone map[*view.Class]bool
}

func newReplacer(dr *draft.Draft, fixed Fixed) *replacer {
	r := &replacer{
		draft: dr, v: dr.View, fixed: fixed, canaries: make([]int, len(dr.View.Pools)), pauses: make(map[*view.Pool]model.Reason),
		alone: make(map[*view.Class]bool),
	}
	for _, h := range dr.View.Hosts {
		if h.Node != nil && h.Claim != nil && h.Pool != nil && h.Claim.Disruption != "" && h.Claim.DisruptionReason == model.ReasonDrifted {
			r.canaries[h.Pool.Index]++
		}
	}
	return r
}

// replaceExpired replaces nodes that are too old, and then those that are about to be, the oldest first.
func (x *replacer) replaceExpired() {
	var late, soon []int
	for _, h := range x.draft.Candidates {
		switch {
		case x.v.Removed(h) || !x.draft.Verdicts[h].OK():
		case x.draft.Expired(h):
			late = append(late, h)
		case x.draft.Expiring(h):
			soon = append(soon, h)
		}
	}
	byExpiry := func(a, b int) int { return x.v.Hosts[a].Claim.ExpireTime.Compare(x.v.Hosts[b].Claim.ExpireTime) }
	slices.SortStableFunc(late, byExpiry)
	slices.SortStableFunc(soon, byExpiry)
	because := func(h int) model.Reason {
		r, _ := rules.Expiring(x.v.Hosts[h].Claim, x.v.Now)
		return x.draft.About(h, r)
	}
	x.replaceAll(late, model.ReasonExpired, because, nil)
	x.replaceAll(soon, model.ReasonExpired, because, nil)
}

// oldestFirst orders nodes by age, those without pods first.
func (x *replacer) oldestFirst(hosts []int) {
	slices.SortStableFunc(hosts, func(a, b int) int {
		return cmp.Or(cmp.Compare(min(1, len(x.draft.Moving[a])), min(1, len(x.draft.Moving[b]))),
			x.v.Hosts[a].Claim.CreateTime.Compare(x.v.Hosts[b].Claim.CreateTime), cmp.Compare(a, b))
	})
}

// maxReplacedTogether is how many nodes that are to be replaced for their own sake go as one set.
const maxReplacedTogether = 8

// maxHeld is how many nodes wait at most for what becomes of a set. More would be asked again for each node of it that
// can't be replaced.
const maxHeld = 32

// replaceAll replaces nodes for their own sake, once their pods have a place: in sets, so that small ones can share what
// takes their place, and what can't go so by itself. Another rule may be asked as well.
func (x *replacer) replaceAll(hosts []int, why model.DisruptionReason, because, also func(h int) model.Reason) {
	for len(hosts) > 0 && !x.draft.Scheduler.Stopped() {
		var set []int
		set, hosts = x.nextOld(hosts, why, also)
		if len(set) > 1 && x.replaceTogether(set, why, because) {
			continue
		}
		for _, h := range set {
			if !x.replaceOld(h, why, because(h)) && why == model.ReasonDrifted {
				x.canaries[x.v.Hosts[h].Pool.Index]--
			}
		}
	}
}

// nextOld takes nodes of one pool that may go together, and counts drifted ones as on their way; those that may not go
// are told why. What may go by itself, but not beside those that were taken, is part of the rest: it is asked again
// once it is known which of them do go, because a node that can't be replaced must not take the turn of others.
func (x *replacer) nextOld(hosts []int, why model.DisruptionReason, also func(h int) model.Reason) (set, rest []int) {
	pool := x.v.Hosts[hosts[0]].Pool
	var held []int
	for i, h := range hosts {
		if len(set) == maxReplacedTogether || len(held) == maxHeld || x.v.Hosts[h].Pool != pool || !x.inBudget(h, why, len(set)) {
			return set, slices.Concat(held, hosts[i:])
		}
		verdict := x.mayReplace(h, why)
		if verdict.OK() && also != nil {
			verdict = also(h)
		}
		if verdict.Code == model.CodeCanary && len(set) > 0 {
			return set, slices.Concat(held, hosts[i:]) // until it is clear whether the canary can be replaced
		}
		if !verdict.OK() {
			x.draft.Verdicts[h] = verdict
			continue
		}
		if !x.podBudgets(h, why, set).OK() {
			held = append(held, h)
			continue
		}
		set = append(set, h)
		if why == model.ReasonDrifted {
			x.canaries[pool.Index]++
		}
	}
	return set, held
}

// inBudget says whether the node budget lets a node go beside so many others that it lets go.
func (x *replacer) inBudget(h int, why model.DisruptionReason, others int) bool {
	return others == 0 || x.nodeBudget(h, why, others).OK()
}

// replaceTogether replaces nodes of a pool together, in as many decisions as share no replacement.
func (x *replacer) replaceTogether(set []int, why model.DisruptionReason, because func(h int) model.Reason) bool {
	pool := x.v.Hosts[set[0]].Pool
	if pool.Replicas != nil {
		return false // each has a replacement of its own
	}
	mark := x.draft.Scheduler.Mark()
	d, left, waits := x.draft.Move(set, x.draft.Reliable)
	var unplaced []market.Item
	if waits.OK() {
		d.Replacements, unplaced = x.buyLike(pool, left)
	}
	if !waits.OK() || len(unplaced) > 0 || !x.draft.DependentsStay(d).OK() {
		x.draft.Scheduler.Revert(mark)
		return false
	}
	for _, part := range x.draft.Parts(d) {
		part.Reason, part.Explanation = why, because(part.Hosts[0])
		x.draft.Keep(part)
	}
	return true
}

// replaceOld replaces a node for its own sake, or says why not.
func (x *replacer) replaceOld(h int, why model.DisruptionReason, because model.Reason) bool {
	if r := x.mayReplace(h, why); !r.OK() { // what this plan decided meanwhile counts
		x.draft.Verdicts[h] = r
		return false
	}
	d, r := x.relocate(h)
	if !r.OK() {
		x.draft.Verdicts[h] = r
		return false
	}
	d.Reason, d.Explanation = why, because
	x.draft.Keep(d)
	return true
}

// mayReplace says whether a node may go: what this plan decided already counts.
func (x *replacer) mayReplace(h int, why model.DisruptionReason) model.Reason {
	if r := x.draft.Taken(h); !r.OK() {
		return r
	}
	if !x.late(h, why) {
		if r := x.draft.Ask(draft.MethodsThatCanWait(), h); !r.OK() {
			return r
		}
	}
	if r := x.nodeBudget(h, why, 0); !r.OK() {
		return r
	}
	if !x.forced(h, why) {
		if r := x.draft.PodsAgree(h, false); !r.OK() {
			return r
		}
	}
	if r := x.podBudgets(h, why, nil); !r.OK() {
		return r
	}
	return x.nowhere(h)
}

// late says that a node is too old, so that nothing that could wait keeps it.
func (x *replacer) late(h int, why model.DisruptionReason) bool {
	return why == model.ReasonExpired && x.draft.Expired(h)
}

// forced says that a node goes whatever its pods say.
func (x *replacer) forced(h int, why model.DisruptionReason) bool {
	return x.late(h, why) && x.draft.ForcedByAge(h)
}

// nodeBudget says whether the pool's budget lets a node go beside so many others.
func (x *replacer) nodeBudget(h int, why model.DisruptionReason, others int) model.Reason {
	if x.late(h, why) {
		return model.Reason{}
	}
	return x.draft.NodeBudgets.ReasonFor(h, x.v.Hosts[h].Pool, why, others)
}

// podBudgets says whether pod disruption budgets let a node go beside some others.
func (x *replacer) podBudgets(h int, why model.DisruptionReason, others []int) model.Reason {
	if x.forced(h, why) {
		return model.Reason{}
	}
	return x.draft.PodBudgets.Reason(x.draft.Movable(append(slices.Clone(others), h)...))
}
