// Package purchase buys NodeClaims for pods from the market at the lowest price: it writes pods, offerings, limits and
// rules about sharing a node as an optimisation problem, solves it, and writes the solution as claims, with what lost and
// with a proof of what they must cost at least.
//
// It knows nothing of hosts that exist, nor of rules about pods on other nodes. Start reading with Buyer.
package purchase

import (
	"slices"

	"github.com/kerf-dev/kerf/services/planner/offer"
	"github.com/kerf-dev/kerf/services/planner/optimise/memory"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology/podrules"
)

// Buyer buys claims for pods at the lowest price that the optimiser finds. It belongs to one goroutine.
type Buyer struct {
	m     *market.Market
	rules *podrules.Rules
	// units are what was left of reservations before anything was bought.
	units *offer.ReservationUnits
	// Stop ends it early, with nothing bought and nothing proven; nil never does.
	Stop func() bool
	// Rough buys greedily, with no more search: what is bought costs some per cent more, and takes a fraction of the time.
	Rough bool
	// Overhead is what one more node is taken to cost beside its price, micro-dollars per hour. It begins as the policy
	// has it.
	Overhead int64
	// Tried says that what is bought is tried, among much else: some more search for the last per cent is not worth its
	// time.
	Tried bool
	// far is what isFar said last.
	far bool
	// memory has what was solved: each order of an assignment, and the best one once more, may come to the same problems.
	memory memory.Memory
}

// NewBuyer buys from a market under the rules about other pods; units are what reservations have left.
func NewBuyer(m *market.Market, rules *podrules.Rules, units *offer.ReservationUnits) *Buyer {
	return &Buyer{m: m, rules: rules, units: units, Overhead: m.World.Policy.PerNodeOverhead}
}

// Take takes one more node to cost so much beside its price, or what it costs by the policy where that is more, until
// it is undone.
func (by *Buyer) Take(overhead int64) (undo func()) {
	before := by.Overhead
	by.Overhead = max(before, overhead)
	return func() { by.Overhead = before }
}

// Fill buys claims for items from the options of some tiers, as cheap as the optimiser finds it, under the rules about
// what may share a node, and takes them off the limits; what they may become is ranked later. What it returns as left
// can't be bought for. Pools of higher weight go first, though pods may be on what is bought of lighter ones in any case;
// where preferences are enforced, going against a soft taint, or against what pods would rather not share a node with,
// comes last.
func (by *Buyer) Fill(tiers [][]*market.Option, items []market.Item, lim *market.Limits) (claims []*NewClaim, left []market.Item, proof Proof) {
	if len(items) == 0 {
		return nil, nil, Proof{}
	}
	if len(tiers) == 1 || len(by.m.Passes()) > 1 {
		return by.inTiers(tiers, items, lim)
	}
	before := lim.Clone()
	claims, left, proof = by.inTiers(tiers, items, lim)
	return by.useRoom(tiers, items, claims, before, lim), left, proof
}

// inTiers buys of one tier after the other, each for what those before it left.
func (by *Buyer) inTiers(tiers [][]*market.Option, items []market.Item, lim *market.Limits) (claims []*NewClaim, left []market.Item, proof Proof) {
	hard := by.NodeRules(items)
	l, solved := newBacklog(items, hard), 0
	for _, preferred := range by.m.Passes() {
		rules := hard
		if preferred {
			rules = slices.Concat(hard, podrules.PreferredNodeRules(by.rules, classesOf(items)))
		}
		if preferred || solved > 0 {
			l.obey(rules)
		}
		for _, tier := range tiers {
			if l.done() {
				break
			}
			some, proven := by.solve(tier, l, preferred, lim)
			claims, proof = append(claims, some...), proven
			solved++
		}
	}
	if solved > 1 || len(tiers) > 1 || !l.done() {
		proof = Proof{}
	} else {
		proof.pods = l.pods()
	}
	return claims, l.left(), proof
}
