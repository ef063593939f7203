package replace

import (
	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/disrupt/draft"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/pack/purchase"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// relocate finds nodes for all pods of a host, whatever it costs; a static pool gets another node in its place. It changes
// the view only if it succeeds.
func (x *replacer) relocate(host int) (draft.Decision, model.Reason) {
	mark := x.draft.Scheduler.Mark()
	d, left, why := x.draft.Move([]int{host}, x.draft.Reliable)
	x.draft.Soon[host] = !why.OK()
	var unplaced []market.Item
	if why.OK() {
		d.Replacements, unplaced, why = x.replacements(host, left)
	}
	if why.OK() {
		why = x.draft.About(host, x.draft.DependentsStay(d))
	}
	if !why.OK() {
		x.draft.Scheduler.Revert(mark)
		if len(unplaced) > 0 {
			x.learn(unplaced[0])
		}
		return draft.Decision{}, why
	}
	return d, model.Reason{}
}

func (x *replacer) replacements(host int, left []market.Item) (bought []*purchase.NewClaim, unplaced []market.Item, why model.Reason) {
	if h := x.v.Hosts[host]; h.Pool.Replicas != nil {
		b, why := x.fixed(h, left, x.draft.Limits.Clone())
		if !why.OK() {
			return nil, nil, x.draft.About(host, why)
		}
		return []*purchase.NewClaim{b}, nil, model.Reason{}
	}
	bought, unplaced = x.buyLike(x.v.Hosts[host].Pool, left)
	if len(unplaced) > 0 {
		return nil, unplaced, x.draft.NoDestination(host, unplaced[0])
	}
	return bought, nil, model.Reason{}
}

// nowhere says that some pod of a host has no place even by itself, by what was found for others of its class: then no
// place is looked for, for all of them.
func (x *replacer) nowhere(host int) model.Reason {
	if x.v.Hosts[host].Pool.Replicas != nil {
		return model.Reason{} // another node of the pool takes its place, whatever its pods are
	}
	for _, p := range x.draft.Moving[host] {
		c := x.v.Pods[p].Class
		if fits, known := x.alone[c]; known && !fits {
			return x.draft.NoDestination(host, market.Item{Class: c, Pods: []int{p}})
		}
	}
	return model.Reason{}
}

// learn finds out whether pods of a class, of which one on a host that is to go found no place, have none even one by
// one. Pods with rules about others may find one later.
func (x *replacer) learn(it market.Item) {
	if _, known := x.alone[it.Class]; known || x.draft.Scheduler.Tally().Rules().Constrained(it.Class) {
		return
	}
	mark := x.draft.Scheduler.Mark()
	_, left := x.draft.Scheduler.OnHosts([]market.Item{{Class: it.Class, Pods: it.Pods[:1]}}, x.draft.Reliable)
	if len(left) > 0 {
		_, _, left = x.draft.Scheduler.Buy(left, x.draft.Limits.Clone())
	}
	x.draft.Scheduler.Revert(mark)
	x.alone[it.Class] = len(left) == 0 || x.draft.Scheduler.Stopped()
}

// buyLike buys for pods of a pool's nodes: from the same pool where that is no more expensive, and as long as nothing
// proves what the pool launches now; else from any.
func (x *replacer) buyLike(pool *view.Pool, items []market.Item) (bought []*purchase.NewClaim, unplaced []market.Item) {
	mark := x.draft.Scheduler.Mark()
	_, own, unplaced := x.draft.Scheduler.BuyFrom(pool, items, x.draft.Limits.Clone())
	if len(unplaced) == 0 && (len(own) == 0 || !x.proven(pool)) {
		return own, nil
	}
	x.draft.Scheduler.Revert(mark)
	_, other, none := x.draft.Scheduler.Buy(items, x.draft.Limits.Clone())
	if len(unplaced) > 0 || len(none) == 0 && weighed(other) < weighed(own) {
		return other, none
	}
	x.draft.Scheduler.Revert(mark)
	_, own, unplaced = x.draft.Scheduler.BuyFrom(pool, items, x.draft.Limits.Clone())
	return own, unplaced
}

// weighed is what claims are weighed at in sum.
func weighed(bought []*purchase.NewClaim) (sum int64) {
	for _, b := range bought {
		sum += b.Best().Price
	}
	return sum
}
