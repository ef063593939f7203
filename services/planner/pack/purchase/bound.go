package purchase

import (
	"cmp"
	"slices"

	"github.com/kerf-dev/kerf/services/core/model"
	"github.com/kerf-dev/kerf/services/planner/optimise"
	"github.com/kerf-dev/kerf/services/planner/pack/market"
	"github.com/kerf-dev/kerf/services/planner/topology"
	"github.com/kerf-dev/kerf/services/planner/view"
)

// Proof is what the new nodes for some pods must cost at least, whatever plan is made for them: prices as they are weighed,
// the policy's overhead for each node included. The zero Proof proves nothing.
type Proof struct {
	Price int64
	Kind  model.BoundKind
	// pods are those that it speaks of, sorted, where that is asked.
	pods []int
}

// Known says that something is proven.
func (p *Proof) Known() bool { return p.Price > 0 }

// isOf says that something is proven of just some pods.
func (p *Proof) isOf(pods []int) bool {
	if !p.Known() || len(p.pods) != len(pods) {
		return false
	}
	slices.Sort(pods)
	return slices.Equal(p.pods, pods)
}

// fewPods is up to how many pods the optimum may be found.
const fewPods = 32

// mostNested is up to how many pods a bound knows what a domain has at most. Where there are more, that is little of
// the whole, and the programme comes less far with the rows that it takes.
const mostNested = 128

// Up to mostNestedLate it is tried where the bound of a plan is further below it than one in wideGap.
const mostNestedLate, wideGap = 256, 50

// For more than mostOutlined pods whose plan costs more than their bound by more than one in farBound, one is looked for
// with farWork, too.
const farBound, farWork = 25, 300_000_000

// span are the tiers of pools from one to another, both included.
type span struct{ from, to int }

// spanOf are the tiers that something may be bought of for the pods of some claims: those heavier than the first do not
// take them, unless some are guests, and those lighter than the last are not called for, unless limits are. All of them go
// together where claims are of several: pods that a heavier pool takes may have the room on a lighter one's.
func (by *Buyer) spanOf(claims []*NewClaim) span {
	if by.m.Limited() {
		return span{0, len(by.m.Tiers) - 1}
	}
	out := span{len(by.m.Tiers), 0}
	for _, b := range claims {
		t := by.m.TierOf(b.Base.Pool)
		out = span{min(out.from, t), max(out.to, t)}
		if b.Guests > 0 {
			out.from = 0
		}
	}
	return out
}

// boundOf proves what some pods must cost at least on what the pools of some tiers sell, shared out as they must be, if
// some plan is known that costs so much. Work is more than usual for it; 0 is as the policy has it.
func (by *Buyer) boundOf(pods []int, of span, cost int64, sharing *sharing, work int64) Proof {
	p := by.shared(pods, of, cost, sharing)
	p.BoundOnly, p.Known, p.Work, p.Loose = true, cost, cmp.Or(p.Work, work), work > 0
	proof := proofOf(by.memory.Solve(&p.Problem))
	if proof.Price >= cost {
		proof.Kind = model.BoundExact
	}
	return proof
}

// shared is the problem of buying for some pods, shared out as they must be, on what the pools of some tiers sell and a
// plan may have that costs no more than one that is known.
func (by *Buyer) shared(pods []int, of span, cost int64, sharing *sharing) *formulation {
	items := sharing.shareOut(market.Items(by.m.World, pods))
	tiers := by.m.TiersOf(sharing.keys, nil)[of.from : of.to+1]
	return by.relaxed(items, affordable(tiers, cost-by.Overhead), sharing)
}

func proofOf(s optimise.Solution) Proof {
	kinds := map[optimise.Kind]model.BoundKind{
		optimise.KindResource: model.BoundResource, optimise.KindLP: model.BoundLP,
		optimise.KindFarley: model.BoundFarley, optimise.KindExact: model.BoundExact,
	}
	return Proof{Price: s.Bound, Kind: kinds[s.BoundKind]}
}

// tighter is a bound, or what other rules prove of the same pods where that is more.
func (by *Buyer) tighter(p Proof, pods []int, of span, cost int64, s *sharing) Proof {
	try := func(s *sharing, work int64) {
		if other := by.boundOf(pods, of, cost, s, work); other.Price > p.Price {
			p = other
		}
	}
	if !s.nests && len(pods) <= mostNestedLate && cost-p.Price > cost/wideGap {
		s.nests = true
		try(s, 0)
		s.nests = false
	}
	if len(pods) > mostOutlined && cost-p.Price > cost/farBound && by.m.World.Policy.Work == nil {
		try(s, farWork)
	}
	if len(pods) <= fewPods && p.Kind != model.BoundExact {
		try(newSharing(by.m), 0) // the optimum of a problem with fewer rules may be more than what is proven for one with more
	}
	return p
}

// Worth is what pods would cost at the lowest prices: the duals of the cheapest way to have all of them on new nodes.
type Worth struct {
	// Floor proves what all of them cost at least; the zero Proof where some can't be bought for at all.
	Floor Proof
	// byClass is the worth of one pod, micro-dollars per hour, by the class's index; 0 for pods that no offering holds.
	byClass []float64
}

// Of is the worth of one pod of a class, micro-dollars per hour.
func (w *Worth) Of(c *view.Class) float64 { return w.byClass[c.Index] }

// Worth prices pods as if none of them was anywhere: any pool, no limits, no spread, no preferences.
func (by *Buyer) Worth(pods []int) Worth {
	out := Worth{byClass: make([]float64, len(by.m.World.Classes))}
	if len(pods) == 0 {
		return out
	}
	p := by.relaxed(market.Items(by.m.World, pods), by.m.Tiers, newSharing(by.m))
	p.Problem.Worth = true
	s := by.memory.Solve(&p.Problem)
	out.Floor = proofOf(s)
	for k, row := range p.rows {
		for _, i := range row {
			out.byClass[p.backlog.items[i].Class.Index] = s.Worth[k]
		}
	}
	return out
}

// affordable are the options that some plan may have that costs no more than one that is known: what costs more alone
// is in none.
func affordable(tiers [][]*market.Option, most int64) [][]*market.Option {
	out := make([][]*market.Option, len(tiers))
	for t, tier := range tiers {
		for _, o := range tier {
			if o.Price <= most {
				out[t] = append(out[t], o)
			}
		}
	}
	return out
}

// relaxed is the problem of buying for items on some tiers, with no more rules than every plan must keep.
func (by *Buyer) relaxed(items []market.Item, tiers [][]*market.Option, sharing *sharing) *formulation {
	p := by.formulate(newBacklog(items, sharing.lasting(by.NodeRules(items))), nil)
	all := slices.Concat(tiers...)
	slices.SortStableFunc(all, market.CompareOptions)
	p.options = market.Undominated(all, sharing.keys)
	for i, o := range p.options {
		p.add(i, nodeShape{o.Free, p.takenBy(o, false)}, 0)
		if id := o.Offering.ReservationID; id != "" && len(p.bins) > 0 && p.bins[len(p.bins)-1] == i {
			p.Bins[len(p.Bins)-1].Most = int(by.units.Left(id))
		}
	}
	p.addRules()
	p.addPorts()
	return p
}

// Bound proves what the pods of some claims must cost at least. Where the search that bought them has proven it on the
// way, that is the answer. Else it is proven for a problem with fewer rules, which costs no more: no limits, no
// minValues, no preferences, and of rules about pods on other nodes required spread alone. Pods that had to go to a
// pool of lower weight, because no other one offers what they need, are bounded by what the pools of that weight offer;
// where others have nodes of heavier pools, all are by what both do, and where limits may have sent them there, by what
// any pool offers. Spread counts only where all the pods that are placed are on the claims: where some are on nodes that
// exist, others of them might be.
func (by *Buyer) Bound(claims []*NewClaim, placed int, known Proof, tally *topology.Tally) Proof {
	pods, cost := make([]int, 0, placed), int64(0)
	for _, b := range claims {
		cost += b.Best().Price + by.Overhead
		for _, it := range b.Items {
			pods = append(pods, it.Pods...)
		}
	}
	if known.isOf(slices.Clone(pods)) {
		return known
	}
	if len(pods) == 0 {
		return Proof{}
	}
	sharing := newSharing(by.m)
	if len(pods) < placed {
		return by.boundOf(pods, by.spanOf(claims), cost, sharing, 0)
	}
	defer tally.Revert(tally.Mark())
	sharing.uncount(tally, claims)
	sharing.nests = len(pods) <= mostNested
	return by.tighter(by.boundOf(pods, by.spanOf(claims), cost, sharing, 0), pods, by.spanOf(claims), cost, sharing)
}
