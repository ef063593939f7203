package pack

import (
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/optimise"
)

// Proof is what the new nodes for some pods must cost at least, whatever plan is made for them: prices as they are weighed,
// the policy's overhead for each node included. The zero Proof proves nothing.
type Proof struct {
	Price int64
	Kind  model.BoundKind
	// pods is how many it speaks of.
	pods int
}

// Bound proves what the pods of some claims must cost at least. Where the search that bought them has proven it on the way,
// that is the answer. Else it is proven for a problem with fewer rules, which costs no more: any cell, no limits, no
// minValues, no spread, and wishes for nothing. Pods that had to go to a lighter pool, because no heavier one sells what
// they need, are bounded by what the lighter pools sell; where limits may have sent them there, by what any pool sells.
func (d *Scheduler) Bound(bought []*NewClaim) Proof {
	byTier := make([][]int, len(d.m.tiers))
	n := 0
	for _, b := range bought {
		t := d.m.tierOf(b.base.Pool)
		if d.m.limited() {
			t = 0
		}
		for _, it := range b.Items {
			byTier[t] = append(byTier[t], it.Pods...)
			n += len(it.Pods)
		}
	}
	if d.proof.pods == n && d.proof.Price > 0 {
		return d.proof
	}
	out := Proof{pods: n}
	for t, pods := range byTier {
		if len(pods) == 0 {
			continue
		}
		tiers := d.m.tiers[t : t+1]
		if d.m.limited() {
			tiers = d.m.tiers
		}
		part := d.bound(pods, tiers)
		if part.Price <= 0 {
			return Proof{}
		}
		if out.Price == 0 || weaker(part.Kind, out.Kind) {
			out.Kind = part.Kind
		}
		out.Price += part.Price
	}
	return out
}

// weaker says whether a kind of bound promises less than another.
func weaker(a, b model.BoundKind) bool {
	order := []model.BoundKind{model.BoundResource, model.BoundFarley, model.BoundLP, model.BoundExact}
	return slices.Index(order, a) < slices.Index(order, b)
}

// bound proves what some pods must cost at least on what some tiers sell.
func (d *Scheduler) bound(pods []int, tiers [][]*Option) Proof {
	p := d.relaxed(Items(d.v.World, pods), tiers)
	p.BoundOnly = true
	return proofOf(optimise.Solve(&p.Problem), len(pods))
}

func proofOf(s optimise.Solution, pods int) Proof {
	kinds := map[optimise.Kind]model.BoundKind{
		optimise.KindResource: model.BoundResource, optimise.KindLP: model.BoundLP,
		optimise.KindFarley: model.BoundFarley, optimise.KindExact: model.BoundExact,
	}
	return Proof{Price: s.Bound, Kind: kinds[s.BoundKind], pods: pods}
}
