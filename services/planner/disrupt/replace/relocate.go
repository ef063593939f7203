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
	if why.OK() {
		d.Replacements, why = x.replacements(host, left)
	}
	if why.OK() {
		why = x.draft.About(host, x.draft.DependentsStay(d))
	}
	if !why.OK() {
		x.draft.Scheduler.Revert(mark)
		return draft.Decision{}, why
	}
	return d, model.Reason{}
}

func (x *replacer) replacements(host int, left []market.Item) ([]*purchase.NewClaim, model.Reason) {
	if pool := x.v.Hosts[host].Pool; pool.Replicas != nil {
		b, why := x.fixed(pool, left, x.draft.Limits.Clone())
		if !why.OK() {
			return nil, x.draft.About(host, why)
		}
		return []*purchase.NewClaim{b}, model.Reason{}
	}
	bought, unplaced := x.buyLike(x.v.Hosts[host].Pool, left)
	if len(unplaced) > 0 {
		return nil, x.draft.NoDestination(host, unplaced[0])
	}
	return bought, model.Reason{}
}

// buyLike buys for pods of a pool's nodes: from the same pool where that is no more expensive, and as long as nothing proves what the
// pool launches now; else from any.
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
